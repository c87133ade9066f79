"""Table of all settings, subject by subject."""

from __future__ import annotations

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
    writes,
)
from sharkpy.base.settings.setting import Setting

SETTINGS: tuple[Setting[int] | Setting[float] | Setting[bool] | Setting[str], ...] = tuple(
    row
    for subject in (engine, metastore, store, planning, queries, history, language, files, writes, scripts)
    for row in vars(subject).values()
    if isinstance(row, Setting)
)

_BY_KEY = {key.lower(): setting for setting in SETTINGS for key in (setting.key, *setting.synonyms)}
_GUARDED_PREFIXES = ("spark.", "shark.test.")
"""Keys that are not in the table and are the owner's too."""
_OPEN_PREFIXES = ("spark.sql.",)
"""Keys that clients of Spark set; they have no meaning here."""


def find_setting(key: str) -> Setting[int] | Setting[float] | Setting[bool] | Setting[str] | None:
    """Setting of a key or of a synonym, in any case of letters; None where the table has none."""
    return _BY_KEY.get(key.lower())


def is_guarded(key: str) -> bool:
    """Whether only the engine's owner sets `key`."""
    if setting := find_setting(key):
        return setting.is_guarded
    lowered = key.lower()
    return lowered.startswith(_GUARDED_PREFIXES) and not lowered.startswith(_OPEN_PREFIXES)
