"""Data files of a Delta table: listed with the statistics of its log, and committed."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled, checked
from sharkpy.base.errors import ExecutionError, InternalError, SourceError, UnsupportedError
from sharkpy.catalog.json_rows import partition_format_to_text
from sharkpy.catalog.lake_tables import NewFile, lake_path
from sharkpy.catalog.model import StorageFormat
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of, to_domain
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.file_errors import first_line
from sharkpy.sources.lake.deleted_rows import Deletes, inline
from sharkpy.sources.lake.delta_log import DeltaFolder, versions
from sharkpy.sources.lake.lake_table import LakeFiles, may_be_outside
from sharkpy.sources.lake.parquet_files import FileFacts, footer_of
from sharkpy.sources.layout import NEVER_MODIFIED, DataFile
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.values import types as t

_INT64 = range(-(1 << 63), 1 << 63)
_MOST_DELETED = 1_000_000
_CUT = 999
"""Microseconds by which a highest timestamp may be above the log's value, which has milliseconds."""
Row = Mapping[str, Any]


def list_data_files(
    handle: DeltaTable, place: DeltaFolder, hive: t.Schema, storage: StorageFormat, location: str
) -> LakeFiles:
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
        raise SourceError(f'deleted rows of "{min(unknown)}", which is not a file of the table')
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


_MARK = "sharkpy.write"
"""Entry of a commit with the id of the write that made it."""
_LOOKED_AT = 50
"""Number of recent commits in which a mark is looked up."""
_MOST_TEXT = 32
"""Longest text, in characters, that is stored as a bound in the log."""


def commit_files(
    handle: DeltaTable, place: DeltaFolder, files: Sequence[NewFile], *, overwrite: bool, is_unchanged: bool
) -> None:
    """Add files to the table, or replace all its files by them.

    ExecutionError 40003 if it is not known whether they count; with any other error they do not.
    """
    columns = handle.metadata().partition_columns
    actions = parallel_map(lambda file: _action(file, place, columns), files)
    mark = uuid.uuid4().hex
    retries = 0 if is_unchanged else None
    properties = CommitProperties(custom_metadata={_MARK: mark}, max_commit_retries=retries)
    mode: Literal["overwrite", "append"] = "overwrite" if overwrite else "append"
    schema = handle.schema()
    check_cancelled()
    try:
        place.changed(
            lambda: handle.create_write_transaction(
                actions, mode, schema, partition_by=columns, commit_properties=properties
            )
        )
    except Exception as error:
        if not _is_counted(handle, place, mark, error):
            raise


def _is_counted(handle: DeltaTable, place: DeltaFolder, mark: str, error: Exception) -> bool:
    """True if the write with a mark counts after its commit has failed. ExecutionError 40003 if that is not known."""
    try:
        with Cancellation().active():
            is_counted = any(one.get(_MARK) == mark for one in versions(handle, place, _LOOKED_AT))
    except Exception:  # noqa: BLE001 - the storage does not answer
        is_counted = None
    # A failed local commit has ended and cannot take effect later.
    is_over = isinstance(error, CommitFailedError) or not place.is_remote
    if is_counted or (is_counted is not None and is_over):
        return is_counted
    name = uri.redacted(place.location)
    message = f'whether the rows have come to count in "{name}" is not known: {first_line(error)}'
    raise ExecutionError(message, hint=f"they do if a commit has {_MARK} = {mark}", sqlstate="40003") from None


def _action(file: NewFile, place: DeltaFolder, columns: Sequence[str]) -> AddAction:
    path = uri.below(file.path, place.location)
    if path is None:
        raise InternalError(f'"{file.path}" is not in the folder of its table')
    metadata, modified_ns = footer_of(file.path, place.file_access(file.path))
    values = {name: value or None for name, value in zip(columns, file.values, strict=True)}
    # The library encodes the path for the log.
    return AddAction(path, file.size_bytes, values, modified_ns // 1_000_000, True, json.dumps(_statistics(metadata)))


def _statistics(metadata: pq.FileMetaData) -> dict[str, Any]:
    """Statistics of the columns that are not structs, from the file's own."""
    nulls: dict[str, int] = {}
    bounds: dict[str, list[Any]] = {}
    unknown: set[str] = set()
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(row_group.num_columns):
            chunk = row_group.column(place)
            name, found = chunk.path_in_schema, chunk.statistics
            if "." in name or found is None or found.null_count is None:
                unknown.add(name)
                continue
            nulls[name] = nulls.get(name, 0) + found.null_count
            if found.has_min_max:
                bounds.setdefault(name, []).extend((found.min, found.max))
            elif found.null_count < row_group.num_rows:
                unknown.add(name)
    known = {name: values for name, values in bounds.items() if name not in unknown and all(map(_is_bound, values))}
    return {
        "numRecords": metadata.num_rows,
        "minValues": {name: _stored(min(values)) for name, values in known.items()},
        "maxValues": {name: _stored(max(values)) for name, values in known.items()},
        "nullCount": {name: count for name, count in nulls.items() if name not in unknown},
    }


def _is_bound(value: Any) -> bool:
    is_text = isinstance(value, str) and len(value) <= _MOST_TEXT
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_text or is_number or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime))


def _stored(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value
