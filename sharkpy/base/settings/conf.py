"""The table of all settings, and `Conf`, the values that a session has set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.base.parse_limits import shortened
from sharkpy.base.secrets import HIDDEN, Secret, fingerprint, names_secret
from sharkpy.base.settings import data, statements, system
from sharkpy.base.settings.setting import Setting, T

AnySetting = Setting[int] | Setting[float] | Setting[bool] | Setting[str]

SUBJECTS = (system, statements, data)
SETTINGS: tuple[AnySetting, ...] = tuple(
    row for subject in SUBJECTS for row in vars(subject).values() if isinstance(row, Setting)
)

_BY_KEY = {key.lower(): setting for setting in SETTINGS for key in (setting.key, *setting.synonyms)}
_PATTERNS: tuple[tuple[str, str, AnySetting], ...] = tuple(
    (before, behind, setting)
    for setting in SETTINGS
    for pattern in setting.patterns
    for before, _, behind in (pattern.partition("*"),)
)
"""Texts before and after the name in keys of patterns, and the setting of each pattern."""
_GUARDED_PREFIX = "spark."
"""Prefix of keys that are not in the table and that only the owner may set."""
_OPEN_PREFIX = "spark.sql."
"""Prefix of keys that Spark's clients set. They have no effect here."""
_OWN_PREFIX = "shark."
_PATTERN_PREFIX = "fs."
"""Prefix of all patterns."""


def find_setting(key: str) -> AnySetting | None:
    """Return the setting of a key or synonym, in any case, or None if there is none."""
    return _BY_KEY.get(key.lower())


def setting_like(key: str) -> AnySetting | None:
    """Return the setting that describes a key: its own, or the setting of a pattern that the key matches."""
    lowered = key.lower()
    found = _BY_KEY.get(lowered)
    if found is not None or not lowered.startswith(_PATTERN_PREFIX):
        return found
    return next(
        (
            setting
            for before, behind, setting in _PATTERNS
            if len(lowered) > len(before) + len(behind) and lowered.startswith(before) and lowered.endswith(behind)
        ),
        None,
    )


def stored_key(key: str) -> str:
    """Return the key under which a value is stored. Unknown keys are stored unchanged."""
    if setting := find_setting(key):
        return setting.key
    return key.lower() if setting_like(key) is not None else key


def check_known(key: str) -> None:
    """Raise ConfigurationError for an unknown key with the engine's prefix, which is probably misspelled.

    Keys of Hive, Spark and Hadoop are accepted, known or not, since scripts set them.
    """
    if key.lower().startswith(_OWN_PREFIX) and find_setting(key) is None:
        hint = did_you_mean(key, (setting.key for setting in SETTINGS)) or "SET -v lists all"
        raise ConfigurationError(f'there is no setting "{shortened(key)}"', hint=hint, sqlstate="42704")


def is_guarded(key: str) -> bool:
    """Return whether only the engine's owner may set `key`."""
    if setting := setting_like(key):
        return setting.is_guarded
    lowered = key.lower()
    return lowered.startswith(_GUARDED_PREFIX) and not lowered.startswith(_OPEN_PREFIX)


def is_address(key: str) -> bool:
    """Return whether `key` is an address that the engine connects to."""
    setting = setting_like(key)
    return setting is not None and setting.is_address


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
            key, value = stored_key(key), str(parsed) if setting.check is not None else value
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
        name = stored_key(key)
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

    def plan_changes(self) -> tuple[tuple[str, str], ...]:
        """Return `changes` without the label of statements, on which no plan depends."""
        if statements.QUERY_TAG.key not in self._values:
            return self.changes()
        return tuple(change for change in self.changes() if change[0] != statements.QUERY_TAG.key)

    def value(self, setting: Setting[T]) -> T:
        text = self._values.get(setting.key)
        return setting.default if text is None else setting.parse(text)

    def given(self, key: str) -> Secret | None:
        """Return the value set under `key`, which may be a secret, or None if it is not set."""
        name = stored_key(key)
        if name in self._values:
            return Secret(self._values[name])
        return self._secrets.get(name)

    def __getitem__(self, key: str) -> str:
        """Return the value of `key`, or its default. Raise KeyError if it is neither set nor known."""
        name = stored_key(key)
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
