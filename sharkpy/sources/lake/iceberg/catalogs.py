"""Catalogs of Iceberg's tables, by the names and settings that Hive has for them."""

from __future__ import annotations

import threading
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.sources.lake.iceberg.errors import iceberg_failures
from sharkpy.sources.lake.iceberg.local_files import only_local_files
from sharkpy.sources.lake.lake_format import LakeHome

CATALOG = "iceberg.catalog"
"""Property with the name of a table's catalog, and beginning of the settings `iceberg.catalog.<name>.<option>`."""
NAME = "name"
"""Property with the name of a table in its catalog, as namespace.table."""
BY_LOCATION = "location_based_table"
"""Name that says: no catalog, the newest metadata at the table's location count."""
_OWN = "default"
_OPTIONS = (
    *("type", "uri", "warehouse", "credential", "token", "oauth2-server-uri", "scope", "audience", "prefix"),
    *("ssl.cabundle", "hive.kerberos-authentication", "ugi"),
)
"""Options that are passed on: none of them names code."""
_TYPES = ("sql", "rest", "hive")


def identifier_of(entry: Table) -> tuple[str, ...]:
    """Name of a table in its catalog: that of its property, else its own."""
    given = dict(entry.properties).get(NAME)
    return (entry.database, entry.name) if given is None else tuple(given.split("."))


def catalog_name(entry: Table) -> str:
    return dict(entry.properties).get(CATALOG, _OWN)


class IcebergCatalogs:
    """Open catalogs. Safe to use from several threads."""

    def __init__(self, home: LakeHome) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._open: dict[tuple[tuple[str, str], ...], Catalog] = {}

    def find(self, entry: Table, conf: Conf) -> Catalog:
        """Catalog of a table. ConfigurationError where the settings do not say where it is."""
        name = catalog_name(entry)
        options = self._options(name, conf)
        key = (("", name), *sorted(options.items()))
        with self._lock:
            if key not in self._open:
                with iceberg_failures(f'the catalog "{name}"'):
                    self._open[key] = only_local_files(load_catalog(name, **options))
            return self._open[key]

    def _options(self, name: str, conf: Conf) -> dict[str, str]:
        given = {option: conf.given(f"{CATALOG}.{name}.{option}") for option in _OPTIONS}
        options = {option: value.reveal() for option, value in given.items() if value is not None}
        if not options and name == _OWN:
            place = Path(self._home.state_dir, "iceberg.sqlite")
            return {"type": "sql", "uri": f"sqlite:///{place}", "warehouse": f"file://{self._home.warehouse_dir}"}
        if not options:
            hint = f"SET {CATALOG}.{name}.type=sql, rest or hive, and {CATALOG}.{name}.uri"
            raise ConfigurationError(f'no settings say where the catalog "{name}" of Iceberg is', hint=hint)
        kind = options.get("type", "").lower()
        if kind not in _TYPES:
            raise UnsupportedError(f'the type "{kind}" of the catalog "{name}" of Iceberg (known: {", ".join(_TYPES)})')
        return options

    def close(self) -> None:
        with self._lock:
            for catalog in self._open.values():
                catalog.close()
            self._open.clear()
