"""Snapshots of an Iceberg table: their data files with statistics, and t.snapshots, t.history, t.files and t.refs."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.transforms import IdentityTransform

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.json_rows import partition_format_to_text
from sharkpy.catalog.model import StorageFormat
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import MICROS_PER_DAY, Domain, DomainValue, domain_of
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.lake.deleted_rows import EQUALITY, POSITIONS, PUFFIN, Deletes
from sharkpy.sources.lake.iceberg.manifests import LiveFile, live_files
from sharkpy.sources.lake.iceberg.metadata_files import LakeIO
from sharkpy.sources.lake.iceberg.schemas import partition_text
from sharkpy.sources.lake.lake_table import LakeFiles, LakeTable, Row, Rows, may_be_outside, metadata_table, moment_of
from sharkpy.sources.lake.parquet_files import FileFacts
from sharkpy.sources.layout import NEVER_MODIFIED, DataFile
from sharkpy.values import types as t
from sharkpy.values.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, Field, MapType, Schema

_SHORT = 4
_INT64 = range(-(1 << 63), 1 << 63)


def list_data_files(
    handle: IcebergHandle,
    snapshot_id: int | None,
    columns: tuple[IcebergSchema, t.Schema],
    storage: StorageFormat,
    location: str,
) -> LakeFiles:
    """Files of a snapshot. UnsupportedError for files of another format than Parquet."""
    schema, hive = columns
    place = _Place(handle, location)
    found, lists = ([], []) if snapshot_id is None else live_files(handle, snapshot_id)
    files: list[DataFile] = []
    statistics: list[BlockStatistics] = []
    for one in checked(found):
        facts = place.facts(one, schema)
        form = partition_format_to_text(facts.form(storage), None)
        path = place.path(one.file.file_path)
        access = place.access_id(path, [delete.path for delete in facts.deletes])
        files.append(DataFile(path, one.file.file_size_in_bytes, NEVER_MODIFIED, form=form, access=access))
        statistics.append(_statistics(one.file, schema, hive))
    for path in lists:
        place.path(path)
    return LakeFiles(tuple(files), StatisticsTable.of(hive, statistics), tuple(place.outside))


class _Place:
    """Locations of a table's files, and the accesses to them. `outside`: see `LakeFiles`; local files only, since
    remote files are protected by their accesses.
    """

    def __init__(self, handle: IcebergHandle, location: str) -> None:
        self.outside: list[str] = []
        self._handle = handle
        self._io: LakeIO = handle.io
        self._location = location
        self._accesses: dict[str, str] = {}
        self._ids = {field.field_id for schema in handle.schemas().values() for field in schema.fields}

    def path(self, location: str) -> str:
        path = self._io.path(location)
        if not uri.is_remote(path) and may_be_outside(path, self._location):
            self.outside.append(path)
        return path

    def access_id(self, path: str, deletes: Sequence[str]) -> str:
        """Id of the access to a file, which has to work for its delete files, too."""
        if not uri.is_remote(path):
            return ""
        folder = uri.parent(path)
        if folder not in self._accesses:
            self._accesses[folder] = self._io.access_id(path)
        access = self._accesses[folder]
        if any(self._io.access_id(one) != access for one in deletes):
            raise UnsupportedError(f'deletes of "{uri.redacted(path)}" in storage that other keys open')
        return access

    def facts(self, one: LiveFile, schema: IcebergSchema) -> FileFacts:
        file = one.file
        if file.file_format != FileFormat.PARQUET:
            raise UnsupportedError(f'the format {file.file_format.value} of "{file.file_path}" in a table of Iceberg')
        deletes = tuple(sorted(map(self._deletes, one.deletes), key=lambda found: found.path))
        return FileFacts(file.file_path, deletes, _values(self._handle, file, schema))

    def _deletes(self, file: Any) -> Deletes:
        path, form = self.path(file.file_path), file.file_format
        is_equality = file.content == DataFileContent.EQUALITY_DELETES
        if form != FileFormat.PARQUET and (is_equality or form != FileFormat.PUFFIN):
            raise UnsupportedError(f'deletes in the format {form.value}, "{file.file_path}"')
        if not is_equality:
            return Deletes(PUFFIN if form == FileFormat.PUFFIN else POSITIONS, path)
        ids = tuple(file.equality_ids or ())
        if not ids or not self._ids.issuperset(ids):
            raise UnsupportedError(f'deletes by equality of parts of columns, "{file.file_path}"')
        return Deletes(EQUALITY, path, ids)


def _values(handle: IcebergHandle, file: Any, schema: IcebergSchema) -> tuple[tuple[str, str | None], ...]:
    """Values of partition columns that are not in the file, as in tables converted from Hive."""
    spec = handle.specs()[file.spec_id]
    stored = file.value_counts or file.column_sizes or {}
    found: list[tuple[str, str | None]] = []
    for place, field in enumerate(spec.fields):
        if not isinstance(field.transform, IdentityTransform) or field.source_id in stored:
            continue
        column = next((one for one in schema.fields if one.field_id == field.source_id), None)
        if column is not None:
            found.append((column.name.lower(), partition_text(file.partition[place], column.field_type)))
    return tuple(found)


def _statistics(file: Any, schema: IcebergSchema, hive: t.Schema) -> BlockStatistics:
    pairs = zip(schema.fields, hive, strict=True)
    return BlockStatistics(
        file.record_count, tuple((field.name, _column(file, one.field_id, field.dtype)) for one, field in pairs)
    )


def _column(file: Any, field_id: int, dtype: t.DataType) -> ColumnStatistics:
    nulls = (file.null_value_counts or {}).get(field_id)
    if nulls is None:
        # It may have NULLs and values.
        return ColumnStatistics(dtype, file.record_count + 1, 1, exact=False)
    is_float = domain_of(dtype) is Domain.FLOAT
    has_nan = is_float and (file.nan_value_counts or {}).get(field_id) != 0
    low, high = (_bound(found, field_id, dtype) for found in (file.lower_bounds, file.upper_bounds))
    if low is None or high is None:
        low = high = None
    return ColumnStatistics(dtype, file.record_count, nulls, low, high, exact=False, has_nan=has_nan)


def _bound(bounds: dict[int, bytes] | None, field_id: int, dtype: t.DataType) -> DomainValue | None:
    """Bound in Iceberg's single-value encoding. It may be shorter if the column had another type before."""
    stored = (bounds or {}).get(field_id)
    if stored is None:
        return None
    match domain_of(dtype):
        case Domain.BYTES:
            return stored
        case Domain.FLOAT:
            return float(struct.unpack("<f" if len(stored) == _SHORT else "<d", stored)[0])
        case Domain.INTEGER if isinstance(dtype, t.DecimalType):
            number = int.from_bytes(stored, "big", signed=True)
            return number if number in _INT64 else None
        case Domain.INTEGER:
            number = int.from_bytes(stored, "little", signed=dtype != t.BOOLEAN)
            is_days = dtype == t.TIMESTAMP and len(stored) == _SHORT
            return number * MICROS_PER_DAY if is_days else number
    return None


