"""Tables of Iceberg: found by their catalogs, at their snapshots, made, changed and committed to."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import StaticTable
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.transforms import IdentityTransform, parse_transform

from sharkpy.base.errors import BindError, SourceError, TableChangedError, TableExistsError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.catalog.lake_tables import LakePoint, NewFile, PartitionField, Replaced, lake_path
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.catalog.store import new_table_id
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.sources.failures import io_error
from sharkpy.sources.lake.columns import columns_text
from sharkpy.sources.lake.iceberg.alterations import change_columns
from sharkpy.sources.lake.iceberg.catalogs import BY_LOCATION, CATALOG, IcebergCatalogs, catalog_name, identifier_of
from sharkpy.sources.lake.iceberg.commits import commit_files
from sharkpy.sources.lake.iceberg.errors import iceberg_failures
from sharkpy.sources.lake.iceberg.facts import facts_of
from sharkpy.sources.lake.iceberg.local_files import check_settable, check_writable, shown, static_table
from sharkpy.sources.lake.iceberg.planning import listed
from sharkpy.sources.lake.iceberg.types import hive_schema, iceberg_schema, lake_columns
from sharkpy.sources.lake.known_tables import KnownTables
from sharkpy.sources.lake.lake_format import LakeHome
from sharkpy.sources.lake.lake_table import LakeSnapshot, LakeTable, required
from sharkpy.sources.lake.parquet_files import COLUMNS
from sharkpy.values.types import Schema

_NAME = "iceberg"
_METADATA = re.compile(r"v?(\d{1,18})[^/]*\.metadata\.json")
_FIRST_FIELD = 1000
"""Id of the first partition field, as Iceberg numbers them."""


class IcebergFormat:
    """The format of Iceberg; see `LakeFormat`."""

    def __init__(self, home: LakeHome) -> None:
        self._catalogs = IcebergCatalogs(home)
        self._known = KnownTables()

    def load(self, entry: Table, conf: Conf) -> LakeTable:
        with iceberg_failures(entry.qualified_name):
            if catalog_name(entry) == BY_LOCATION:
                place = newest_metadata(entry.location or "")
                status = Path(place).stat()
                # Another table may have come to the place, whose metadata have the same name.
                state = place, status.st_mtime_ns, status.st_size
                return self._known.find(entry, state) or self._made(entry, state, static_table(place))
            handle = self._catalogs.load(entry, conf)
            location = handle.metadata_location
            return self._known.find(entry, location) or self._made(entry, location, handle)

    def _made(self, entry: Table, state: Hashable, handle: IcebergHandle) -> LakeTable:
        made = lake_table(entry, handle, handle.schema(), handle.metadata.current_snapshot_id)
        return self._known.keep(entry, state, made)

    def at(self, table: LakeTable, point: LakePoint) -> LakeTable:
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

    def named(self, place: str) -> LakeTable:
        def made() -> Table:
            kind, storage, properties = TableKind.EXTERNAL, StorageFormat(_NAME), ((CATALOG, BY_LOCATION),)
            return Table(new_table_id(), _NAME, place, kind, Schema(()), storage, place, properties)

        return self.load(self._known.entry(place, made), Conf())

    def facts(self, table: LakeTable, what: str) -> SystemTable:
        return facts_of(table, what)

    def create(self, entry: Table, fields: Sequence[PartitionField], conf: Conf) -> Table:
        is_by_location = catalog_name(entry) == BY_LOCATION
        if not entry.schema.fields and entry.location is not None and catalog_name(entry) != BY_LOCATION:
            # What lies there already: no catalog of ours knows it.
            entry = dataclasses.replace(entry, properties=(*entry.properties, (CATALOG, BY_LOCATION)))
        if not entry.schema.fields:
            found = self.load(entry, conf)
            location = entry.location or lake_path(found.handle.location())
            return dataclasses.replace(entry, schema=found.schema, location=location, storage=StorageFormat(_NAME))
        if is_by_location:
            raise UnsupportedError(f"making {entry.qualified_name}, a table of Iceberg without a catalog")
        properties = _table_properties(entry)
        check_settable(properties)
        schema = iceberg_schema(entry.schema)
        identifier, catalog = identifier_of(entry), self._catalogs.find(entry, conf)
        with iceberg_failures(entry.qualified_name):
            if catalog.table_exists(identifier):
                hint = "leave the columns out to use that one"
                message = f'Iceberg\'s catalog "{catalog.name}" has a table {".".join(identifier)} already'
                raise TableExistsError(message, hint=hint)
            catalog.create_namespace_if_not_exists(identifier[:-1])
            handle = catalog.create_table(
                identifier,
                schema,
                location=None if entry.location is None else f"file://{entry.location}",
                partition_spec=_spec(schema, fields),
                properties=properties,
            )
        location = entry.location or lake_path(handle.location())
        return dataclasses.replace(entry, schema=hive_schema(handle.schema()), location=location)

    def drop(self, entry: Table, conf: Conf) -> None:
        if catalog_name(entry) == BY_LOCATION:
            return
        with iceberg_failures(entry.qualified_name), suppress(NoSuchTableError):
            self._catalogs.find(entry, conf).drop_table(identifier_of(entry))

    def alter(self, table: LakeTable, schema: Schema, renamed: tuple[str, str] | None) -> None:
        self.partition_fields(table)
        with iceberg_failures(table.qualified_name):
            try:
                change_columns(_fresh(table), table.schema, schema, renamed)
            except (ValueError, TypeError) as error:
                raise BindError(f"{table.qualified_name} of Iceberg: {error}", sqlstate="42809") from None

    def partition_fields(self, table: LakeTable) -> tuple[PartitionField, ...]:
        if isinstance(table.handle, StaticTable):
            raise UnsupportedError(f"writing {table.qualified_name}, a table of Iceberg that is in no catalog here")
        check_writable(table.qualified_name, table.handle.properties)
        schema = table.handle.schema()
        found: list[PartitionField] = []
        for field in table.handle.spec().fields:
            if not isinstance(field.transform, IdentityTransform):
                raise UnsupportedError(f"adding rows to {table.qualified_name}, which is divided by {field.transform}")
            found.append(PartitionField("identity", schema.find_field(field.source_id).name.lower()))
        return tuple(found)

    def set_properties(self, table: LakeTable, given: Mapping[str, str], unset: Sequence[str]) -> None:
        self.partition_fields(table)
        check_settable(given)
        with iceberg_failures(table.qualified_name), _fresh(table).transaction() as transaction:
            if given:
                transaction.set_properties(dict(given))
            if unset:
                transaction.remove_properties(*unset)

    def commit(self, table: LakeTable, files: Sequence[NewFile], *, replaced: Replaced, is_unchanged: bool) -> None:
        with iceberg_failures(table.qualified_name):
            handle = _fresh(table)
            is_same = handle.schema() == table.handle.schema() and handle.spec() == table.handle.spec()
            if not is_same:
                raise TableChangedError(f"{table.qualified_name} was changed while rows were written")
            commit_files(handle, files, replaced=replaced, expected=table.snapshot.number, is_unchanged=is_unchanged)

    def close(self) -> None:
        self._catalogs.close()


def lake_table(entry: Table, handle: IcebergHandle, schema: IcebergSchema, snapshot_id: int | None) -> LakeTable:
    """Table of an entry, with the columns and properties that Iceberg's metadata have."""
    hive = hive_schema(schema)
    mapping = handle.name_mapping()
    columns = columns_text(lake_columns(schema, _names(mapping) if mapping is not None else {}))
    storage = StorageFormat(_NAME, ((COLUMNS, columns),))
    location = entry.location or ""
    kept: dict[str, Any] = {field.name: getattr(entry, field.name) for field in dataclasses.fields(Table)}
    given: dict[str, Any] = kept | {
        "schema": hive,
        "storage": storage,
        "properties": tuple((shown(handle.properties) | dict(entry.properties)).items()),
        "constraints": required(field.name.lower() for field in schema.fields if field.required),
    }
    snapshot = LakeSnapshot(
        snapshot_id, partial(_listed, entry.qualified_name, handle, snapshot_id, (schema, hive), storage, location)
    )
    return LakeTable(**given, snapshot=snapshot, handle=handle)


