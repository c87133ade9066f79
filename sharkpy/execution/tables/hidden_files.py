"""Deletion of generations hidden by newer ones, after their readers have left."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled
from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.catalog.path_gate import local_path
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import access_of_owner, logged_folder, table_folder

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.folder_readers import FolderReaders
    from sharkpy.catalog.model import Table
    from sharkpy.sources.folders.table_folder import Access


_log = logging.getLogger(__name__)
_ALL = 1 << 62
_LOOK_SECONDS = 60.0
"""Seconds after which a folder is searched for leftovers of a killed process."""


@dataclass(frozen=True, slots=True)
class _Hidden:
    """Hidden names in each folder of a table with its newest generation. Readers that entered before `mark` may read
    them.
    """

    table: Table
    mark: int
    folders: dict[str, tuple[int, frozenset[str]]]


class HiddenFiles:
    """Hidden generations of tables, by the location that their readers enter.

    1. At most two deletions per location wait, so that the first is eventually done, however often the location is read
       and written. A later write deletes what waits when the process ends.
    2. A deletion takes only what was hidden when it was noted. A later fold may hide more of the same generations from
       readers that have entered since.
    3. A table with a history keeps what its retained versions need. Other versions are unavailable before their files
       are deleted.
    """

    def __init__(self, readers: FolderReaders, catalog: Catalog | None = None, access: Access | None = None) -> None:
        """`catalog`, `access`: see `table_folder`."""
        self._access = access
        self._readers = readers
        self._catalog = catalog
        self._waiting: dict[str, list[_Hidden]] = {}
        self._noted: dict[str, float] = {}
        """Time of the last note for each location, by the monotonic clock."""
        self._deleting: dict[str, Future[None]] = {}
        """The last deletion in the background of each location."""
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def note(self, table: Table, newest: dict[str, int]) -> None:
        """Note that in each folder of `newest`, which are a table's, that generation hides older ones.

        They are deleted if they have no readers. If storage refuses, or a statement does not wait, a later write
        deletes them; the written rows are committed either way.
        """
        oldest = _ALL if self._catalog is None else self._catalog.forget_expired(table)
        self._note(table, {folder: min(number, oldest) for folder, number in newest.items()})

    def _note(self, table: Table, newest: dict[str, int]) -> None:
        location = table.location or ""
        with self._locked(location):
            self._noted[location] = time.monotonic()
            waiting = self._waiting.setdefault(location, [])
            # List them before the mark: a later reader sees none of them.
            found = {folder: (number, self._hidden(folder, number)) for folder, number in newest.items()}
            if len(waiting) > 1:
                found = waiting.pop().folders | found
            waiting.append(_Hidden(table, self._readers.mark(), found))
        self.delete(location)

    def note_added(self, table: Table, newest: dict[str, int]) -> None:
        """Note generations that hide only leftovers of a killed process, if any, and versions whose retention is
        over.

        Files that folds have hidden from readers are deleted in the background, so that no append waits for it.
        """
        location = table.location or ""
        noted = self._noted.get(location)
        if noted is None or time.monotonic() - noted >= _LOOK_SECONDS:
            self.note(table, newest)
            self.sweep(table)
        elif location in self._waiting:
            self._delete_later(location)

    def _delete_later(self, location: str) -> None:
        known = self._deleting.get(location)
        if self._catalog is not None and (known is None or known.done()):
            self._deleting[location] = self._catalog.syncs.begin(partial(self._try_to_delete, location))

    def _try_to_delete(self, location: str) -> None:
        try:
            self.delete(location)
        except SharkError as error:
            _log.warning('what is hidden in "%s" could not be removed: %s', uri.redacted(location), error)

    def sweep(self, table: Table, oldest: int | None = None) -> None:
        """Delete the files that no retained version of a table needs, in all of its folders.

        `oldest`: oldest version to be retained, if that is not the table's. For a table without a history, this does
        nothing.
        """
        catalog = self._catalog
        if catalog is None or not catalog.has_history(table):
            return
        if oldest is None:
            oldest = catalog.forget_expired(table)
        else:
            catalog.history.forget_before(table.table_id, oldest)
        if folders := catalog.log.folders_to_sweep(table.table_id, oldest):
            self._note(table, dict.fromkeys(folders, oldest))

    def delete(self, location: str) -> None:
        """Delete the noted files of `location` that have no readers."""
        with self._locked(location):
            waiting = self._waiting.get(location, [])
            while waiting and not self._readers.is_read(location, before=waiting[0].mark):
                hidden = waiting.pop(0)
                for folder, (newest, names) in hidden.folders.items():
                    self._remove(hidden.table, folder, newest, names)
            if not waiting:
                self._waiting.pop(location, None)

    def remove_empty(self, table: Table, folder: str) -> None:
        """Remove the folder of a dropped Hive partition if it has no files, then the folders above it that are empty
        then. Files of retained versions stay.
        """
        self._folder(folder).remove_empty()
        above = uri.parent(folder)
        while above != table.location and table_folder(above, self._catalog, self._access).remove_if_empty():
            above = uri.parent(above)

    def _locked(self, location: str) -> threading.Lock:
        """Return the lock of a location; storage may answer slowly about another one."""
        with self._lock:
            return self._locks.setdefault(location, threading.Lock())

    def _hidden(self, folder: str, newest: int) -> frozenset[str]:
        return self._folder(folder).hidden(newest)

    def _remove(self, table: Table, folder: str, newest: int, names: frozenset[str]) -> None:
        home = self._folder(folder)
        try:
            home.remove_hidden(newest, names)
        except SharkError as error:
            self._passed_over(folder, error)
        is_partition = bool(names) and folder != table.location
        if is_partition and self._catalog is not None and self._catalog.forget_dropped_partition(table, folder):
            self.remove_empty(table, folder)

    def _folder(self, location: str) -> LoggedFolder | LocalFolder:
        """Return a logged folder, or the folder of a temporary table."""
        path = local_path(location) if not uri.is_remote(location) else location
        if self._catalog is None or self._catalog.log.find(path) is None:
            return LocalFolder(path)
        return logged_folder(location, self._catalog, self._access)

    def _passed_over(self, folder: str, error: SharkError) -> None:
        """Log the error and leave a remote folder's hidden files to a later write, as the statement is done."""
        if not uri.is_remote(folder):
            raise error
        _log.warning('what is hidden in "%s" could not be removed: %s', uri.redacted(folder), error)


_COMMIT_SECONDS = 7 * 86_400.0
"""Time after which the catalog forgets a commit that no history has."""


class RetentionSweep:
    """Thread that deletes, at the start of an engine, the files of versions and dropped tables whose retention is
    over.
    """

    def __init__(self, catalog: Catalog, conf: Conf) -> None:
        self._catalog = catalog
        self._hidden = HiddenFiles(catalog.readers, catalog, access_of_owner(conf))
        self._end = Cancellation()
        self._thread = threading.Thread(target=self._run, name="sharkpy-retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Cancel the sweep and wait for its thread."""
        self._end.cancel()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._end.active():
                for table_id in self._catalog.log.tables_to_sweep():
                    check_cancelled()
                    if (table := self._catalog.current_table(table_id)) is not None:
                        self._hidden.sweep(table)
                self._catalog.collect_garbage(is_local=True)
                self._catalog.history.forget_commits(int((time.time() - _COMMIT_SECONDS) * 1000))
        except CancelledError:
            pass
        except (OSError, SharkError) as error:
            _log.warning("versions whose retention is over could not be deleted: %s", error)
