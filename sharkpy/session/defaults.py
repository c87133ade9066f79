"""Initial settings of a session, from keyword arguments, and the location of its warehouse."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from sharkpy.base import settings, uri
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.settings import Conf
from sharkpy.base.users import user_state_folder
from sharkpy.catalog.path_gate import local_path


def add_keywords(conf: Conf, keywords: Mapping[str, object]) -> Conf:
    """Set the settings that `connect` and similar functions get as keywords in `conf`."""
    for key, value in keywords.items():
        conf.set(setting_key(key), setting_text(value))
    return conf


def setting_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def setting_key(keyword: str) -> str:
    """Return the key of a setting given as keyword: `shark_block_rows` is `shark.block.rows`. Raise ConfigurationError
    if no setting can have such a key.
    """
    if "." in keyword or ":" in keyword:
        return keyword
    dotted = keyword.replace("_", ".")
    if dotted.split(".")[0] not in ("shark", "hive", "spark"):
        hint = 'settings are keywords: shark_block_rows=100_000, **{"fs.s3a.endpoint": "http://127.0.0.1:9000"}'
        raise ConfigurationError(f'there is no setting "{keyword}"', hint=hint, sqlstate="42704")
    return dotted


def warehouse_location(chosen: str | os.PathLike[str] | None, conf: Conf) -> str:
    """Return the location of a warehouse: an absolute path, or a URI in normal form.

    The default is `shark.warehouse.dir`, else SHARKPY_WAREHOUSE, else a folder in the user's data folder.
    """
    location = os.fspath(chosen) if chosen is not None else _default_warehouse(conf)
    if not uri.is_remote(location):
        return local_path(location) if uri.scheme_of(location) else str(Path(location).expanduser().absolute())
    uri.check_no_secrets(location)
    return uri.normalized(location)


def _default_warehouse(conf: Conf) -> str:
    if chosen := conf.value(settings.WAREHOUSE) or os.environ.get("SHARKPY_WAREHOUSE"):
        return chosen
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return str(Path(base) / "sharkpy" / "warehouse")


def catalog_home(warehouse: str, conf: Conf) -> str:
    """Return the local folder of a warehouse's catalog and of the engine's own files. A local warehouse is that folder.

    Raise ConfigurationError if the settings place the catalog of a local warehouse in another folder.
    """
    chosen = conf.value(settings.CATALOG_DIR)
    if not uri.is_remote(warehouse):
        if chosen and local_path(chosen) != warehouse:
            message = f'the catalog of the local warehouse "{warehouse}" is always inside it'
            raise ConfigurationError(message, hint=f"leave {settings.CATALOG_DIR.key} out", sqlstate="22023")
        return warehouse
    if chosen:
        return local_path(chosen)
    digest = blake2b(warehouse.encode(), digest_size=8).hexdigest()
    return str(user_state_folder() / "warehouses" / f"{uri.name_of(warehouse) or 'warehouse'}-{digest}")
