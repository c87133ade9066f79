"""Data files of a snapshot of Iceberg's, with the figures that its manifests have of them."""

from __future__ import annotations

import struct
from typing import Any

from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.transforms import IdentityTransform

from sharkpy.base.cancellation import checked
from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.lake_tables import lake_path
from sharkpy.catalog.model import StorageFormat
from sharkpy.catalog.serialize import form_to_text
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import MICROS_PER_DAY, Domain, DomainValue, domain_of
from sharkpy.columnar.statistics import StatisticsTable
from sharkpy.sources.lake.deleted_rows import POSITIONS, PUFFIN, Deletes
from sharkpy.sources.lake.iceberg.values import partition_text
from sharkpy.sources.lake.lake_table import LakeFiles, may_be_outside
from sharkpy.sources.lake.parquet_files import FileFacts
from sharkpy.sources.layout import NEVER_MODIFIED, DataFile
from sharkpy.values import types as t

_SHORT = 4
_INT64 = range(-(1 << 63), 1 << 63)


def listed(
    handle: IcebergHandle,
    snapshot_id: int | None,
    columns: tuple[IcebergSchema, t.Schema],
    storage: StorageFormat,
    location: str,
) -> LakeFiles:
    """Files of a snapshot. UnsupportedError for files of another format than Parquet, and for equality deletes."""
    schema, hive = columns
    files: list[DataFile] = []
    statistics: list[BlockStatistics] = []
    paths: list[str] = []
    tasks = () if snapshot_id is None else _planned(handle, snapshot_id)
    for task in checked(tasks):
        facts = _facts(handle, task, schema)
        form = form_to_text(facts.form(storage), None)
        path = lake_path(task.file.file_path)
        files.append(DataFile(path, task.file.file_size_in_bytes, NEVER_MODIFIED, form=form))
        statistics.append(_statistics(task.file, schema, hive))
        paths += [path, *(one.path for one in facts.deletes)]
    paths += _metadata_paths(handle, snapshot_id)
    outside = tuple(path for path in paths if may_be_outside(path, location))
    return LakeFiles(tuple(files), StatisticsTable.of(hive, statistics), outside)


def _metadata_paths(handle: IcebergHandle, snapshot_id: int | None) -> list[str]:
    """The lists that name the files of a snapshot."""
    snapshot = None if snapshot_id is None else handle.metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        return []
    return [
        lake_path(path)
        for path in (snapshot.manifest_list, *(one.manifest_path for one in snapshot.manifests(handle.io)))
    ]


def _planned(handle: IcebergHandle, snapshot_id: int) -> Any:
    try:
        return handle.scan(snapshot_id=snapshot_id).plan_files()
    except (ValueError, NotImplementedError) as error:
        if "quality delete" not in str(error):
            raise
        message = f"equality deletes, which {'.'.join(handle.name())} of Iceberg has"
        raise UnsupportedError(message, hint="rewrite its data files") from None


def _facts(handle: IcebergHandle, task: Any, schema: IcebergSchema) -> FileFacts:
    file = task.file
    if file.file_format != FileFormat.PARQUET:
        raise UnsupportedError(f'the format {file.file_format.value} of "{file.file_path}" in a table of Iceberg')
    deletes = tuple(sorted((_deletes(one) for one in task.delete_files), key=lambda one: one.path))
    return FileFacts(file.file_path, deletes, _values(handle, file, schema))


def _deletes(file: Any) -> Deletes:
    if file.file_format not in (FileFormat.PARQUET, FileFormat.PUFFIN):
        raise UnsupportedError(f'deletes in the format {file.file_format.value}, "{file.file_path}"')
    kind = PUFFIN if file.file_format == FileFormat.PUFFIN else POSITIONS
    return Deletes(kind, lake_path(file.file_path))


def _values(handle: IcebergHandle, file: Any, schema: IcebergSchema) -> tuple[tuple[str, str | None], ...]:
    """Columns that are in no file because it is divided by them, as in tables that once were Hive's."""
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
        # It may have NULLs, and values too.
        return ColumnStatistics(dtype, file.record_count + 1, 1, exact=False)
    is_float = domain_of(dtype) is Domain.FLOAT
    has_nan = is_float and (file.nan_value_counts or {}).get(field_id) != 0
    low, high = (_bound(found, field_id, dtype) for found in (file.lower_bounds, file.upper_bounds))
    if low is None or high is None:
        low = high = None
    return ColumnStatistics(dtype, file.record_count, nulls, low, high, exact=False, has_nan=has_nan)


def _bound(bounds: dict[int, bytes] | None, field_id: int, dtype: t.DataType) -> DomainValue | None:
    """A bound by Iceberg's form of single values; that of an earlier type of the column may be shorter."""
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
