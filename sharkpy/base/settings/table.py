"""Table of all settings, subject by subject."""

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

_SUBJECTS = (engine, metastore, store, planning, queries, history, language, files, storage, writes, scripts, streaming)
SETTINGS: tuple[AnySetting, ...] = tuple(
    row for subject in _SUBJECTS for row in vars(subject).values() if isinstance(row, Setting)
)

_BY_KEY = {key.lower(): setting for setting in SETTINGS for key in (setting.key, *setting.synonyms)}
_PATTERNS: tuple[tuple[str, str, AnySetting], ...] = tuple(
    (before, behind, setting)
    for setting in SETTINGS
    for pattern in setting.patterns
    for before, _, behind in (pattern.partition("*"),)
)
"""What stands before and behind the name in keys of patterns, and the setting that they are like."""
_GUARDED_PREFIX = "spark."
"""Prefix of keys that are not in the table and are the owner's too."""
_OPEN_PREFIX = "spark.sql."
"""Keys that clients of Spark set; they have no meaning here."""
_OWN_PREFIX = "shark."
_PATTERN_PREFIX = "fs."
"""Prefix of all patterns."""


def find_setting(key: str) -> AnySetting | None:
    """Setting of a key or of a synonym, in any case of letters; None where the table has none."""
    return _BY_KEY.get(key.lower())


def setting_like(key: str) -> AnySetting | None:
    """Setting that tells of a key: its own, or by a pattern the one that it is like."""
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
    """Key under which the text of a setting is kept; keys that the table does not know are kept as they are."""
    if setting := find_setting(key):
        return setting.key
    return key.lower() if setting_like(key) is not None else key


def check_known(key: str) -> None:
    """ConfigurationError for a key with the engine's prefix that is none of its settings: a slip of the pen.

    Keys of Hive, Spark and Hadoop are kept, whatever they are: scripts set them.
    """
    if key.lower().startswith(_OWN_PREFIX) and find_setting(key) is None:
        hint = did_you_mean(key, (setting.key for setting in SETTINGS)) or "SET -v lists all"
        raise ConfigurationError(f'there is no setting "{shortened(key)}"', hint=hint, sqlstate="42704")


def is_guarded(key: str) -> bool:
    """Whether only the engine's owner sets `key`."""
    if setting := setting_like(key):
        return setting.is_guarded
    lowered = key.lower()
    return lowered.startswith(_GUARDED_PREFIX) and not lowered.startswith(_OPEN_PREFIX)


def is_address(key: str) -> bool:
    """Whether `key` says where the engine connects to."""
    setting = setting_like(key)
    return setting is not None and setting.is_address
