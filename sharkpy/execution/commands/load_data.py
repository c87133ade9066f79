"""LOAD DATA [LOCAL] INPATH."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from sharkpy.commands import LoadData
from sharkpy.errors import BindError, SourceError
from sharkpy.execution.commands.insert import load_new_blocks, table_folder
from sharkpy.execution.commands.partition_spec import spec_name
from sharkpy.execution.commands.partition_writes import publish_partitions
from sharkpy.execution.commands.result import NOTHING, CommandResult
from sharkpy.execution.commands.session import CommandSession
from sharkpy.sources import layout
from sharkpy.sources.failures import io_error


def load_data(command: LoadData, session: CommandSession) -> CommandResult:
    """LOCAL copies files, else they move: linked or copied aside, published by one rename, then unlinked."""
    table = command.table
    if table.is_view or table.location is None:
        raise BindError(f'LOAD DATA into "{table.name}", which has no files', sqlstate="42809")
    session.restrictions.check_path(command.path)
    sources = source_files(command.path)
    for path in sources:
        session.restrictions.check_path(path)
    location = table_folder(table)
    partition = spec_name(table, command.partition, session)
    staging = layout.new_staging(location)
    try:
        folder = str(Path(staging, partition))
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path in sources:
            _place(path, _free_name(folder, Path(path).name), may_link=not command.is_local)
        if partition:
            publish_partitions(table, staging, [partition], command.overwrite, session)
        else:
            layout.publish(staging, location, overwrite=command.overwrite)
    except OSError as error:
        layout.discard_staging(staging)
        raise io_error(error, command.path) from None
    except BaseException:
        layout.discard_staging(staging)
        raise
    if not command.is_local:
        _remove(sources)
    load_new_blocks(table, session)
    return NOTHING


def source_files(path: str) -> list[str]:
    """The data files that a path, folder or pattern names; SourceError 58P01 where there are none."""
    local = layout.local_path(path)
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
