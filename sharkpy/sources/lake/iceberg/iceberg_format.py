"""Iceberg tables: found by their catalogs, read at their snapshots, created, changed and committed to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from pyiceberg.exceptions import NoSuchTableError, ValidationError
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import StaticTable
from pyiceberg.table import Table as IcebergHandle

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableChangedError, TableExistsError, UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.lake_tables import NewFile, PartitionField, Replaced, lake_path
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.sources.lake.columns import columns_text
from sharkpy.sources.lake.iceberg.catalogs import (
    BY_LOCATION,
    CATALOG,
    IcebergCatalogs,
    catalog_name,
    iceberg_failures,
    identifier_of,
    newest_metadata,
    static_table,
)
from sharkpy.sources.lake.iceberg.manifests import commit_files
from sharkpy.sources.lake.iceberg.metadata_files import FileContext, LakeIO, file_context
from sharkpy.sources.lake.iceberg.schemas import (
    change_columns,
    fields_of,
    hive_schema,
    iceberg_schema,
    lake_columns,
    spec_of,
)
from sharkpy.sources.lake.iceberg.snapshots import iceberg_metadata_table, list_data_files
from sharkpy.sources.lake.iceberg.transforms import COMPUTED, IDENTITY, VOID
from sharkpy.sources.lake.lake_format import LakeHome, LakeReach
from sharkpy.sources.lake.lake_table import LakeSnapshot, LakeTable, LakeTableCache, required
from sharkpy.sources.lake.parquet_files import COLUMNS
from sharkpy.values.types import Schema

_NAME = "iceberg"
_DIVIDES = (IDENTITY, VOID, *COMPUTED)
"""Transforms that can divide new files."""


class IcebergFormat:
    """The Iceberg format; see `LakeFormat`."""

    def __init__(self, home: LakeHome) -> None:
        self._catalogs = IcebergCatalogs(home)
        self._cache = LakeTableCache()

    def load(self, entry: Table, reach: LakeReach) -> LakeTable:
        if catalog_name(entry) == BY_LOCATION:
            return self._table_at(entry, FileContext(reach, lake_path(entry.location or "")))
        with iceberg_failures(entry.qualified_name):
            handle = self._catalogs.load(entry, reach)
            return self._looked_up(entry, handle.metadata_location, handle.io, lambda: handle)

    def _table_at(self, entry: Table, found: FileContext) -> LakeTable:
        """Table of an entry that is in no Iceberg catalog, from the metadata in its folder."""
        with iceberg_failures(entry.qualified_name), file_context(found):
            files = LakeIO()
            newest = newest_metadata(found.folder or "", files)
            return self._looked_up(entry, newest, files, lambda: static_table(newest.path, files))

    def _looked_up(
        self, entry: Table, state: Hashable, files: LakeIO, handle: Callable[[], IcebergHandle]
    ) -> LakeTable:
        """Cached table in this state, or else the table of a handle.

        A remote table is cached for each session and its keys.
        """
        who: LakeReach | None = None
        if uri.is_remote(files.folder or ""):
            who, state = files.found.reach, (state, files.access_id(files.folder or ""))
        known = self._cache.find(entry, state, who)
        if known is not None:
            return known
        found = handle()
        made = lake_table(entry, found, found.schema(), found.metadata.current_snapshot_id)
        return self._cache.keep(entry, state, made, who)

    def at(self, table: LakeTable, point: VersionPoint) -> LakeTable:
        metadata = table.handle.metadata
        if point.number is not None:
            found = metadata.snapshot_by_id(point.number)
        elif point.moment_ms is not None:
            found = table.handle.snapshot_as_of_timestamp(point.moment_ms)
        else:
            found = metadata.snapshot_by_name(point.name)
        if found is None:
            hint = f"SELECT * FROM {table.qualified_name}.snapshots"
            raise BindError(f"{table.qualified_name} has no snapshot {point}", hint=hint, sqlstate="22023")
        schema = next((one for one in metadata.schemas if one.schema_id == found.schema_id), metadata.schema())
        marked = table.from_files(f"@{found.snapshot_id}")
        return lake_table(marked, table.handle, schema, found.snapshot_id)

    def named(self, place: str, reach: LakeReach) -> LakeTable:
        def made() -> Table:
            kind, storage, properties = TableKind.EXTERNAL, StorageFormat(_NAME), ((CATALOG, BY_LOCATION),)
            return Table(new_table_id(), _NAME, place, kind, Schema(()), storage, place, properties)

        return self._table_at(self._cache.entry(place, made), FileContext(reach, place, is_named=True))

    def facts(self, table: LakeTable, what: str) -> SystemTable:
        return iceberg_metadata_table(table, what)

    def create(self, entry: Table, fields: Sequence[PartitionField], reach: LakeReach) -> Table:
        is_by_location = catalog_name(entry) == BY_LOCATION
        if not entry.schema.fields and entry.location is not None and catalog_name(entry) != BY_LOCATION:
            # A table that already exists there: it is in none of our catalogs.
            entry = dataclasses.replace(entry, properties=(*entry.properties, (CATALOG, BY_LOCATION)))
        if not entry.schema.fields:
            found = self.load(entry, reach)
            location = entry.location or lake_path(found.handle.location())
            return dataclasses.replace(entry, schema=found.schema, location=location, storage=StorageFormat(_NAME))
        if is_by_location:
            raise UnsupportedError(f"making {entry.qualified_name}, a table of Iceberg without a catalog")
        properties = _table_properties(entry)
        check_settable(properties)
        schema = iceberg_schema(entry.schema)
        spec = spec_of(schema, fields)
        identifier, catalog = identifier_of(entry), self._catalogs.find(entry, reach.conf)
        with iceberg_failures(entry.qualified_name), file_context(FileContext(reach, entry.location)):
            if catalog.table_exists(identifier):
                hint = "leave the columns out to use that one"
                message = f'Iceberg\'s catalog "{catalog.name}" has a table {".".join(identifier)} already'
                raise TableExistsError(message, hint=hint)
            catalog.create_namespace_if_not_exists(identifier[:-1])
            handle = catalog.create_table(
                identifier,
                schema,
                location=None if entry.location is None else _location(entry.location),
                partition_spec=spec,
                properties=properties,
            )
        location = entry.location or lake_path(handle.location())
        return dataclasses.replace(entry, schema=hive_schema(handle.schema()), location=location)

    def drop(self, entry: Table, reach: LakeReach) -> None:
        if catalog_name(entry) == BY_LOCATION:
            return
        found = FileContext(reach, entry.location)
        with iceberg_failures(entry.qualified_name), file_context(found), suppress(NoSuchTableError):
            self._catalogs.find(entry, reach.conf).drop_table(identifier_of(entry))

    def alter(self, table: LakeTable, schema: Schema, renamed: tuple[str, str] | None) -> None:
        self.partition_fields(table)
        with _at_work(table):
            try:
                change_columns(_fresh(table), table.schema, schema, renamed)
            except (ValueError, TypeError, ValidationError) as error:
                raise BindError(f"{table.qualified_name} of Iceberg: {error}", sqlstate="42809") from None

    def partition_fields(self, table: LakeTable) -> tuple[PartitionField, ...]:
        if isinstance(table.handle, StaticTable):
            raise UnsupportedError(f"writing {table.qualified_name}, a table of Iceberg that is in no catalog here")
        check_writable(table.qualified_name, table.handle.properties)
        columns = hive_schema(table.handle.schema()).names
        for one in table.divided_by:
            if one.transform not in _DIVIDES or (one.transform != VOID and one.column not in columns):
                raise UnsupportedError(f"writing {table.qualified_name}, which is divided by {one}")
        return table.divided_by

    def set_properties(self, table: LakeTable, given: Mapping[str, str], unset: Sequence[str]) -> None:
        self.partition_fields(table)
        check_settable(given)
        with _at_work(table), _fresh(table).transaction() as transaction:
            if given:
                transaction.set_properties(dict(given))
            if unset:
                transaction.remove_properties(*unset)

    def commit(self, table: LakeTable, files: Sequence[NewFile], *, replaced: Replaced, is_unchanged: bool) -> None:
        with _at_work(table):
            handle = _fresh(table)
            is_same = handle.schema() == table.handle.schema() and handle.spec() == table.handle.spec()
            if not is_same:
                raise TableChangedError(f"{table.qualified_name} was changed while rows were written")
            commit_files(handle, files, replaced=replaced, expected=table.snapshot.number, is_unchanged=is_unchanged)

    def access_id(self, table: LakeTable, place: str) -> str:
        found: str = table.handle.io.access_id(place)
        return found

    def close(self) -> None:
        self._catalogs.close()


def lake_table(entry: Table, handle: IcebergHandle, schema: IcebergSchema, snapshot_id: int | None) -> LakeTable:
    """Table of an entry, with the columns and properties of Iceberg's metadata."""
    hive = hive_schema(schema)
    mapping = handle.name_mapping()
    columns = columns_text(lake_columns(schema, _names(mapping) if mapping is not None else {}))
    storage = StorageFormat(_NAME, ((COLUMNS, columns),))
    location = entry.location or ""
    kept: dict[str, Any] = {field.name: getattr(entry, field.name) for field in dataclasses.fields(Table)}
    given: dict[str, Any] = kept | {
        "schema": hive,
        "storage": storage,
        "properties": tuple((shown_properties(handle.properties) | dict(entry.properties)).items()),
        "constraints": required(field.name.lower() for field in schema.fields if field.required),
    }
    snapshot = LakeSnapshot(
        snapshot_id, partial(_listed, entry.qualified_name, handle, snapshot_id, (schema, hive), storage, location)
    )
    return LakeTable(**given, snapshot=snapshot, handle=handle, divided_by=fields_of(handle))


