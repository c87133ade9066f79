"""Commits of new files to a Delta table."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Sequence
from typing import Any, Literal

import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled
from sharkpy.base.errors import ExecutionError, InternalError
from sharkpy.catalog.lake_tables import NewFile
from sharkpy.sources.failures import first_line
from sharkpy.sources.lake.delta.history import versions
from sharkpy.sources.lake.delta.place import DeltaPlace
from sharkpy.sources.lake.new_files import footer_of
from sharkpy.sources.side_by_side import side_by_side

_MARK = "sharkpy.write"
"""Entry of a commit with the id of the write that made it."""
_LOOKED_AT = 50
"""Number of recent commits in which a mark is looked up."""
_MOST_TEXT = 32
"""Longest text, in characters, that is stored as a bound in the log."""


def commit_files(
    handle: DeltaTable, place: DeltaPlace, files: Sequence[NewFile], *, overwrite: bool, is_unchanged: bool
) -> None:
    """Add files to the table, or replace all its files by them.

    ExecutionError 40003 if it is not known whether they count; with any other error they do not.
    """
    columns = handle.metadata().partition_columns
    actions = side_by_side(lambda file: _action(file, place, columns), files)
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


def _is_counted(handle: DeltaTable, place: DeltaPlace, mark: str, error: Exception) -> bool:
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


def _action(file: NewFile, place: DeltaPlace, columns: Sequence[str]) -> AddAction:
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
