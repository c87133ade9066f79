"""Catalogs of Iceberg tables, by the names and settings that Hive uses for them; tables that are in no catalog.

Of a table in no catalog, the newest metadata in its folder count.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyiceberg import exceptions
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StaticTable
from pyiceberg.table import Table as IcebergHandle
from thrift.transport.TTransport import TTransportException

from sharkpy.base import uri
from sharkpy.base.errors import (
    ConfigurationError,
    ExecutionError,
    SharkError,
    SourceError,
    TableChangedError,
    TableNotFoundError,
    UnsupportedError,
)
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.sources.file_errors import first_line, missing
from sharkpy.sources.lake.iceberg.metadata_files import FileContext, LakeIO, file_context
from sharkpy.sources.lake.lake_format import LakeHome, LakeReach
from sharkpy.sources.storage.requests import CallThreads, result_of
from sharkpy.sources.storage.store import ObjectFacts

CATALOG = "iceberg.catalog"
"""Property with the name of a table's catalog, and prefix of the settings `iceberg.catalog.<name>.<option>`."""
NAME = "name"
"""Property with the name of a table in its catalog, as namespace.table."""
BY_LOCATION = "location_based_table"
"""Catalog name for a table in no catalog: the newest metadata at the table's location count."""
_OWN = "default"
_OPTIONS = (
    *("type", "uri", "warehouse", "credential", "token", "oauth2-server-uri", "scope", "audience", "prefix"),
    *("ssl.cabundle", "hive.kerberos-authentication", "ugi", "engine.hive.lock-enabled"),
)
"""Options that are passed to pyiceberg: none of them names code to run."""
_CERTIFICATES = "ssl.cabundle"
_CLASSES = {"rest": "rest.LakeRestCatalog", "hive": "hive.LakeHiveCatalog"}
"""The engine's own catalog classes, by type, that replace pyiceberg's."""
_TYPES = ("sql", *_CLASSES)
_MOST_CALLS = 32


def identifier_of(entry: Table) -> tuple[str, ...]:
    """Name of a table in its catalog: its property, or by default its own database and name."""
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
        self._calls = CallThreads(_MOST_CALLS)

    def load(self, entry: Table, reach: LakeReach) -> IcebergHandle:
        """Current version of a table in its catalog. The statement can be cancelled while a server is slow."""
        conf = reach.conf

        def found() -> IcebergHandle:
            with file_context(FileContext(reach, entry.location)):
                return self.find(entry, conf).load_table(identifier_of(entry))

        if self._options(catalog_name(entry), conf)["type"] == _TYPES[0]:
            return found()
        return result_of(lambda: self._calls.run(found))

    def find(self, entry: Table, conf: Conf) -> Catalog:
        """Catalog of a table. ConfigurationError if no settings are given for it."""
        name = catalog_name(entry)
        options = self._options(name, conf)
        key = (("", name), *sorted(options.items()))
        with self._lock:
            known = self._open.get(key)
        if known is not None:
            return known
        with iceberg_failures(f'the catalog "{name}"'):
            made = _with_lake_files(load_catalog(name, **_nested(options)))
        with self._lock:
            known = self._open.setdefault(key, made)
        if known is not made:
            made.close()
        return known

    def _options(self, name: str, conf: Conf) -> dict[str, str]:
        given = {option: conf.given(f"{CATALOG}.{name}.{option}") for option in _OPTIONS}
        options = {option: value.reveal() for option, value in given.items() if value is not None}
        if not options and name == _OWN:
            place = Path(self._home.state_dir, "iceberg.sqlite")
            warehouse = self._home.warehouse_dir
            root = warehouse if uri.is_remote(warehouse) else f"file://{warehouse}"
            return {"type": "sql", "uri": f"sqlite:///{place}", "warehouse": root}
        if not options:
            hint = f"SET {CATALOG}.{name}.type=sql, rest or hive, and {CATALOG}.{name}.uri"
            raise ConfigurationError(f'no settings say where the catalog "{name}" of Iceberg is', hint=hint)
        kind = options.get("type", "").lower()
        if kind not in _TYPES:
            raise UnsupportedError(f'the type "{kind}" of the catalog "{name}" of Iceberg (known: {", ".join(_TYPES)})')
        return options | {"type": kind}

    def close(self) -> None:
        with self._lock:
            for catalog in self._open.values():
                catalog.close()
            self._open.clear()


def _with_lake_files(catalog: Catalog) -> Catalog:
    """The catalog, with tables that use `LakeIO` for their files instead of the classes that their properties name."""
    found: Any = catalog
    found._load_file_io = lambda _properties=None, location=None, **given: LakeIO(
        location=given.get("location", location)
    )
    return catalog


def _nested(options: dict[str, str]) -> dict[str, Any]:
    """Options in pyiceberg's form: there the one for certificates is part of another option."""
    found: dict[str, Any] = options | {"py-io-impl": f"{LakeIO.__module__}.{LakeIO.__name__}"}
    if (own := _CLASSES.get(found["type"])) is not None:
        # The class is named instead of a type: pyiceberg does not allow both.
        del found["type"]
        found["py-catalog-impl"] = f"{LakeIO.__module__.rpartition('.')[0]}.{own}"
    if _CERTIFICATES in found:
        scheme, _, name = _CERTIFICATES.partition(".")
        found[scheme] = {name: found.pop(_CERTIFICATES)}
    return found


_METADATA = re.compile(r"v?(\d{1,18})[^/]*\.metadata\.json")
_SUFFIX = ".metadata.json"


def newest_metadata(folder: str, files: LakeIO) -> ObjectFacts:
    """Newest metadata file of a table in a folder, or the metadata file at the location itself.

    If another table has replaced this one, its metadata may have the same name, but another time, size or tag.
    """
    if folder.endswith(_SUFFIX):
        found = files.facts(folder)
        if found is None:
            raise missing(folder)
        return found
    metadata = uri.join(folder, "metadata")
    numbered = [
        (int(match.group(1)), one.modified_ns, one.path, one)
        for one in files.store(metadata).children(metadata)[0]
        if (match := _METADATA.fullmatch(uri.name_of(one.path))) is not None
    ]
    if not numbered:
        hint = "its folder has a folder metadata in it"
        raise SourceError(f'no table of Iceberg is in "{uri.redacted(folder)}"', hint=hint, sqlstate="58P01")
    return max(numbered, key=lambda one: one[:3])[3]


def static_table(place: str, files: LakeIO) -> StaticTable:
    """Table of a metadata file: like `StaticTable.from_metadata`, but with the engine's file access."""
    metadata = FromInputFile.table_metadata(files.new_input(place))
    return StaticTable(("static-table", place), metadata, place, files, NoopCatalog("static-table"))


_MISSING = (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError)
_CONFLICTS = (exceptions.CommitFailedException, exceptions.ValidationException)


@contextmanager
def iceberg_failures(table: str) -> Iterator[None]:
    """Raise a failure of the body as a SharkError that names the table."""
    try:
        yield
    except SharkError:
        raise
    except _MISSING:
        raise TableNotFoundError(f"Iceberg's catalog has no table for {table}") from None
    except _CONFLICTS as error:
        raise TableChangedError(f"other writers have changed {table} at the same time: {first_line(error)}") from None
    except TTransportException as error:
        message = f"the Hive metastore that has {table} does not answer: {first_line(error)}"
        raise SourceError(message, sqlstate="08006") from None
    except OSError as error:
        raise SourceError(f"the metadata of {table} cannot be read or written: {first_line(error)}") from None
    except Exception as error:
        raise ExecutionError(f"Iceberg failed with {table}: {first_line(error)}") from error