@contextmanager
def _at_work(table: LakeTable) -> Iterator[None]:
    """Change a table in its catalog, with the reach of the session that looked it up."""
    with iceberg_failures(table.qualified_name), file_context(table.handle.io.found):
        yield


def _location(place: str) -> str:
    """Location in the form of Iceberg's metadata."""
    return place if uri.is_remote(place) else f"file://{place}"


def _fresh(table: LakeTable) -> IcebergHandle:
    """Current version of the table in its catalog. It is a new handle, since a commit changes the one that it uses."""
    found: IcebergHandle = table.handle.catalog.load_table(table.handle.name())
    return found


def _listed(name: str, *rest: Any) -> Any:
    with iceberg_failures(name):
        return list_data_files(*rest)


def _names(mapping: Any) -> dict[int, tuple[str, ...]]:
    """Names of columns in files without ids, by column id."""
    found: dict[int, tuple[str, ...]] = {}
    waiting = list(mapping)
    while waiting:
        one = waiting.pop()
        if one.field_id is not None:
            found[one.field_id] = tuple(one.names)
        waiting += one.fields
    return found


def _table_properties(entry: Table) -> dict[str, str]:
    """Properties that belong to Iceberg, not to the engine."""
    own = ("shark.", "iceberg.", "external.")
    return {key: value for key, value in entry.properties if not key.startswith(own) and key != "name"}


