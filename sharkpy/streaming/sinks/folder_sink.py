"""Sink TO FOLDER: files that a continuous query writes for other programs."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableChangedError
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.execution.commands.storage import check_storage, epoch_format
from sharkpy.execution.commands.writes.staged_write import QuietWrite, discard_staging, new_staging
from sharkpy.execution.queries.write_query import write_files
from sharkpy.physical.stage_program import FileSink
from sharkpy.sources import layout, staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.streaming.sinks.remote_folder_sink import RemoteFolderSink, check_remote_folder, forget_remote
from sharkpy.streaming.sinks.sink import SinkType

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.statement import Statement
    from sharkpy.plan.commands import CreateContinuousSink
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.program_sink import Programs
    from sharkpy.streaming.sinks.sink import Sink, SinkEpoch


@dataclass(slots=True)
class FolderWrite(QuietWrite):
    """Write of an epoch's files. A program that takes each file of the folder once gets each row once.

    1. Files wait in a hidden folder of the epoch, which gets its name in the transaction that commits the epoch. Files
       of an attempt that was killed before its commit were never visible, and are deleted.
    2. After the commit the files are renamed into the sink's folder, one by one. If this is interrupted by a kill,
       `show_epochs` completes it later, since the names of the files depend only on the epoch.
    """

    epoch: SinkEpoch
    staging: str
    is_placed: bool = False

    @classmethod
    def begin(cls, epoch: SinkEpoch) -> FolderWrite:
        table = epoch.table
        if os.path.realpath(table.location or "") != table.location:
            # The creator of the sink was allowed to write into that folder, not into the target of a later link.
            raise BindError(f'the folder "{table.location}" of {table.qualified_name} is reached through a link now')
        return cls(epoch, new_staging(str(_waiting(table)), epoch.session))

    @property
    def _folder(self) -> Path:
        return _waiting(self.epoch.table) / str(self.epoch.number)

    def fill(self, statement: Statement) -> None:  # noqa: ARG002  the writer counts the rows
        table = self.epoch.table
        sink = FileSink(table.schema, table.storage.name, table.storage.properties, self.staging)
        write_files(self.epoch.session, self.epoch.command.query, sink, self.epoch.snapshot)

    def prepare(self) -> None:
        try:
            for number, file in enumerate(layout.files_below(self.staging)):
                Path(file.path).rename(Path(self.staging, self.epoch.file_name(number, file.path)))
        except OSError as error:
            raise io_error(error, self.staging) from None
        staged_files.sync_staged(self.staging)

    def place(self) -> None:
        now = self.epoch.session.catalog.streams.find(self.epoch.query.query_id)
        if now is None or now.epoch != self.epoch.query.epoch:
            raise TableChangedError(f"epoch {self.epoch.number} was written by another process, or its sink dropped")
        try:
            for epoch in _epochs(self.epoch.table):
                if epoch > self.epoch.query.epoch:
                    shutil.rmtree(_waiting(self.epoch.table) / str(epoch))
            if layout.files_below(self.staging):
                Path(self.staging).rename(self._folder)
                self.is_placed = True
        except OSError as error:
            raise io_error(error, self.staging) from None
        if self.is_placed:
            staged_files.sync_folders([str(self._folder), str(self._folder.parent)])

    def take_back(self) -> None:
        if self.is_placed:
            self.is_placed = False
            shutil.rmtree(self._folder, ignore_errors=True)

    def clean(self) -> None:
        show_epochs(self.epoch.table, self.epoch.number)

    def discard(self) -> None:
        discard_staging(self.staging, self.epoch.session)


@dataclass(frozen=True, slots=True)
class FolderSink:
    """Sink with a local folder."""

    table: Table

    def catch_up(self, last: int) -> None:
        """Show files that a process left hidden when it was killed after its commit."""
        show_epochs(self.table, last)

    def written(self, query: ContinuousQuery, begun: Callable[[], datetime | None]) -> str | None:  # noqa: ARG002  nothing can be seen before its commit
        return None

    def begin(self, epoch: SinkEpoch) -> FolderWrite:
        return FolderWrite.begin(epoch)

    def close(self) -> None:
        pass


def show_epochs(table: Table, last: int) -> None:
    """Show the files that are still hidden, of all committed epochs: those up to `last`."""
    folder, waiting = Path(table.location or ""), _waiting(table)
    try:
        for epoch in _epochs(table):
            if epoch > last:
                break
            hidden = waiting / str(epoch)
            for name in sorted(os.listdir(hidden)):  # noqa: PTH208  only names are needed
                # Another process may show the same epoch.
                with suppress(FileNotFoundError):
                    (hidden / name).rename(folder / name)
            staged_files.sync_folders([str(folder)])
            with suppress(FileNotFoundError):
                hidden.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        raise io_error(error, str(folder)) from None


def forget_epochs(table: Table, session: EngineSession) -> None:
    """Remove the hidden files of a dropped sink from its folder."""
    if uri.is_remote(table.location or ""):
        forget_remote(table, session)
        return
    shutil.rmtree(_waiting(table), ignore_errors=True)


def _waiting(table: Table) -> Path:
    """Return the hidden folder of files that are not shown yet, in the file system of the sink's folder."""
    return Path(table.location or "", f".{table.continuous}")


def _epochs(table: Table) -> list[int]:
    """Return the epochs with hidden files, oldest first."""
    try:
        names = os.listdir(_waiting(table))  # noqa: PTH208  called at each look at the streams
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdigit())


def _told(command: CreateContinuousSink, session: EngineSession) -> str:
    storage = epoch_format(command.storage, (), session, is_from_query=True)
    return f'files of {storage.name} in the folder "{command.sink.place}", each put there whole, once, behind the epoch'


def _define(sink: Table, command: CreateContinuousSink, streams: tuple[str, ...], session: StreamSession) -> Table:
    storage = epoch_format(command.storage, (), session, is_from_query=True)
    check_storage(storage, sink.schema, session)
    return replace(sink, storage=storage, location=_folder(command.sink.place, streams, session), sink=None)


def _folder(path: str, streams: tuple[str, ...], session: StreamSession) -> str:
    """Create the folder of a sink, and return it.

    Raise BindError 42809 if it belongs to a table, or to a stream that the sink reads.
    """
    is_remote = uri.is_remote(path)
    folder = check_remote_folder(path, session) if is_remote else session.restrictions.check_path(path)
    session.restrictions.gate.require_below(path)
    folders = TableFolders(session.catalog)
    if (owner := folders.owner_at(folder) or folders.folder_inside(folder)) is not None:
        raise BindError(f'the folder "{folder}" of a continuous sink belongs to {owner.owner}', sqlstate="42809")
    folder = folder if is_remote else os.path.realpath(folder)
    for stream in filter(None, map(session.catalog.current_table, streams)):
        if stream.location is not None and _is_below(folder, stream.location):
            message = f'the folder "{folder}" of a continuous sink is read by its stream {stream.qualified_name}'
            raise BindError(message, sqlstate="42809")
    if is_remote:
        return folder
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise io_error(error, folder) from None
    return folder


def _is_below(folder: str, home: str) -> bool:
    if uri.is_remote(folder) or uri.is_remote(home):
        return uri.below(folder, home) is not None
    return Path(folder).is_relative_to(os.path.realpath(home))


def _connect(table: Table, session: EngineSession, _: Programs) -> Sink:
    return RemoteFolderSink(table, session) if uri.is_remote(table.location or "") else FolderSink(table)


FOLDER_SINK = SinkType(_define, _connect, _told, forget_epochs)
