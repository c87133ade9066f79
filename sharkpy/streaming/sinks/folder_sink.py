"""Sink TO FOLDER: files that a continuous query writes for other programs, on a local disk, in a bucket or in HDFS."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, SharkError, SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.execution.commands.storage import check_storage, epoch_format
from sharkpy.execution.commands.writes.staged_write import QuietWrite
from sharkpy.execution.queries.write_query import write_files
from sharkpy.physical.stage_program import FileSink
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.staged_files import is_abandoned, make_staging, staging_name
from sharkpy.sources.storage.store import ObjectFacts
from sharkpy.sources.storage.stores import is_supported
from sharkpy.streaming.sinks.sink import SinkType

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.statement import Statement
    from sharkpy.plan.commands import CreateContinuousSink
    from sharkpy.sources.storage.store import Store
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.program_sink import Programs
    from sharkpy.streaming.sinks.sink import SinkEpoch

_ALL = 1 << 62
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class FolderWrite(QuietWrite):
    """Write of an epoch's files. A program that takes each file of the folder once, by its name, gets each row once.

    1. Each attempt has its own hidden folder. Files of an attempt that did not count are removed at its end, or after a
       kill by the sink's next start.
    2. The transaction that commits the epoch records the files of its attempt in the catalog, with their final names.
    3. After the commit the files get these names one by one, and the catalog forgets the files. If this is interrupted
       by a kill, a later look completes it. The names depend only on the epoch, so a repeated file replaces the first
       one.
    """

    epoch: SinkEpoch
    folder: str
    """Hidden folder of this attempt."""
    store: Store
    files: list[tuple[str, int]] = field(default_factory=list)
    """Paths and sizes of the files that were put there."""
    is_noted: bool = False
    is_done: bool = False

    @classmethod
    def begin(cls, epoch: SinkEpoch) -> FolderWrite:
        """Make the folder of a new attempt. BindError if a link leads out of the folder that was permitted."""
        table, location = epoch.table, epoch.table.location or ""
        store = _store_of(table, epoch.session.catalog)
        folder = f"{_waiting(table)}/{epoch.number}-{staging_name()}"
        if store.traits.is_local:
            if os.path.realpath(location) != location:
                # The creator of the sink was allowed to write into that folder, not into the target of a later link.
                raise BindError(f'the folder "{location}" of {table.qualified_name} is reached through a link now')
            make_staging(folder)
        return cls(epoch, folder, store)

    def fill(self, statement: Statement) -> None:  # noqa: ARG002  the writer counts the rows
        table = self.epoch.table
        sink = FileSink(table.schema, table.storage.name, table.storage.properties, self.folder)
        written = write_files(self.epoch.session, self.epoch.command.query, sink, self.epoch.snapshot)
        self.files = sorted((path, size) for path, _, size in written)

    def prepare(self) -> None:
        self.store.sync([*(path for path, _ in self.files), self.folder, uri.parent(self.folder)])

    def place(self) -> None:
        noted = [
            StreamFile(0, self.epoch.file_name(number, path), size, 0, path)
            for number, (path, size) in enumerate(self.files)
        ]
        if noted:
            self.epoch.session.catalog.streams.add_files(self.epoch.table.table_id, noted)
            self.is_noted = True

    def take_back(self) -> None:
        """Forget the catalog's rows, which its transaction rolls back."""
        self.is_noted = False

    def show(self) -> None:
        self.is_done = True

    def clean(self) -> None:
        if self.is_noted:
            show_recorded_files(self.epoch.table, self.epoch.session.catalog)
        else:
            _remove_folders(self.store, [self.folder])

    def discard(self) -> None:
        if self.is_done:
            return
        self.is_done = True
        # The statement may have been cancelled. Files that stay are removed by the sink's next start.
        with Cancellation().active(), suppress(SharkError):
            self.store.delete(facts.path for facts in self.store.list(self.folder))
            _remove_folders(self.store, [self.folder])


@dataclass(slots=True)
class FolderSink:
    """Sink with a folder, accessed through `session`.

    Its first epoch removes files that dead processes have left.
    """

    table: Table
    session: EngineSession
    is_swept: bool = False

    def catch_up(self, last: int) -> None:  # noqa: ARG002  the catalog tells what counts
        """Show files that a process left hidden when it was killed after its commit."""
        show_recorded_files(self.table, self.session.catalog)

    def written(self, query: ContinuousQuery, begun: Callable[[], datetime | None]) -> str | None:  # noqa: ARG002  nothing can be seen before its commit
        return None

    def begin(self, epoch: SinkEpoch) -> FolderWrite:
        if not self.is_swept:
            _sweep(self.table, self.session.catalog, epoch.query.epoch)
            self.is_swept = True
        return FolderWrite.begin(epoch)

    def close(self) -> None:
        pass


