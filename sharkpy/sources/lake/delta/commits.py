"""Commits of new files to a table of Delta."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.transaction import AddAction

from sharkpy.base import uri
from sharkpy.base.errors import InternalError
from sharkpy.catalog.lake_tables import NewFile
from sharkpy.sources.failures import format_error

_MOST_TEXT = 32
"""Characters of a text that is a bound in the log."""


def commit_files(
    handle: DeltaTable, location: str, files: Sequence[NewFile], *, overwrite: bool, is_unchanged: bool
) -> None:
    """Add files to the table, or put them in the place of all others."""
    columns = handle.metadata().partition_columns
    actions = [_action(file, location, columns) for file in files]
    properties = CommitProperties(max_commit_retries=0) if is_unchanged else None
    handle.create_write_transaction(
        actions,
        "overwrite" if overwrite else "append",
        handle.schema(),
        partition_by=columns,
        commit_properties=properties,
    )


def _action(file: NewFile, location: str, columns: Sequence[str]) -> AddAction:
    path = uri.below(file.path, location)
    if path is None:
        raise InternalError(f'"{file.path}" is not in the folder of its table')
    modified = int(os.stat(file.path).st_mtime * 1000)  # noqa: PTH116
    values = {name: value or None for name, value in zip(columns, file.values, strict=True)}
    return AddAction(quote(path), file.size_bytes, values, modified, True, json.dumps(_statistics(file)))


def _statistics(file: NewFile) -> dict[str, Any]:
    """Figures of the columns that are no structs, by the file's own."""
    try:
        metadata = pq.read_metadata(file.path)
    except (pa.ArrowException, OSError) as error:
        raise format_error(file.path, "Parquet", error) from None
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
