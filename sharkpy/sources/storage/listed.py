"""Limit on the objects that one statement lists, whose names and sizes are in memory until it ends."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import TypeVar

from sharkpy.base.cancellation import Cancellation, check_cancelled, current_cancellation
from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import STORAGE_FILES

T = TypeVar("T")
_PAGE = 1000
"""Objects are counted in steps of this size, one page of a list."""


class _Allowed:
    """Number of objects that a statement may list, and how many of them are left."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.left = most


class ListedObjects:
    """Number of objects that each statement with a limit has listed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._allowed = weakref.WeakKeyDictionary[Cancellation, _Allowed]()

    def allow(self, statement: Cancellation, most: int) -> None:
        """Allow a statement and its parts to list `most` objects; 0: any number."""
        if most:
            with self._lock:
                self._allowed[statement] = _Allowed(most)

    def count(self, number: int) -> None:
        """Count objects for the statement of this thread; ResourceError 54000 if there are too many."""
        one = current_cancellation()
        with self._lock:
            while one is not None and one not in self._allowed:
                one = one.outer
            if one is None:
                return
            allowed = self._allowed[one]
            allowed.left -= number
            if allowed.left >= 0:
                return
        message = f"the statement lists more than {allowed.most:,} files in buckets and other remote folders"
        hint = f"name fewer folders or partitions, or raise {STORAGE_FILES.key}"
        raise ResourceError(message, hint=hint, sqlstate="54000")


LISTED = ListedObjects()


def counted(objects: Iterable[T]) -> Iterator[T]:
    """Objects of a list, counted page by page; checks for cancellation."""
    number = 0
    for number, one in enumerate(objects, 1):
        if number % _PAGE == 0:
            check_cancelled()
            LISTED.count(_PAGE)
        yield one
    LISTED.count(number % _PAGE)
