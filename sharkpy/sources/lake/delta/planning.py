"""Data files of a version of a Delta table, with the statistics of its log."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.catalog.json_rows import partition_format_to_text
from sharkpy.catalog.lake_tables import lake_path
from sharkpy.catalog.model import StorageFormat
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of, to_domain
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.lake.deleted_rows import Deletes, inline
from sharkpy.sources.lake.delta.place import DeltaPlace
from sharkpy.sources.lake.lake_table import LakeFiles, may_be_outside
from sharkpy.sources.lake.parquet_files import FileFacts
from sharkpy.sources.layout import NEVER_MODIFIED, DataFile
from sharkpy.values import types as t

_INT64 = range(-(1 << 63), 1 << 63)
_MOST_DELETED = 1_000_000
_CUT = 999
"""Microseconds by which a highest timestamp may be above the log's value, which has milliseconds."""
Row = Mapping[str, Any]


def listed(handle: DeltaTable, place: DeltaPlace, hive: t.Schema, storage: StorageFormat, location: str) -> LakeFiles:
    names = {field.name.lower(): field.name for field in handle.schema().fields}
    divided = [name.lower() for name in handle.metadata().partition_columns]
    files: list[DataFile] = []
    statistics: list[BlockStatistics] = []
    deletes = place.asked(lambda: _deletes(handle))
    actions = place.asked(lambda: pa.table(handle.get_add_actions(flatten=True)))
    accesses: dict[str, str] = {}
    for row in checked(actions.to_pylist()):
        values = tuple((name, partition_text(row.get(f"partition.{names[name]}"))) for name in divided)
        path = _path(row["path"], location)
        folder = uri.parent(path)
        if folder not in accesses:
            accesses[folder] = place.file_access(path)
        form = partition_format_to_text(FileFacts(path, deletes.get(path, ()), values).form(storage), None)
        files.append(DataFile(path, row["size_bytes"], NEVER_MODIFIED, form=form, access=accesses[folder]))
        columns = tuple(
            (
                field.name,
                _divided(row, names[field.name], field.dtype)
                if field.name in divided
                else _column(row, names[field.name], field.dtype),
            )
            for field in hive
        )
        statistics.append(BlockStatistics(max(row.get("num_records") or 0, 1), columns))
    if unknown := deletes.keys() - {file.path for file in files}:
        raise SourceError(f'deleted rows of "{min(unknown)}", which is no file of the table')
    outside = tuple(file.path for file in files if not file.access and may_be_outside(file.path, location))
    return LakeFiles(tuple(files), StatisticsTable.of(hive, statistics), outside)


def _deletes(handle: DeltaTable) -> dict[str, tuple[Deletes, ...]]:
    """Rows of files that their deletion vectors remove, by path. UnsupportedError if there are very many, since plans
    contain them.
    """
    if "deletionVectors" not in (handle.protocol().reader_features or ()):
        return {}
    found: dict[str, tuple[Deletes, ...]] = {}
    count = 0
    for batch in pa.RecordBatchReader.from_stream(handle.deletion_vectors()):
        vectors: Any = batch.column("selection_vector")
        paths: Any = batch.column("filepath")
        for path, kept in zip(paths, vectors, strict=True):
            rows = np.flatnonzero(~kept.values.to_numpy(zero_copy_only=False)).astype(np.int64)
            count += len(rows)
            if count > _MOST_DELETED:
                raise UnsupportedError(f"deletion vectors of more than {_MOST_DELETED:,} rows in a table of Delta")
            found[lake_path(unquote(path.as_py()))] = (inline(rows),)
    return found


def _path(written: str, location: str) -> str:
    """Path of a file that the log names relative to the table, or as a URI."""
    path = unquote(written)
    return lake_path(path) if path.startswith("/") or uri.scheme_of(path) else uri.join(location, path)


def partition_text(value: Any) -> str | None:
    """Text of a value, the same as CAST to STRING."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case bytes():
            # Writers use different encodings for it in the log.
            raise UnsupportedError("a table of Delta that is divided by a binary column")
        case datetime.datetime():
            return str(value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value)
    return str(value)


def _divided(row: Row, name: str, dtype: t.DataType) -> ColumnStatistics:
    """Statistics of a partition column, which has one value in the whole file."""
    count, value = max(row.get("num_records") or 0, 1), row.get(f"partition.{name}")
    if value is None:
        return ColumnStatistics(dtype, count, count)
    bound = _bound(value, dtype)
    return ColumnStatistics(dtype, count, 0, bound, bound, exact=False, has_nan=domain_of(dtype) is Domain.FLOAT)


def _column(row: Row, name: str, dtype: t.DataType) -> ColumnStatistics:
    nulls, count = row.get(f"null_count.{name}"), row.get("num_records")
    if not isinstance(nulls, int) or count is None:
        # It may have NULLs and values.
        return ColumnStatistics(dtype, 2, 1, exact=False)
    low, high = _bound(row.get(f"min.{name}"), dtype), _bound(row.get(f"max.{name}"), dtype)
    if low is None or high is None:
        low = high = None
    elif dtype == t.TIMESTAMP and isinstance(high, int):
        high += _CUT
    return ColumnStatistics(dtype, count, nulls, low, high, exact=False, has_nan=domain_of(dtype) is Domain.FLOAT)


def _bound(value: Any, dtype: t.DataType) -> DomainValue | None:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    found = None if value is None else to_domain(value, dtype)
    if isinstance(found, int):
        return found if found in _INT64 else None
    return found if isinstance(found, float | bytes) else None
