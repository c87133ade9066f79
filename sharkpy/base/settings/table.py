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
    store,
    streaming,
    writes,
)
from sharkpy.base.settings.setting import Setting

SETTINGS: tuple[Setting[int] | Setting[float] | Setting[bool] | Setting[str], ...] = tuple(
    row
    for subject in (engine, metastore, store, planning, queries, history, language, files, writes, scripts, streaming)
    for row in vars(subject).values()
    if isinstance(row, Setting)
)

_BY_KEY = {key.lower(): setting for setting in SETTINGS for key in (setting.key, *setting.synonyms)}
_GUARDED_PREFIX = "spark."
"""Prefix of keys that are not in the table and are the owner's too."""
_OPEN_PREFIX = "spark.sql."
"""Keys that clients of Spark set; they have no meaning here."""


_OWN_PREFIX = "shark."


def find_setting(key: str) -> Setting[int] | Setting[float] | Setting[bool] | Setting[str] | None:
    """Setting of a key or of a synonym, in any case of letters; None where the table has none."""
    return _BY_KEY.get(key.lower())


def check_known(key: str) -> None:
    """ConfigurationError for a key with the engine's prefix that is none of its settings: a slip of the pen.

    Keys of Hive, Spark and Hadoop are kept, whatever they are: scripts set them.
    """
    if key.lower().startswith(_OWN_PREFIX) and find_setting(key) is None:
        hint = did_you_mean(key, (setting.key for setting in SETTINGS)) or "SET -v lists all"
        raise ConfigurationError(f'there is no setting "{shortened(key)}"', hint=hint, sqlstate="42704")


def is_guarded(key: str) -> bool:
    """Whether only the engine's owner sets `key`."""
    if setting := find_setting(key):
        return setting.is_guarded
    lowered = key.lower()
    return lowered.startswith(_GUARDED_PREFIX) and not lowered.startswith(_OPEN_PREFIX)
