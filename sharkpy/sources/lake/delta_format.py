"""Delta tables, by deltalake: a folder each with a log, read at its versions, created and committed to."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.exceptions import TableNotFoundError as NoTableError

from sharkpy.base import uri
from sharkpy.base.errors import (
    BindError,
    ExecutionError,
    SharkError,
    SourceError,
    TableChangedError,
    TableExistsError,
    UnsupportedError,
)
from sharkpy.base.records import dataclass
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.lake_tables import NewFile, PartitionField, Replaced
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.sources.file_errors import first_line
from sharkpy.sources.lake.columns import LakeColumn, columns_text
from sharkpy.sources.lake.delta_files import commit_files, list_data_files
from sharkpy.sources.lake.delta_log import DeltaFolder, delta_metadata_table, versions
from sharkpy.sources.lake.lake_format import LakeReach
from sharkpy.sources.lake.lake_table import LakeFiles, LakeSnapshot, LakeTable, LakeTableCache, required
from sharkpy.sources.lake.parquet_files import COLUMNS
from sharkpy.values import types as t

_NAME = "delta"
_READ = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors", "columnMapping"})
"""Reader features that are supported; columnMapping only in tables that do not use it."""
_WRITTEN = frozenset({"appendOnly", "invariants", "timestampNtz"})
_MAPPING_VERSION, _FEATURES_VERSION = 2, 3
_PLAIN_WRITER, _FEATURES_WRITER = 2, 7


class DeltaFormat:
    """The Delta format; see `LakeFormat`. Tables are identified by their location, without a catalog."""

    def __init__(self) -> None:
        self._cache = LakeTableCache()

    def load(self, entry: Table, reach: LakeReach) -> LakeTable:
        return self._table_at(entry, DeltaFolder(entry.location or "", reach))

    def _table_at(self, entry: Table, place: DeltaFolder) -> LakeTable:
        with _failures(entry):
            handle = place.open()
            # Another table with the same version number may have replaced this one. A remote table is cached for each
            # session and its keys.
            state = handle.metadata().id, handle.version(), place.access_id
            who = place.reach if place.is_remote else None
            known = self._cache.find(entry, state, who)
            return known or self._cache.keep(entry, state, _lake_table(entry, DeltaHandle(handle, place)), who)

    def at(self, table: LakeTable, point: VersionPoint) -> LakeTable:
        if point.name:
            raise BindError(f'{table.qualified_name} of Delta has no version called "{point.name}"', sqlstate="22023")
        place: DeltaFolder = table.handle.place
        try:
            handle = place.open()
            if point.number is not None:
                place.asked(partial(handle.load_as_version, point.number))
            elif point.moment_ms is not None:
                # The library uses the times of files, which are later than the times in the log.
                history = versions(handle, place)
                earlier = [one["version"] for one in history if (one.get("timestamp") or 0) <= point.moment_ms]
                if not earlier:
                    raise OverflowError("there was no table yet")
                place.asked(partial(handle.load_as_version, max(earlier)))
        except (DeltaError, OSError, OverflowError) as error:
            message = f"{table.qualified_name} has no {point}: {first_line(error)}"
            raise BindError(message, hint=f"SELECT * FROM {table.qualified_name}.history", sqlstate="22023") from None
        with _failures(table):
            return _lake_table(table.from_files(f"@{handle.version()}"), DeltaHandle(handle, place))

    def named(self, place: str, reach: LakeReach) -> LakeTable:
        def made() -> Table:
            kind, storage = TableKind.EXTERNAL, StorageFormat(_NAME)
            return Table(new_table_id(), _NAME, place, kind, t.Schema(()), storage, place)

        return self._table_at(self._cache.entry(place, made), DeltaFolder(place, reach, is_named=True))

    def facts(self, table: LakeTable, what: str) -> SystemTable:
        return delta_metadata_table(table, what)

    def create(self, entry: Table, fields: Sequence[PartitionField], reach: LakeReach) -> Table:
        location = entry.location or ""
        if not entry.schema.fields:
            if not location:
                raise BindError(f"the columns or the LOCATION of {entry.qualified_name}, a table of Delta, expected")
            return dataclasses.replace(entry, schema=self.load(entry, reach).schema)
        if other := next((one.transform for one in fields if one.transform != "identity"), None):
            raise UnsupportedError(f"dividing a table of Delta by {other}")
        place = DeltaFolder(location, reach)
        options = place.options
        with _failures(entry):
            if place.has_table:
                message = f'there is a table of Delta in "{location}" already'
                raise TableExistsError(message, hint="leave the columns out to use that one")
            configuration = {key: value for key, value in entry.properties if key.startswith("delta.")}
            schema = Schema.from_json(delta_schema(entry.schema))
            divided = [one.column for one in fields]
            place.changed(
                lambda: DeltaTable.create(
                    location,
                    schema,
                    partition_by=divided,
                    configuration=configuration or None,
                    storage_options=options,
                )
            )
        return entry

    def drop(self, entry: Table, reach: LakeReach) -> None:
        """Do nothing: a table is only its folder."""

    def alter(self, table: LakeTable, schema: t.Schema, renamed: tuple[str, str] | None) -> None:  # noqa: ARG002
        self.partition_fields(table)
        known = table.schema.fields
        if schema.fields[: len(known)] != known:
            raise UnsupportedError(
                f"other changes of columns of {table.qualified_name}, a table of Delta, than ADD COLUMNS"
            )
        with _failures(table):
            added = [Field.from_json(json.dumps(delta_field(field))) for field in schema.fields[len(known) :]]
            handle = table.handle.place.open()
            table.handle.place.changed(lambda: handle.alter.add_columns(added))

    def partition_fields(self, table: LakeTable) -> tuple[PartitionField, ...]:
        table_of = table.handle.table
        protocol = table_of.protocol()
        version, features = protocol.min_writer_version, frozenset(protocol.writer_features or ())
        if _PLAIN_WRITER < version < _FEATURES_WRITER or not features <= _WRITTEN:
            what = ", ".join(sorted(features - _WRITTEN)) or f"the writer version {version}"
            raise UnsupportedError(f"writing {table.qualified_name}, a table of Delta with {what}")
        if '"delta.invariants"' in table_of.schema().to_json():
            raise UnsupportedError(f"writing {table.qualified_name}, a table of Delta with invariants")
        return table.divided_by

    def set_properties(self, table: LakeTable, given: Mapping[str, str], unset: Sequence[str]) -> None:
        if unset:
            raise UnsupportedError(f"UNSET TBLPROPERTIES of {table.qualified_name}, a table of Delta")
        if table.handle.place.is_remote:
            # deltalake blocks all other threads during this request to a store.
            raise UnsupportedError(f"SET TBLPROPERTIES of {table.qualified_name}, a remote table of Delta")
        with _failures(table):
            table.handle.place.open().alter.set_table_properties(dict(given))

    def commit(self, table: LakeTable, files: Sequence[NewFile], *, replaced: Replaced, is_unchanged: bool) -> None:
        """Commit files. An overwrite replaces all files, even in a partitioned table, as in Spark."""
        overwrite = replaced is not Replaced.NOTHING
        place: DeltaFolder = table.handle.place
        with _failures(table):
            handle = place.open()
            if is_unchanged and handle.version() != table.snapshot.number:
                raise TableChangedError(f"{table.qualified_name} was changed while the statement ran")
            if handle.schema() != table.handle.table.schema():
                raise TableChangedError(f"{table.qualified_name} was changed while rows were written")
            commit_files(handle, place, files, overwrite=overwrite, is_unchanged=is_unchanged)

    def access_id(self, table: LakeTable, place: str) -> str:
        found: str = table.handle.place.file_access(place)
        return found

    def close(self) -> None:
        """Do nothing: nothing stays open."""


@dataclass(frozen=True, slots=True)
class DeltaHandle:
    """A Delta table at a version, and its location."""

    table: DeltaTable
    place: DeltaFolder


@contextmanager
def _failures(table: Table) -> Iterator[None]:
    """Raise a failure of the body as a SharkError that names the table."""
    try:
        yield
    except SharkError:
        raise
    except NoTableError:
        raise SourceError(f'no table of Delta is in "{table.location}"', sqlstate="58P01") from None
    except CommitFailedError as error:
        if "append-only" in str(error):
            hint = "ALTER TABLE … SET TBLPROPERTIES ('delta.appendOnly'='false') lets rows be changed and removed"
            message = f"{table.qualified_name} is append-only: its rows cannot be changed or removed"
            raise ExecutionError(message, hint=hint, sqlstate="42809") from None
        raise TableChangedError(f"other writers have changed {table.qualified_name}: {first_line(error)}") from None
    except OSError as error:
        raise SourceError(f"the log of {table.qualified_name} cannot be read or written: {first_line(error)}") from None
    except Exception as error:
        raise ExecutionError(f"Delta failed with {table.qualified_name}: {first_line(error)}") from error


def _lake_table(entry: Table, found: DeltaHandle) -> LakeTable:
    """Table of an entry at a version."""
    handle = found.table
    _check_readable(entry, handle)
    fields = fields_of(handle.schema().to_json())
    hive = hive_schema(fields)
    storage = StorageFormat(_NAME, ((COLUMNS, columns_text(lake_columns(fields))),))
    location = entry.location or ""
    location = location if uri.is_remote(location) else str(Path(location))
    properties = dict(handle.metadata().configuration) | dict(entry.properties)
    kept: dict[str, Any] = {field.name: getattr(entry, field.name) for field in dataclasses.fields(Table)}
    given: dict[str, Any] = kept | {
        "schema": hive,
        "storage": storage,
        "properties": tuple(properties.items()),
        "constraints": required(one["name"].lower() for one in fields if not one["nullable"]),
    }
    snapshot = LakeSnapshot(handle.version(), partial(_listed, entry, found, hive, storage, location))
    columns = handle.metadata().partition_columns
    divided = tuple(PartitionField("identity", name.lower(), is_stored=False) for name in columns)
    return LakeTable(**given, snapshot=snapshot, handle=found, divided_by=divided)


def _check_readable(table: Table, handle: DeltaTable) -> None:
    """Raise UnsupportedError for reader features that are not supported."""
    protocol = handle.protocol()
    features = frozenset(protocol.reader_features or ())
    unknown = sorted(features - _READ)
    if unknown or protocol.min_reader_version > _FEATURES_VERSION:
        what = ", ".join(unknown) or f"the reader version {protocol.min_reader_version}"
        raise UnsupportedError(f"{table.qualified_name}, a table of Delta with {what}")
    mode = handle.metadata().configuration.get("delta.columnMapping.mode", "none")
    if protocol.min_reader_version >= _MAPPING_VERSION and mode != "none":
        raise UnsupportedError(f"{table.qualified_name}, a table of Delta with columnMapping")


def _listed(table: Table, found: DeltaHandle, hive: t.Schema, storage: StorageFormat, location: str) -> LakeFiles:
    with _failures(table):
        return list_data_files(found.table, found.place, hive, storage, location)


_FROM: dict[str, t.DataType] = {
    "boolean": t.BOOLEAN,
    "byte": t.TINYINT,
    "short": t.SMALLINT,
    "integer": t.INT,
    "long": t.BIGINT,
    "float": t.FLOAT,
    "double": t.DOUBLE,
    "date": t.DATE,
    "timestamp": t.TIMESTAMP,
    "timestamp_ntz": t.TIMESTAMP,
    "string": t.STRING,
    "binary": t.BINARY,
}
_TO = {dtype: name for name, dtype in _FROM.items() if name != "timestamp_ntz"}
"""A TIMESTAMP is written as a time in UTC: only recent readers support Delta's type without a zone."""
_DECIMAL = re.compile(r"decimal\((\d{1,2}),\s?(\d{1,2})\)")
Fields = list[dict[str, Any]]


