"""Deletion of generations that newer ones hide, once those who may read them have left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError
from sharkpy.sources.folders.table_folder import Access, table_folder

if TYPE_CHECKING:
    from sharkpy.catalog.folder_readers import FolderReaders


_log = logging.getLogger(__name__)
_LOOK_SECONDS = 60.0
"""Time after which a folder is looked through for what a process has left that was killed."""


@dataclass(frozen=True, slots=True)
class _Hidden:
    """What is hidden in each folder, by the number of the generation that counts as its newest and by its names;
    readers that entered before `mark` may read it.
    """

    mark: int
    folders: dict[str, tuple[int, frozenset[str]]]


class HiddenFiles:
    """Hidden generations of tables, by the location that their readers enter.

    1. At most two deletions of a location wait, so that the first of them has to come to its turn, however often others
       read and write there. What waits when the process ends is deleted by a later write.
    2. A deletion takes what was hidden when it was noted: a fold may hide more of the same generations afterwards, from
       readers who have entered meanwhile.
    """

    def __init__(
        self, readers: FolderReaders, access: Access | None = None, keep_seconds: Callable[[], float] = lambda: 0
    ) -> None:
        """`access` finds that to remote locations; `keep_seconds` gives the time for which what is hidden there stays:
        what is younger is left to a later write.
        """
        self._readers = readers
        self._access = access
        self._keep_seconds = keep_seconds
        self._waiting: dict[str, list[_Hidden]] = {}
        self._noted: dict[str, float] = {}
        """When something was noted for a location last, by the monotonic clock."""
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def note(self, location: str, newest: dict[str, int]) -> None:
        """Note that in each folder of `newest`, which is or lies in `location`, that generation hides older ones. They
        are deleted if nobody reads them. What storage refuses, or a statement does not wait for, is left to a later
        write: the rows that were written count.
        """
        with self._locked(location):
            self._noted[location] = time.monotonic()
            waiting = self._waiting.setdefault(location, [])
            # They are listed before the mark: who enters behind it sees nothing of them.
            found = {folder: (number, self._hidden(folder, number)) for folder, number in newest.items()}
            if len(waiting) > 1:
                found = waiting.pop().folders | found
            waiting.append(_Hidden(self._readers.mark(), found))
        self.delete(location)

    def note_added(self, location: str, newest: dict[str, int]) -> None:
        """Note generations that hide nothing, but for what a killed process has left."""
        noted = self._noted.get(location)
        if noted is None or time.monotonic() - noted >= _LOOK_SECONDS:
            self.note(location, newest)
        else:
            self.delete(location)

    def delete(self, location: str) -> None:
        """Delete what has been noted for `location`, as far as nobody reads it."""
        with self._locked(location):
            waiting = self._waiting.get(location, [])
            while waiting and not self._readers.is_read(location, before=waiting[0].mark):
                for folder, (newest, names) in waiting.pop(0).folders.items():
                    self._remove(folder, newest, names)
            if not waiting:
                self._waiting.pop(location, None)

    def _locked(self, location: str) -> threading.Lock:
        """Lock of a location: storage may take long to answer about another one."""
        with self._lock:
            return self._locks.setdefault(location, threading.Lock())

    def _hidden(self, folder: str, newest: int) -> frozenset[str]:
        try:
            return table_folder(folder, self._access).hidden(newest)
        except SharkError as error:
            return self._passed_over(folder, error)

    def _remove(self, folder: str, newest: int, names: frozenset[str]) -> None:
        try:
            table_folder(folder, self._access).remove_hidden(newest, names, self._keep_seconds())
        except SharkError as error:
            self._passed_over(folder, error)

    def _passed_over(self, folder: str, error: SharkError) -> frozenset[str]:
        """Leave what is hidden in a remote folder to a later write: the statement has been carried out."""
        if not uri.is_remote(folder):
            raise error
        _log.warning('what is hidden in "%s" could not be removed: %s', uri.shown(folder), error)
        return frozenset()
