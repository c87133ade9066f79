"""LOAD DATA [LOCAL] INPATH."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from pathlib import Path

from sharkpy.base.errors import BindError, SourceError
from sharkpy.catalog.local_path import local_path
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.store import new_table_id
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.insert import insert
from sharkpy.execution.commands.partition_spec import spec_name
from sharkpy.execution.commands.storage import check_named_files
from sharkpy.execution.commands.writes.publish import StagedWrite, discarding, publish
from sharkpy.execution.commands.writes.staging import discard_staging, table_staging
from sharkpy.execution.commands.writes.table_files import TableFiles, target_folder
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.plan.commands import Insert, LoadData
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Scan
from sharkpy.sources import layout
from sharkpy.sources.failures import io_error
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.values.types import Schema


def load_data(command: LoadData, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Load the files of a path, or their rows; afterwards files that are not LOCAL are gone from there."""
    table = command.table
    if table.is_view or table.location is None:
        raise BindError(f'LOAD DATA into "{table.name}", which has no files', sqlstate="42809")
    session.restrictions.check_path(command.path)
    sources = source_files(command.path)
    for path in sources:
        session.restrictions.check_path(path)
    if not command.is_local:
        _require_unowned(sources, session)
    if command.storage is not None:
        check_named_files(command.storage.properties, session)
    if command.is_insert:
        _insert_rows(command, sources, session, snapshot)
    else:
        _take_files(command, sources, session)
    if not command.is_local:
        _remove(sources)
    return NOTHING


def _require_unowned(sources: Sequence[str], session: EngineSession) -> None:
    """BindError if files that are about to be moved belong to a managed table."""
    folders = TableFolders(session.catalog)
    for folder in dict.fromkeys(str(Path(path).parent) for path in sources):
        if (owner := folders.lies_in(folder)) is not None:
            message = f'LOAD DATA would take files of {owner.owner} out of "{folder}"'
            raise BindError(message, hint="LOAD DATA LOCAL copies files", sqlstate="42809")


def _insert_rows(command: LoadData, sources: Sequence[str], session: EngineSession, snapshot: QuerySnapshot) -> None:
    """Insert the rows of files, as a table for this statement whose last columns are partition columns without a
    value.
    """
    table = command.table
    given = {name for name, value in command.partition if value is not None}
    schema = Schema(tuple(field for field in table.schema if field.name not in given))
    folder = table_staging(table, target_folder(table, session), session)
    try:
        for path in sources:
            Path(_free_name(folder, Path(path).name)).symlink_to(path)
        kind, storage = TableKind.EXTERNAL, command.storage or table.storage
        files = Table(new_table_id(), table.database, "loaded", kind, schema, storage, folder)
        columns = tuple(ColumnRef(number, field.name, field.dtype) for number, field in enumerate(schema, start=1))
        rows = Scan(files, columns, schema.names)
        insert(Insert(table, rows, command.overwrite, command.partition), session, snapshot)
    except OSError as error:
        raise io_error(error, command.path) from None
    finally:
        discard_staging(folder, session)


def _take_files(command: LoadData, sources: Sequence[str], session: EngineSession) -> None:
    """Take files over: copied if LOCAL, else linked or copied aside, put in place by one rename, then unlinked."""
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
        try:
            folder = table_folder(location).staged_subfolder(staging, partition)
            for path in sources:
                _place(path, _free_name(folder, Path(path).name), may_link=not command.is_local)
        except OSError as error:
            raise io_error(error, command.path) from None
        publish([write], session.catalog)


def source_files(path: str) -> list[str]:
    """Data files that a path, folder or pattern names; SourceError 58P01 if there are none."""
    local = local_path(path)
    places = [local] if Path(local).exists() else _glob(local)
    if not places:
        raise SourceError(f'file or folder "{local}" does not exist', sqlstate="58P01")
    found = [file.path for place in places for file in layout.list_data_files(place)]
    if not found:
        raise SourceError(f'folder "{local}" has no data files', sqlstate="58P01")
    for file in found:
        layout.require_readable(file)
    return found


def _glob(pattern: str) -> list[str]:
    root = Path(pattern).anchor
    return sorted(str(path) for path in Path(root).glob(str(Path(pattern).relative_to(root))))


def _place(source: str, target: str, may_link: bool) -> None:
    if may_link:
        try:
            Path(target).hardlink_to(source)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
                raise
        else:
            return
    shutil.copyfile(source, target)


def _free_name(folder: str, name: str) -> str:
    target, number = Path(folder, name), 0
    while target.exists():
        number += 1
        target = Path(folder, f"{Path(name).stem}_{number}{Path(name).suffix}")
    return str(target)


def _remove(paths: list[str]) -> None:
    for path in paths:
        try:
            Path(path).unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise io_error(error, path) from None