def _fresh(table: LakeTable) -> IcebergHandle:
    """The table as its catalog has it now. A commit changes the handle that it is made with."""
    found: IcebergHandle = table.handle.catalog.load_table(table.handle.name())
    return found


def _listed(name: str, *rest: Any) -> Any:
    with iceberg_failures(name):
        return listed(*rest)


def _names(mapping: Any) -> dict[int, tuple[str, ...]]:
    """Names of columns in files without ids, by the ids."""
    found: dict[int, tuple[str, ...]] = {}
    waiting = list(mapping)
    while waiting:
        one = waiting.pop()
        if one.field_id is not None:
            found[one.field_id] = tuple(one.names)
        waiting += one.fields
    return found


def _spec(schema: IcebergSchema, fields: Sequence[PartitionField]) -> PartitionSpec:
    made = []
    for number, one in enumerate(fields, _FIRST_FIELD):
        text = one.transform if one.number is None else f"{one.transform}[{one.number}]"
        name = one.column if one.transform == "identity" else f"{one.column}_{one.transform}"
        made.append(IcebergField(schema.find_field(one.column).field_id, number, parse_transform(text), name))
    return PartitionSpec(*made)


def _table_properties(entry: Table) -> dict[str, str]:
    """Properties that are Iceberg's, and not the engine's."""
    own = ("shark.", "iceberg.", "external.")
    return {key: value for key, value in entry.properties if not key.startswith(own) and key != "name"}


def newest_metadata(location: str) -> str:
    """Path of the newest metadata of a table in a folder, or the location itself where it is such a file."""
    path = Path(lake_path(location))
    if path.name.endswith(".metadata.json"):
        return str(path)
    try:
        numbered = [
            (int(match.group(1)), one.stat().st_mtime_ns, str(one))
            for one in (path / "metadata").iterdir()
            if (match := _METADATA.fullmatch(one.name)) is not None
        ]
    except OSError as error:
        raise io_error(error, str(path)) from None
    if not numbered:
        raise SourceError(f'no table of Iceberg is in "{path}"', hint="its folder has a folder metadata in it")
    return max(numbered)[2]
