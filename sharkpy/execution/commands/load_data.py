"""LOAD DATA [LOCAL] INPATH."""

from __future__ import annotations

import errno
import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError, SharkError, SourceError, UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.insert import insert
from sharkpy.execution.commands.partition_spec import spec_name
from sharkpy.execution.commands.storage import check_named_files
from sharkpy.execution.commands.writes.staged_write import StagedWrite, discarding, folder_at, publish, table_staging
from sharkpy.execution.commands.writes.table_files import TableFiles, target_folder
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.plan.commands import Insert, LoadData
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Scan
from sharkpy.sources import layout
from sharkpy.sources.copied_files import copy_files, delete_unchanged
from sharkpy.sources.file_errors import io_error, missing
from sharkpy.sources.folders.logged_folder import files_in
from sharkpy.sources.formats import check_format
from sharkpy.sources.layout import DataFile
from sharkpy.sources.named_files import FileTable, NamedFiles, is_pattern
from sharkpy.sources.open_files import store_for_access, store_of_file
from sharkpy.sources.path_pattern import local_matches, local_parts
from sharkpy.sources.remote_files import is_file, matching_files, remote_files
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.catalog.file_log import FileLog

_NOT_LINKED = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)


def load_data(command: LoadData, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Load the files of a path, or insert their rows. Files that are not LOCAL are then deleted from the path."""
    table = command.table
    if table.is_view or table.location is None:
        raise BindError(f'LOAD DATA into "{table.name}", which has no files', sqlstate="42809")
    sources = source_files(command.path, session)
    if not command.is_local:
        _require_movable(sources, session)
    if command.storage is not None:
        check_named_files(command.storage.properties, session)
    if command.is_insert:
        _insert_rows(command, sources, session, snapshot)
    else:
        check_format(sources, table.storage.name)
        _take_files(command, sources, session)
    if not command.is_local:
        _remove(sources, table)
    return NOTHING


def _require_movable(sources: Sequence[DataFile], session: EngineSession) -> None:
    """Check that the source files may be moved.

    Raise BindError if they belong to a managed table, UnsupportedError if their store cannot delete them.
    """
    if any(not store_of_file(file).traits.writes for file in sources):
        hint = "LOAD DATA LOCAL copies files"
        raise UnsupportedError(
            f'"{uri.redacted(sources[0].path)}" cannot be moved, since it cannot be deleted there', hint=hint
        )
    folders = TableFolders(session.catalog)
    for folder in dict.fromkeys(uri.parent(file.path) for file in sources):
        if (owner := folders.owner_at(folder)) is not None:
            message = f'LOAD DATA would take files of {owner.owner} out of "{folder}"'
            raise BindError(message, hint="LOAD DATA LOCAL copies files", sqlstate="42809")


def _insert_rows(
    command: LoadData, sources: Sequence[DataFile], session: EngineSession, snapshot: QuerySnapshot
) -> None:
    """Insert the rows of files, read as a temporary external table.

    Partition columns without a given value are its last columns.
    """
    table = command.table
    given = {name for name, value in command.partition if value is not None}
    schema = Schema(tuple(field for field in table.schema if field.name not in given))
    # Each file was checked separately; their folder need not be allowed.
    named = NamedFiles(sources[0].path, tuple(sources))
    kind, storage = TableKind.EXTERNAL, command.storage or table.storage
    files = FileTable(new_table_id(), table.database, "loaded", kind, schema, storage, named.root, named=named)
    columns = tuple(ColumnRef(number, field.name, field.dtype) for number, field in enumerate(schema, start=1))
    rows = Scan(files, columns, schema.names)
    insert(Insert(table, rows, command.overwrite, command.partition), session, snapshot)


def _take_files(command: LoadData, sources: Sequence[DataFile], session: EngineSession) -> None:
    """Add the files to the table atomically: local files to be moved are hard-linked, other files are copied."""
    table = command.table
    partition = spec_name(table, command.partition, session)
    location = target_folder(table, session, overwrite=command.overwrite and not partition)
    staging = table_staging(table, location, session)
    write: StagedWrite
    if partition:
        write = TablePartitions(table, staging, [partition], command.overwrite, session)
    else:
        write = TableFiles(table, location, staging, command.overwrite, session)
    with discarding([write]):
        folder = folder_at(location, session).staged_subfolder(staging, partition)
        access_id = session.catalog.access_id(location)
        targets = [uri.join(folder, name) for name in _free_names(sources)]
        copies = zip(sources, targets, strict=True)
        copy_files([one for one in copies if command.is_local or not _is_linked(*one, access_id)], access_id)
        publish([write], session.catalog)


def source_files(path: str, session: EngineSession) -> list[DataFile]:
    """Return the data files that a path, folder or pattern names.

    Raise SourceError 58P01 if there are none, NotAllowedError if the session's statements may not name one.
    """
    access_id = session.catalog.named_access_id(path)
    if uri.is_remote(path):
        found = _remote_sources(path, access_id)
    else:
        found = _local_sources(local_path(path), session.catalog.log)
        for file in found:
            session.restrictions.check_path(file.path)
    if not found:
        raise SourceError(f'folder "{uri.redacted(path)}" has no data files', sqlstate="58P01")
    return found


def _remote_sources(path: str, access_id: str) -> list[DataFile]:
    if is_pattern(path) and not is_file(path, access_id):
        return matching_files(path, access_id)[1]
    return remote_files(path.rstrip("/"), access_id)


def _local_sources(path: str, log: FileLog) -> list[DataFile]:
    places = [path] if Path(path).exists() else _matches(path)
    if not places:
        raise missing(path)
    found = [file for place in places for file in files_in(place, log)]
    for file in found:
        layout.require_readable(file.path)
    return found


def _matches(path: str) -> list[str]:
    return sorted(local_matches(*local_parts(path))) if glob.has_magic(path) else []


def _is_linked(source: DataFile, target: str, access_id: str) -> bool:
    """Hard-link a local file to a local target; return False if the system cannot."""
    if not (store_of_file(source).traits.is_local and store_for_access(target, access_id).traits.is_local):
        return False
    try:
        Path(target).hardlink_to(source.path)
    except OSError as error:
        if error.errno not in _NOT_LINKED:
            raise io_error(error, source.path) from None
        return False
    return True


def _free_names(sources: Sequence[DataFile]) -> list[str]:
    """Return distinct names for the files in one folder. Leading `_` and `.` are removed, which would hide files."""
    taken: dict[str, None] = {}
    for file in sources:
        first = name = uri.name_of(file.path).lstrip("_.") or "file"
        number = 0
        while name in taken:
            number += 1
            name = f"{Path(first).stem}_{number}{Path(first).suffix}"
        taken[name] = None
    return list(taken)


def _remove(sources: Sequence[DataFile], table: Table) -> None:
    try:
        delete_unchanged(sources)
    except SharkError as error:
        message = (
            f"the files were loaded into {table.qualified_name}, but some could not be deleted from their old place"
        )
        raise SourceError(
            f"{message}: {error.message}", hint="delete the remaining files, do not load them again"
        ) from error