_SNAPSHOTS = Schema(
    (
        Field("committed_at", TIMESTAMP, "when it was committed, in UTC"),
        Field("snapshot_id", BIGINT),
        Field("parent_id", BIGINT),
        Field("operation", STRING),
        Field("manifest_list", STRING),
        Field("summary", MapType(STRING, STRING)),
    )
)
_HISTORY = Schema(
    (
        Field("made_current_at", TIMESTAMP, "in UTC"),
        Field("snapshot_id", BIGINT),
        Field("parent_id", BIGINT),
        Field("is_current_ancestor", BOOLEAN),
    )
)
_FILES = Schema(
    (
        Field("content", INT, "0: rows, 1: deletes by position, 2: deletes by equality"),
        Field("file_path", STRING),
        Field("file_format", STRING),
        Field("spec_id", INT),
        Field("record_count", BIGINT),
        Field("file_size_in_bytes", BIGINT),
    )
)
_REFS = Schema((Field("name", STRING), Field("type", STRING), Field("snapshot_id", BIGINT)))


def iceberg_metadata_table(table: LakeTable, what: str) -> SystemTable:
    schema, rows = _FACTS[what]
    return metadata_table(table, what, schema, rows)


def _snapshots(table: LakeTable) -> Iterator[Row]:
    for one in table.handle.metadata.snapshots:
        summary = one.summary
        operation = None if summary is None else summary.operation.value
        figures = {} if summary is None else dict(summary.additional_properties)
        moment = moment_of(one.timestamp_ms)
        yield moment, one.snapshot_id, one.parent_snapshot_id, operation, one.manifest_list, list(figures.items())


def _history(table: LakeTable) -> Iterator[Row]:
    metadata = table.handle.metadata
    known = {one.snapshot_id: one.parent_snapshot_id for one in metadata.snapshots}
    ancestors, current = set(), metadata.current_snapshot_id
    while current is not None and current not in ancestors:
        ancestors.add(current)
        current = known.get(current)
    for entry in metadata.snapshot_log:
        number = entry.snapshot_id
        yield moment_of(entry.timestamp_ms), number, known.get(number), number in ancestors


def _files(table: LakeTable) -> Iterator[Row]:
    """Files of the table's snapshot, with the delete files."""
    if table.snapshot.number is None:
        return
    seen = set()
    for one in live_files(table.handle, table.snapshot.number)[0]:
        for file in (one.file, *one.deletes):
            if file.file_path not in seen:
                seen.add(file.file_path)
                form, size = file.file_format.value, file.file_size_in_bytes
                yield int(file.content), file.file_path, form, file.spec_id, file.record_count, size


def _refs(table: LakeTable) -> Iterator[Row]:
    for name, ref in table.handle.metadata.refs.items():
        yield name, ref.snapshot_ref_type.value.upper(), ref.snapshot_id


_FACTS: dict[str, tuple[Schema, Rows]] = {
    "snapshots": (_SNAPSHOTS, _snapshots),
    "history": (_HISTORY, _history),
    "files": (_FILES, _files),
    "refs": (_REFS, _refs),
}
