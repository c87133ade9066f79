"""Commits of new files to an Iceberg table, retried if other writers commit at the same time."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Sequence
from typing import Any

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.typedef import Record

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled
from sharkpy.base.errors import ExecutionError, SharkError, TableChangedError
from sharkpy.catalog.lake_tables import NewFile, Replaced
from sharkpy.sources.failures import first_line
from sharkpy.sources.lake.iceberg.live_files import live_files
from sharkpy.sources.lake.iceberg.values import partition_value
from sharkpy.sources.lake.new_files import footer_of
from sharkpy.sources.side_by_side import side_by_side

_MARK = "sharkpy.write"
"""Property of a snapshot with the id of the write that made it."""
_CONFLICTS = (CommitFailedException, ValidationException)
_TRIES = 20
_WAIT = 0.05
_MOST_WAIT = 2.0


def commit_files(
    handle: IcebergHandle, files: Sequence[NewFile], *, replaced: Replaced, expected: int | None, is_unchanged: bool
) -> None:
    """Add files to the current version of the table, or replace files by them.

    TableChangedError if `is_unchanged` is required and the snapshot is not `expected`, if columns or partition fields
    differ from `handle`, or if other writers commit first in every try. ExecutionError 40003 if it is not known whether
    the files count; with any other error they do not.
    """
    mark, form = uuid.uuid4().hex, _form(handle)
    made = side_by_side(lambda one: _data_file(handle, one), files)
    for attempt in range(_TRIES):
        check_cancelled()
        current = handle.refresh() if attempt else handle
        if attempt and _has_written(current, mark):
            return
        head = current.metadata.current_snapshot_id
        if (is_unchanged and head != expected) or _form(current) != form:
            raise TableChangedError(f"{'.'.join(handle.name())} was changed while the statement ran")
        try:
            # Once the commit has begun, cancellation of the statement is ignored: the caller has to learn the result.
            with Cancellation().active():
                _commit(current, made, mark, replaced=replaced)
        except _CONFLICTS:
            # A random wait, so that writers that collided do not collide again.
            time.sleep(random.uniform(0, min(_WAIT * 2**attempt, _MOST_WAIT)))
        else:
            return
    if _has_written(handle.refresh(), mark):
        return
    raise TableChangedError(f"others have changed {'.'.join(handle.name())} each time in {_TRIES} tries to commit")


def _form(handle: IcebergHandle) -> tuple[int, int]:
    """Ids of the columns and partition fields that the files are written for."""
    return handle.schema().schema_id, handle.spec().spec_id


def _has_written(handle: IcebergHandle, mark: str) -> bool:
    """True if a snapshot was made by the write with a mark, although its commit seemed to fail."""
    return any(one.summary is not None and one.summary[_MARK] == mark for one in handle.metadata.snapshots)


def _commit(handle: IcebergHandle, made: Sequence[Any], mark: str, *, replaced: Replaced) -> None:
    """Write a snapshot, and make it the current one."""
    transaction = handle.transaction()
    update = transaction.update_snapshot(snapshot_properties={_MARK: mark})
    gone = _replaced(handle, made, replaced)
    producer: Any = update.overwrite() if gone else update.fast_append()
    # pyiceberg's own retries would not check the table's rows, columns and fields again.
    producer._validate_concurrency = _refuse
    for file in gone:
        producer.delete_data_file(file)
    for file in made:
        producer.append_data_file(file)
    producer.commit()
    try:
        transaction.commit_transaction()
    except _CONFLICTS:
        raise
    except Exception as error:
        if _is_counted(handle, mark, error):
            return
        raise


def _refuse() -> None:
    raise ValidationException("others have changed the table")


def _is_counted(handle: IcebergHandle, mark: str, error: Exception) -> bool:
    """True if the write with a mark counts after its commit has failed. ExecutionError 40003 if that is not known."""
    try:
        is_counted = _has_written(handle.refresh(), mark)
    except Exception:  # noqa: BLE001 - the catalog does not answer
        is_counted = None
    # Errors of the engine's own storage are raised before the catalog gets the commit.
    if is_counted is None or (not is_counted and not isinstance(error, (SharkError, NoSuchTableError))):
        message = f"whether the rows have come to count in {'.'.join(handle.name())} is not known: {first_line(error)}"
        hint = f"they do if a snapshot has {_MARK} = {mark} in its summary"
        raise ExecutionError(message, hint=hint, sqlstate="40003") from None
    return is_counted


def _replaced(handle: IcebergHandle, made: Sequence[Any], replaced: Replaced) -> list[Any]:
    """Files that are replaced. Files that are divided by an earlier spec have no values of the current fields, and
    stay.
    """
    if replaced is Replaced.NOTHING or handle.metadata.current_snapshot_id is None:
        return []
    known = [one.file for one in live_files(handle, handle.metadata.current_snapshot_id)[0]]
    spec = handle.spec()
    if replaced is Replaced.ALL or spec.is_unpartitioned():
        return known
    written = {file.partition for file in made}
    return [file for file in known if file.spec_id == spec.spec_id and file.partition in written]


def _data_file(handle: IcebergHandle, file: NewFile) -> Any:
    """Entry of a new file, with the statistics of its footer."""
    schema, spec = handle.schema(), handle.spec()
    metadata, _ = footer_of(file.path, handle.io.access_id(file.path))
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=metadata,
        stats_columns=compute_statistics_plan(schema, handle.properties),
        parquet_column_mapping=parquet_path_to_id_mapping(schema),
    )
    fields = spec.partition_type(schema).fields
    values = [partition_value(text, one.field_type, one.name) for text, one in zip(file.values, fields, strict=True)]
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=file.path if uri.is_remote(file.path) else f"file://{file.path}",
        file_format=FileFormat.PARQUET,
        partition=Record(*values),
        file_size_in_bytes=file.size_bytes,
        sort_order_id=None,
        spec_id=spec.spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )
