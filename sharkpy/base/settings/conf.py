"""Conf: the settings of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sharkpy.base.settings.setting import Setting, T
from sharkpy.base.settings.table import SETTINGS, check_known, find_setting


class Conf(Mapping[str, str]):
    """Texts that a session has set, over the defaults. Unknown keys of other systems are kept, not refused."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        for key, value in (values or {}).items():
            self.set(key, value)

    def set(self, key: str, value: str) -> None:
        """ConfigurationError where a known setting cannot hold the value, or an own key is not known."""
        check_known(key)
        if setting := find_setting(key):
            parsed = setting.parse(value)
            key, value = setting.key, str(parsed) if setting.check is not None else value
        # Other threads may be reading: what they have in hand is not changed.
        self._values = {**self._values, key: value}

    def reset(self, key: str | None = None) -> None:
        if key is None:
            self._values = {}
            return
        setting = find_setting(key)
        name = setting.key if setting else key
        self._values = {known: value for known, value in self._values.items() if known != name}

    def copy(self) -> Conf:
        """The same values, to be set apart from these."""
        copied = Conf()
        copied._values = self._values
        return copied

    def changes(self) -> tuple[tuple[str, str], ...]:
        """Keys that are set with their texts, in a fixed order: equal for settings that are equal."""
        return tuple(sorted(self._values.items()))

    def value(self, setting: Setting[T]) -> T:
        text = self._values.get(setting.key)
        return setting.default if text is None else setting.parse(text)

    def __getitem__(self, key: str) -> str:
        """The text of `key`: as set, else the default; KeyError where it is neither."""
        setting = find_setting(key)
        name = setting.key if setting else key
        if name in self._values:
            return self._values[name]
        if setting is None:
            raise KeyError(key)
        return str(setting.default).lower() if isinstance(setting.default, bool) else str(setting.default)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*(setting.key for setting in SETTINGS), *self._values])

    def __len__(self) -> int:
        return sum(1 for _ in self)
