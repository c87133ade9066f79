"""The table of all settings."""

from __future__ import annotations

from sharkpy.base.digits import shortened
from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.base.settings import (
    engine,
    files,
    history,
    language,
    metastore,
    planning,
    queries,
    scripts,
    storage,
    store,
    streaming,
    writes,
)
from sharkpy.base.settings.setting import Setting

AnySetting = Setting[int] | Setting[float] | Setting[bool] | Setting[str]

SUBJECTS = (engine, metastore, store, planning, queries, history, language, files, storage, writes, scripts, streaming)
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


def kept_key(key: str) -> str:
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