def show_recorded_files(table: Table, catalog: Catalog) -> None:
    """Move the files that the catalog has recorded for a sink's committed epochs to their names in its folder."""
    noted = catalog.streams.files(table.table_id, 0, _ALL)
    if not noted:
        return
    store = _store_of(table, catalog)
    # A file that is gone has been moved already, by a process that ended before it updated the catalog, or by another
    # process just now.
    hidden = {facts.path for folder in {uri.parent(one.form) for one in noted} for facts in store.list(folder)}
    parallel_map(lambda one: _show(store, table, one), [one for one in noted if one.form in hidden])
    store.sync([table.location or ""])
    with catalog.transaction():
        catalog.streams.forget_files(table.table_id, [one.number for one in noted])
    _remove_folders(store, {uri.parent(one.form) for one in noted})


def _show(store: Store, table: Table, file: StreamFile) -> None:
    try:
        store.move(ObjectFacts(file.form, file.size_bytes, file.modified_ns), f"{table.location}/{file.name}")
    except SourceError as error:
        if error.sqlstate != "58P01":
            raise


def forget_epochs(table: Table, session: EngineSession) -> None:
    """Remove the hidden files of a dropped sink from its folder, if the store can be reached."""
    waiting = _waiting(table)
    try:
        store = _store_of(table, session.catalog)
        store.delete(facts.path for facts in store.list(waiting))
        Removal(waiting, store, session.catalog.access_id(waiting)).remove_empty()
    except SharkError as error:
        _log.warning("hidden files of %s, which was dropped, stay: %s", table.qualified_name, error)


def _sweep(table: Table, catalog: Catalog, last: int) -> None:
    """Remove the files of attempts that will not count.

    These are attempts at epochs up to `last`, and attempts of dead processes of this machine. An older version has left
    the files of a committed epoch in a folder with only its number: these are shown.
    """
    store, waiting = _store_of(table, catalog), _waiting(table)
    noted = {one.form for one in catalog.streams.files(table.table_id, 0, _ALL)}
    found = {facts: facts.path[len(waiting) + 1 :].partition("/")[0] for facts in store.list(waiting)}
    left = [facts for facts, name in found.items() if facts.path not in noted and _is_left(name, last)]
    for facts in left:
        if found[facts].isdecimal() and int(found[facts]) <= last:
            store.move(facts, f"{table.location}/{uri.name_of(facts.path)}")
    store.delete(facts.path for facts in left)
    _remove_folders(store, {uri.parent(facts.path) for facts in left})


def _is_left(name: str, last: int) -> bool:
    """Return True for the folder of an attempt that will not count."""
    epoch, _, process = name.partition("-")
    return epoch.isdigit() and (int(epoch) <= last or is_abandoned(process))


def _remove_folders(store: Store, folders: Iterable[str]) -> None:
    """Remove empty folders, if the store has folders in addition to objects."""
    store.delete([one for one in folders if store.has_folder(one)])


def _store_of(table: Table, catalog: Catalog) -> Store:
    location = table.location or ""
    return store_for_access(location, catalog.access_id(location))


def _waiting(table: Table) -> str:
    """Return the hidden folder of files that are not shown yet, below the sink's folder."""
    return f"{table.location}/.{table.continuous}"


def _told(command: CreateContinuousSink, session: EngineSession) -> str:
    storage = epoch_format(command.storage, (), session, is_from_query=True)
    return f'files of {storage.name} in the folder "{command.sink.place}", each put there whole, once, behind the epoch'


def _define(sink: Table, command: CreateContinuousSink, streams: tuple[str, ...], session: StreamSession) -> Table:
    storage = epoch_format(command.storage, (), session, is_from_query=True)
    check_storage(storage, sink.schema, session)
    return replace(sink, storage=storage, location=_folder(command.sink.place, streams, session), sink=None)


def _folder(path: str, streams: tuple[str, ...], session: StreamSession) -> str:
    """Return the folder of a sink, after making it on a local disk.

    Raise BindError 42809 if it belongs to a table, or to a stream that the sink reads, UnsupportedError if the store
    cannot be written.
    """
    session.restrictions.check_location(path)
    session.restrictions.gate.require_below(path)
    folder = _remote_folder(path) if uri.is_remote(path) else session.restrictions.check_path(path)
    folders = TableFolders(session.catalog)
    if (owner := folders.owner_at(folder) or folders.folder_inside(folder)) is not None:
        raise BindError(f'the folder "{folder}" of a continuous sink belongs to {owner.owner}', sqlstate="42809")
    for stream in filter(None, map(session.catalog.current_table, streams)):
        if stream.location is not None and uri.below(folder, _real(stream.location)) is not None:
            message = f'the folder "{folder}" of a continuous sink is read by its stream {stream.qualified_name}'
            raise BindError(message, sqlstate="42809")
    if not uri.is_remote(folder):
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise io_error(error, folder) from None
    return folder


def _real(location: str) -> str:
    """Return a location without links."""
    return location if uri.is_remote(location) else os.path.realpath(location)


def _remote_folder(location: str) -> str:
    """Return the location of a remote folder that a sink may write, without a request to the store."""
    if not is_supported(location) or uri.scheme_of(location) in ("http", "https"):
        raise UnsupportedError(f'a continuous sink TO FOLDER "{uri.redacted(location)}", which takes no files')
    return location.rstrip("/")


def _connect(table: Table, session: EngineSession, _: Programs) -> FolderSink:
    return FolderSink(table, session)


FOLDER_SINK = SinkType(_define, _connect, _told, forget_epochs)
