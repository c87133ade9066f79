"""Remains of killed processes in buckets and in HDFS, which a thread of the next process removes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.store import Catalog
from sharkpy.catalog.unfinished_writes import Note
from sharkpy.sources.folder_write import is_folder_write, settled
from sharkpy.sources.folders.manifest import home_of_staging, write_of
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.lake.staging import is_lake_staging, remove_staged
from sharkpy.sources.local_copy import store_with

if TYPE_CHECKING:
    from sharkpy.sources.storage.access import StorageAccess

_log = logging.getLogger(__name__)


class RemoteRemains:
    """Sweep of what is noted for some dead processes, with the access of the engine's owner.

    Only what is of the noted writes is removed: other processes and machines may write beside it. What cannot be
    removed now stays noted for the next start.
    """

    def __init__(self, catalog: Catalog, conf: Conf, processes: Sequence[Sequence[Note]]) -> None:
        self._catalog = catalog
        self._conf = conf
        self._processes = processes
        self._accesses: list[StorageAccess] = []
        """They are known for as long as somebody has them."""
        self._end = Cancellation()
        self._thread = threading.Thread(target=self._run, name="sharkpy-remains", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the sweep, wherever it is."""
        self._end.cancel()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._end.active():
                tables = {
                    table.table_id: table
                    for name in self._catalog.database_names()
                    for table in self._catalog.tables(name, with_states=True)
                }
                for notes in self._processes:
                    self._sweep(notes, tables)
        except CancelledError:
            pass
        except SharkError as error:
            _log.warning("what a killed process has left in storage could not be deleted: %s", error)

    def _sweep(self, notes: Sequence[Note], tables: Mapping[str, Table]) -> None:
        """Sweep what one process has noted: its generations that do not count before their files."""
        writes = {write_of(note.folder) for note in notes if not note.table_id}
        named = _NamedFiles(self._folder, {note.folder for note in notes if note.table_id})
        left = False
        for note in sorted(notes, key=lambda note: not note.table_id):
            try:
                if is_folder_write(note.folder):
                    settled(note.folder, self._access_id(note.folder))
                elif not note.table_id:
                    self._sweep_staging(note, tables, named)
                elif (table := tables.get(note.table_id)) is not None and not self._catalog.is_shared:
                    self._sweep_partition(note.folder, table, writes)
            except CancelledError:
                raise
            except SharkError as error:
                place = uri.shown(note.folder)
                _log.warning('what a killed process has left in "%s" could not be deleted: %s', place, error)
                if note.table_id:
                    # Its files are known by the generations that could not be removed.
                    return
                left = True
            else:
                if not note.table_id:
                    self._catalog.unfinished.end(note.folder)
        # Until then they tell where manifests of the others are.
        for note in notes:
            if note.table_id and not left:
                self._catalog.unfinished.end_partition(note.folder)

    def _sweep_staging(self, note: Note, tables: Mapping[str, Table], named: _NamedFiles) -> None:
        if is_lake_staging(note.folder):
            remove_staged(note.folder, self._access_id(note.folder))
            return
        home = self._folder(home_of_staging(note.folder))
        is_made = any(uri.place(table.location or "") == uri.place(home.location) for table in tables.values())
        if note.is_new and not is_made and not self._catalog.is_shared:
            home.remove_made(write_of(note.folder))
        home.discard_staging(note.folder, named.of(home))

    def _sweep_partition(self, folder: str, table: Table, writes: set[str]) -> None:
        newest, home = self._counted(folder, table), self._folder(folder)
        if newest is None or not home.has_uncounted(writes, newest):
            return
        # While nobody gives their names to other generations.
        with self._catalog.transaction():
            now = self._catalog.current_table(table.table_id)
            newest = None if now is None else self._counted(folder, now)
            if newest is not None:
                home.remove_uncounted(writes, newest)

    def _counted(self, folder: str, table: Table) -> int | None:
        """Last generation that counts in the folder of a Hive partition; None where all may, as in folders that are not
        the table's, or not any more.
        """
        place = uri.place(folder)
        for one in self._catalog.partitions(table):
            if uri.place(one.folder(table)) == place:
                return one.newest
        is_own = table.kind is TableKind.MANAGED and uri.below(folder, table.location or "") is not None
        return 0 if is_own else None

    def _folder(self, location: str) -> RemoteFolder:
        access_id = self._access_id(location)
        return RemoteFolder(location, store_with(location, access_id), access_id)

    def _access_id(self, location: str) -> str:
        from sharkpy.sources.storage.access import ACCESSES, access_to

        access = access_to(location, self._conf, self._conf)
        self._accesses.append(access)
        ACCESSES.note((access,))
        return access.id


class _NamedFiles:
    """Files that manifests name in the folders of Hive partitions that one process has noted, which are read once."""

    def __init__(self, folder: Callable[[str], RemoteFolder], noted: Collection[str]) -> None:
        self._folder = folder
        self._noted = noted
        self._found: dict[str, set[str]] = {}

    def of(self, home: RemoteFolder) -> set[str]:
        """Those of folders below a table's."""
        if home.location not in self._found:
            inside = [one for one in sorted(self._noted) if uri.below(one, home.location) is not None]
            self._found[home.location] = {path for one in inside for path in self._folder(one).named()}
        return self._found[home.location]
