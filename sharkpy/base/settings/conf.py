"""Settings of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sharkpy.base.secrets import HIDDEN, Secret, fingerprint, names_secret
from sharkpy.base.settings.setting import Setting, T
from sharkpy.base.settings.table import SETTINGS, check_known, find_setting, kept_key, setting_like


class Conf(Mapping[str, str]):
    """Values that a session has set, over the defaults. Unknown keys of other systems are stored, not refused.

    Only `given` returns secrets. The mapping shows *** for a secret that is set, and `changes` leaves secrets out.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        self._secrets: dict[str, Secret] = {}
        self.secrets_id = ""
        """Id of the secrets that are set: equal for equal secrets, empty if there are none."""
        for key, value in (values or {}).items():
            self.set(key, value)

    def set(self, key: str, value: str) -> None:
        """Set a value. Raise ConfigurationError if it does not fit the setting, or if the key has the engine's prefix
        but is unknown.
        """
        check_known(key)
        if setting := setting_like(key):
            parsed = setting.parse(value)
            key, value = kept_key(key), str(parsed) if setting.check is not None else value
        # Other threads may be reading the dictionary: replace it instead of changing it.
        if names_secret(key):
            self._keep({**self._secrets, key: Secret(value)})
        else:
            self._values = {**self._values, key: value}

    def reset(self, key: str | None = None) -> None:
        if key is None:
            self._values = {}
            self._keep({})
            return
        name = kept_key(key)
        self._values = {known: value for known, value in self._values.items() if known != name}
        self._keep({known: secret for known, secret in self._secrets.items() if known != name})

    def _keep(self, secrets: dict[str, Secret]) -> None:
        self._secrets = secrets
        self.secrets_id = fingerprint(sorted(secrets.items())) if secrets else ""

    def copy(self) -> Conf:
        """Return an independent copy."""
        copied = self.without_secrets()
        copied._keep(self._secrets)
        return copied

    def without_secrets(self) -> Conf:
        """Return an independent copy without the secrets."""
        copied = Conf()
        copied._values = self._values
        return copied

    def changes(self) -> tuple[tuple[str, str], ...]:
        """Return the keys that are set, with their values, in a fixed order. Equal settings give equal results. Secrets
        are left out.
        """
        return tuple(sorted(self._values.items()))

    def value(self, setting: Setting[T]) -> T:
        text = self._values.get(setting.key)
        return setting.default if text is None else setting.parse(text)

    def given(self, key: str) -> Secret | None:
        """Return the value set under `key`, which may be a secret, or None if it is not set."""
        name = kept_key(key)
        if name in self._values:
            return Secret(self._values[name])
        return self._secrets.get(name)

    def __getitem__(self, key: str) -> str:
        """Return the value of `key`, or its default. Raise KeyError if it is neither set nor known."""
        name = kept_key(key)
        if name in self._values:
            return self._values[name]
        if name in self._secrets:
            return HIDDEN
        setting = find_setting(key)
        if setting is None:
            raise KeyError(key)
        return setting.default_text

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*(setting.key for setting in SETTINGS), *self._values, *self._secrets])

    def __len__(self) -> int:
        return sum(1 for _ in self)