_OF_CODE = ("py-io-impl", "write.py-location-provider.impl")
"""Properties that name code, which pyiceberg imports and calls."""
_OF_PLACES = ("write.metadata.path", "write.data.path")
"""Properties with folders outside of the table's own."""

_OF_STORAGE = ("s3.", "client.", "glue.", "dynamodb.", "adls.", "gcs.", "hdfs.", "hf.", "oss.")
"""Prefixes of properties with storage servers and their keys."""


def check_settable(properties: Iterable[str]) -> None:
    """Raise UnsupportedError for a property with code or with a location outside of the table's folder, and for storage
    properties, which may be keys that everyone would see.
    """
    if found := next((key for key in properties if key in _OF_CODE + _OF_PLACES or key.startswith(_OF_STORAGE)), None):
        raise UnsupportedError(f"setting the property {found} of a table of Iceberg")


def check_writable(name: str, properties: Iterable[str]) -> None:
    """Raise UnsupportedError for a table with properties that name code: commits would run it."""
    if found := next((key for key in properties if key in _OF_CODE), None):
        raise UnsupportedError(f"writing {name}, a table of Iceberg with the property {found}")


def shown_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a table without storage properties, which may hold keys."""
    return {key: value for key, value in properties.items() if not key.startswith(_OF_STORAGE)}
