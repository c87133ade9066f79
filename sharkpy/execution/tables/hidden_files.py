"""Deletion of generations hidden by newer ones, after their readers have left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError
from sharkpy.sources.folders.table_folder import table_folder

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.folder_readers import FolderReaders


_log = logging.getLogger(__name__)
_LOOK_SECONDS = 60.0
"""Seconds after which a folder is searched for leftovers of a killed process."""


@dataclass(frozen=True, slots=True)
class _Hidden:
    """Hidden names in each folder with its newest generation. Readers that entered before `mark` may read them."""

    mark: int
    folders: dict[str, tuple[int, frozenset[str]]]


class HiddenFiles:
    """Hidden generations of tables, by the location that their readers enter.

    1. At most two deletions per location wait, so that the first is eventually done, however often the location is read
       and written. A later write deletes what waits when the process ends.
    2. A deletion takes only what was hidden when it was noted. A later fold may hide more of the same generations from
       readers that have entered since.
    """

    def __init__(
        self, readers: FolderReaders, catalog: Catalog | None = None, keep_seconds: Callable[[], float] = lambda: 0
    ) -> None:
        """`catalog`: see `table_folder`. `keep_seconds` returns how long hidden files of remote folders stay.

        Younger files are left to a later write.
        """
        self._readers = readers
        self._catalog = catalog
        self._keep_seconds = keep_seconds
        self._waiting: dict[str, list[_Hidden]] = {}
        self._noted: dict[str, float] = {}
        """Time of the last note for each location, by the monotonic clock."""
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def note(self, location: str, newest: dict[str, int]) -> None:
        """Note that in each folder of `newest`, in or below `location`, that generation hides older ones.

        They are deleted if they have no readers. If storage refuses, or a statement does not wait, a later write
        deletes them; the written rows are committed either way.
        """
        with self._locked(location):
            self._noted[location] = time.monotonic()
            waiting = self._waiting.setdefault(location, [])
            # List them before the mark: a later reader sees none of them.
            found = {folder: (number, self._hidden(folder, number)) for folder, number in newest.items()}
            if len(waiting) > 1:
                found = waiting.pop().folders | found
            waiting.append(_Hidden(self._readers.mark(), found))
        self.delete(location)

    def note_added(self, location: str, newest: dict[str, int]) -> None:
        """Note generations that hide only leftovers of a killed process, if any."""
        noted = self._noted.get(location)
        if noted is None or time.monotonic() - noted >= _LOOK_SECONDS:
            self.note(location, newest)
        else:
            self.delete(location)

    def delete(self, location: str) -> None:
        """Delete the noted files of `location` that have no readers."""
        with self._locked(location):
            waiting = self._waiting.get(location, [])
            while waiting and not self._readers.is_read(location, before=waiting[0].mark):
                for folder, (newest, names) in waiting.pop(0).folders.items():
                    self._remove(folder, newest, names)
            if not waiting:
                self._waiting.pop(location, None)

    def _locked(self, location: str) -> threading.Lock:
        """Return the lock of a location; storage may answer slowly about another one."""
        with self._lock:
            return self._locks.setdefault(location, threading.Lock())

    def _hidden(self, folder: str, newest: int) -> frozenset[str]:
        try:
            return table_folder(folder, self._catalog).hidden(newest)
        except SharkError as error:
            return self._passed_over(folder, error)

    def _remove(self, folder: str, newest: int, names: frozenset[str]) -> None:
        try:
            table_folder(folder, self._catalog).remove_hidden(newest, names, self._keep_seconds())
        except SharkError as error:
            self._passed_over(folder, error)

    def _passed_over(self, folder: str, error: SharkError) -> frozenset[str]:
        """Log the error and leave a remote folder's hidden files to a later write, as the statement is done."""
        if not uri.is_remote(folder):
            raise error
        _log.warning('what is hidden in "%s" could not be removed: %s', uri.redacted(folder), error)
        return frozenset()
