"""Initial settings of a session, from keyword arguments, and the place of its warehouse."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sharkpy.base import settings
from sharkpy.base.settings import Conf


def add_keywords(conf: Conf, keywords: Mapping[str, object]) -> Conf:
    """Set the settings of `connect` and its like in `conf`."""
    for key, value in keywords.items():
        conf.set(setting_key(key), str(value).lower() if isinstance(value, bool) else str(value))
    return conf


def setting_key(keyword: str) -> str:
    """Key of a setting given as keyword: `shark_block_rows` is `shark.block.rows`."""
    dotted = keyword.replace("_", ".")
    return dotted if "." not in keyword and dotted.split(".")[0] in ("shark", "hive", "spark") else keyword


def default_warehouse(conf: Conf) -> Path:
    if chosen := conf.value(settings.WAREHOUSE) or os.environ.get("SHARKPY_WAREHOUSE"):
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "sharkpy" / "warehouse"