def fields_of(schema: str) -> Fields:
    found: Fields = json.loads(schema)["fields"]
    return found


def hive_schema(fields: Fields) -> t.Schema:
    return t.Schema(
        tuple(t.Field(one["name"].lower(), _hive_type(one["type"], one["name"]), _comment(one)) for one in fields)
    )


def _comment(field: Mapping[str, Any]) -> str | None:
    found: str | None = (field.get("metadata") or {}).get("comment")
    return found


def _hive_type(found: Any, column: str) -> t.DataType:
    match found:
        case {"type": "struct", "fields": fields}:
            names = tuple(one["name"].lower() for one in fields)
            return t.StructType(names, tuple(_hive_type(one["type"], column) for one in fields))
        case {"type": "array", "elementType": element}:
            return t.ArrayType(_hive_type(element, column))
        case {"type": "map", "keyType": key, "valueType": value}:
            return t.MapType(_hive_type(key, column), _hive_type(value, column))
        case str() if (match := _DECIMAL.fullmatch(found)) is not None:
            return t.DecimalType(int(match[1]), int(match[2]))
        case str() if found in _FROM:
            return _FROM[found]
    raise UnsupportedError(f'the column "{column}" of Delta\'s type {found}')


def lake_columns(fields: Fields) -> tuple[LakeColumn, ...]:
    """Columns by their names in the log, which are also their names in files."""
    return tuple(_column(one["name"], one["type"]) for one in fields)


