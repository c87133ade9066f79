"""Folder of files that a continuous query writes for others, who take them one by one."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import BindError, BlocksReplacedError, TableChangedError
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.insert import BadRows, stage_bad_rows
from sharkpy.execution.commands.writes.publish import StagedWrite, discarding, publish
from sharkpy.execution.commands.writes.staging import discard_staging, new_staging
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.write_plan import write_files
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.physical.sinks import FileSink
from sharkpy.plan.commands import Insert
from sharkpy.sources import layout
from sharkpy.sources.failures import io_error


@dataclass(slots=True)
class FolderSink:
    """Write of an epoch's files. Who takes each file of the folder once gets each row once.

    1. Files wait in a hidden folder of the epoch, which gets its name in the transaction that counts the epoch. A try
       that was killed before its commit has left files that nobody saw: they go.
    2. After the commit they are renamed into the sink's folder, one by one. What a kill leaves undone there,
       `show_epochs` does later: the names of the files are those of the epoch.
    """

    table: Table
    query: ContinuousQuery
    staging: str
    session: EngineSession
    is_placed: bool = False

    @classmethod
    def begin(cls, table: Table, query: ContinuousQuery, session: EngineSession) -> FolderSink:
        if os.path.realpath(table.location or "") != table.location:
            # Who made the sink was allowed to write into that folder, and not where a link leads since.
            raise BindError(f'the folder "{table.location}" of {table.qualified_name} is behind a link now')
        return cls(table, query, new_staging(str(_waiting(table)), session), session)

    @property
    def _epoch(self) -> Path:
        return _waiting(self.table) / str(self.query.epoch + 1)

    def prepare(self) -> None:
        try:
            for number, file in enumerate(layout.files_below(self.staging)):
                _, dot, ending = Path(file.path).name.partition(".")
                name = f"{self.query.query_id[:8]}-{self.query.epoch + 1:010}-{number:05}{dot}{ending}"
                Path(file.path).rename(Path(self.staging, name))
        except OSError as error:
            raise io_error(error, self.staging) from None
        layout.sync_staged(self.staging)

    def place(self) -> None:
        now = self.session.catalog.streams.find(self.query.query_id)
        if now is None or now.epoch != self.query.epoch:
            raise TableChangedError(f"epoch {self.query.epoch + 1} was written by another process, or its sink dropped")
        try:
            for epoch in _epochs(self.table):
                if epoch > self.query.epoch:
                    shutil.rmtree(_waiting(self.table) / str(epoch))
            if layout.files_below(self.staging):
                Path(self.staging).rename(self._epoch)
                self.is_placed = True
        except OSError as error:
            raise io_error(error, self.staging) from None
        if self.is_placed:
            layout.sync_folders([str(self._epoch), str(self._epoch.parent)])

    def take_back(self) -> None:
        if self.is_placed:
            self.is_placed = False
            shutil.rmtree(self._epoch, ignore_errors=True)

    def show(self) -> None:
        pass

    def clean(self) -> None:
        show_epochs(self.table, self.query.epoch + 1)

    def discard(self) -> None:
        discard_staging(self.staging, self.session)


def write_epoch(
    table: Table,
    command: Insert,
    query: ContinuousQuery,
    session: EngineSession,
    snapshot: QuerySnapshot,
    end: StagedWrite,
    bad_rows: BadRows | None = None,
) -> None:
    """Write the rows of an epoch into the folder of a sink; `end` counts with them, and so do skipped `bad_rows`."""
    try:
        _write(table, command, query, session, snapshot, end, bad_rows)
    except BlocksReplacedError:
        # The tables that it reads have other blocks now, and nothing that it made is seen yet.
        snapshot.renew()
        _write(table, command, query, session, snapshot, end, bad_rows)


def _write(
    table: Table,
    command: Insert,
    query: ContinuousQuery,
    session: EngineSession,
    snapshot: QuerySnapshot,
    end: StagedWrite,
    bad_rows: BadRows | None,
) -> None:
    write = FolderSink.begin(table, query, session)
    writes: list[StagedWrite] = [write]
    with discarding(writes), session.as_statement() as statement:
        statement.malformed_rows = 0
        sink = FileSink(table.schema, table.storage.name, table.storage.properties, write.staging)
        write_files(session, command.query, sink, snapshot)
        if bad_rows is not None:
            stage_bad_rows(bad_rows, statement, session, snapshot, writes)
        snapshot.release()
        publish([*writes, end], session.catalog)


def show_epochs(table: Table, last: int) -> None:
    """Show the files of all epochs up to `last`, which count, that are hidden still."""
    folder, waiting = Path(table.location or ""), _waiting(table)
    try:
        for epoch in _epochs(table):
            if epoch > last:
                break
            hidden = waiting / str(epoch)
            for name in sorted(os.listdir(hidden)):  # noqa: PTH208  names alone are needed
                # Another process may show the same epoch.
                with suppress(FileNotFoundError):
                    (hidden / name).rename(folder / name)
            layout.sync_folders([str(folder)])
            with suppress(FileNotFoundError):
                hidden.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        raise io_error(error, str(folder)) from None


def forget_epochs(table: Table) -> None:
    """Remove what a sink that was dropped has hidden in its folder."""
    shutil.rmtree(_waiting(table), ignore_errors=True)


def _waiting(table: Table) -> Path:
    """Folder of what is not shown yet: hidden, and in the file system of the sink's folder."""
    return Path(table.location or "", f".{table.continuous}")


def _epochs(table: Table) -> list[int]:
    """Epochs with hidden files, oldest first."""
    try:
        names = os.listdir(_waiting(table))  # noqa: PTH208  asked at each look at the streams
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdigit())
