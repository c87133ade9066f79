"""Leftovers of killed processes, which readers do not see and the next start removes; a thread does it for storage."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.base.settings import Conf
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.unfinished_writes import Note
from sharkpy.sources.copied_files import is_folder_write, settle_write
from sharkpy.sources.folders.manifests import FILES, home_of_staging
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.table_folder import access_of_owner, home_of, table_folder
from sharkpy.sources.lake.lake_table import is_lake_staging, remove_staged
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.staged_files import discard_staging

if TYPE_CHECKING:
    pass

_log = logging.getLogger(__name__)


def remove_local_leftovers(catalog: Catalog) -> list[list[Note]]:
    """Remove local leftovers: staging folders, uncommitted generations, folders of unfinished tables.

    Return the notes about remote folders, grouped by the process that wrote them. They are adopted by this process,
    because storage may answer slowly.
    """
    remote = list[list[Note]]()
    for written in catalog.unfinished.abandoned():
        notes = [note for note in written if not uri.is_remote(note.folder)]
        try:
            if far := [note for note in written if uri.is_remote(note.folder)]:
                catalog.unfinished.adopt(far)
                remote.append(far)
            for note in notes:
                if not note.table_id:
                    table_folder(home_of(note.folder), catalog).discard_staging(note.folder)
            if catalog.is_shared:
                continue
            with catalog.transaction():
                tables = {
                    table.table_id: table
                    for name in catalog.database_names()
                    for table in catalog.tables(name, with_states=True)
                }
                for note in notes:
                    _sweep(note, tables, catalog)
        except (OSError, SharkError) as error:
            _log.warning("what a killed process has left in the warehouse could not be deleted: %s", error)
    return remote


def _sweep(note: Note, tables: Mapping[str, Table], catalog: Catalog) -> None:
    if note.table_id:
        if (table := tables.get(note.table_id)) is not None:
            _sweep_partition(note.folder, table, catalog)
        return
    location = home_of(note.folder)
    if note.is_new and not any(table.location == location for table in tables.values()):
        _remove_first(location, catalog)


def _remove_first(location: str, catalog: Catalog) -> None:
    """Remove the files of a CREATE TABLE AS from its folder, and the folders that are empty then."""
    for folder, names, _ in os.walk(location):
        if FILES in names and not catalog.log.has_files(f"{folder}/{FILES}"):
            discard_staging(f"{folder}/{FILES}")
    table_folder(location, catalog).remove_empty()


def _sweep_partition(folder: str, table: Table, catalog: Catalog) -> None:
    """Remove leftovers in a Hive partition. An unregistered folder of an unmanaged table may have another owner."""
    known = next((one for one in catalog.partitions(table) if one.folder(table) == folder), None)
    newest = 0 if known is None and table.kind is TableKind.MANAGED else None if known is None else known.newest
    if newest is not None:
        table_folder(folder, catalog).remove_beyond(newest)
    if known is None and catalog.log.find(table.location or "") is not None and catalog.log.find(folder) is None:
        # The commit that would have begun the log of the new folder has failed with the process.
        table_folder(folder).discard_staging(uri.join(folder, FILES))
    if known is None:
        table_folder(folder).remove_empty()
        above = uri.parent(folder)
        while above != table.location and table_folder(above).remove_if_empty():
            above = uri.parent(above)


class RemoteLeftovers:
    """Removal of the noted writes of dead processes, with the access of the engine's owner.

    Only files of the noted writes are removed: other processes and machines may write to the same folders. Failed
    removals stay noted for the next start.
    """

    def __init__(self, catalog: Catalog, conf: Conf, processes: Sequence[Sequence[Note]]) -> None:
        self._catalog = catalog
        self._access_id = access_of_owner(conf)
        self._processes = processes
        self._end = Cancellation()
        self._thread = threading.Thread(target=self._run, name="sharkpy-remains", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Cancel the sweep and wait for its thread."""
        self._end.cancel()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._end.active():
                for notes in self._processes:
                    self._sweep(notes)
        except CancelledError:
            pass
        except SharkError as error:
            _log.warning("what a killed process has left in storage could not be deleted: %s", error)

    def _sweep(self, notes: Sequence[Note]) -> None:
        """Sweep one process's notes."""
        named = _NamedFiles(self._folder, {note.folder for note in notes if note.table_id})
        left = False
        for note in sorted(notes, key=lambda note: not note.table_id):
            try:
                if is_folder_write(note.folder):
                    settle_write(note.folder, self._access_id(note.folder))
                elif not note.table_id:
                    self._sweep_staging(note, named)
            except CancelledError:
                raise
            except SharkError as error:
                place = uri.redacted(note.folder)
                _log.warning('what a killed process has left in "%s" could not be deleted: %s', place, error)
                left = True
            else:
                if not note.table_id:
                    self._catalog.unfinished.end(note.folder)
        # Until now, they led to the manifests of the other notes.
        for note in notes:
            if note.table_id and not left:
                self._catalog.unfinished.end_partition(note.folder)

    def _sweep_staging(self, note: Note, named: _NamedFiles) -> None:
        if is_lake_staging(note.folder):
            remove_staged(note.folder, self._access_id(note.folder))
            return
        location = home_of_staging(note.folder)
        if self._catalog.log.find(location) is not None:
            table_folder(location, self._catalog, self._access_id).discard_staging(note.folder)
            return
        home = self._folder(location)
        home.discard_staging(note.folder, named.of(home) | self._catalog.log.named(note.folder))

    def _folder(self, location: str) -> RemoteFolder:
        access_id = self._access_id(location)
        return RemoteFolder(location, store_for_access(location, access_id), access_id)


class _NamedFiles:
    """Files named by manifests in the Hive partitions' folders that one process noted. Each is read once."""

    def __init__(self, folder: Callable[[str], RemoteFolder], noted: Collection[str]) -> None:
        self._folder = folder
        self._noted = noted
        self._found: dict[str, set[str]] = {}

    def of(self, home: RemoteFolder) -> set[str]:
        """Return the files named in folders below the table's folder."""
        if home.path not in self._found:
            inside = [one for one in sorted(self._noted) if uri.below(one, home.path) is not None]
            self._found[home.path] = {path for one in inside for path in self._folder(one).named()}
        return self._found[home.path]