def _column(name: str, found: Any) -> LakeColumn:
    parts: tuple[LakeColumn, ...] = ()
    match found:
        case {"type": "struct", "fields": fields}:
            parts = lake_columns(fields)
        case {"type": "array", "elementType": element}:
            parts = (_column("element", element),)
        case {"type": "map", "keyType": key, "valueType": value}:
            parts = (_column("key", key), _column("value", value))
    return LakeColumn(name.lower(), name, parts=parts, in_utc=found == "timestamp")


def delta_schema(schema: t.Schema) -> str:
    return json.dumps({"type": "struct", "fields": [delta_field(field) for field in schema]})


def delta_field(field: t.Field) -> dict[str, Any]:
    metadata = {} if field.comment is None else {"comment": field.comment}
    return {"name": field.name, "type": _delta_type(field.dtype, field.name), "nullable": True, "metadata": metadata}


def _delta_type(dtype: t.DataType, column: str) -> Any:
    match dtype:
        case t.DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case t.VarcharType() | t.CharType():
            return "string"
        case t.ArrayType(element):
            return {"type": "array", "elementType": _delta_type(element, column), "containsNull": True}
        case t.MapType(key, value):
            types = {"keyType": _delta_type(key, column), "valueType": _delta_type(value, column)}
            return {"type": "map", **types, "valueContainsNull": True}
        case t.StructType(names, types):
            fields = [delta_field(t.Field(name, one)) for name, one in zip(names, types, strict=True)]
            return {"type": "struct", "fields": fields}
    if dtype not in _TO:
        raise UnsupportedError(f'the column "{column}" of type {dtype} in a table of Delta')
    return _TO[dtype]
