"""Metrics of the storage requests of statements and their tasks, and the limit on the objects that a statement lists.

Names and sizes of listed objects are in memory until the statement ends.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import TypeVar

from sharkpy.base.cancellation import Cancellation, check_cancelled, current_cancellation
from sharkpy.base.errors import ResourceError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import STORAGE_FILES


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Number of requests, each with all its tries, and the bytes of files that they have read."""

    requests: int = 0
    fetched_bytes: int = 0

    def __add__(self, other: RequestCounts) -> RequestCounts:
        return RequestCounts(self.requests + other.requests, self.fetched_bytes + other.fetched_bytes)

    def __sub__(self, other: RequestCounts) -> RequestCounts:
        return RequestCounts(self.requests - other.requests, self.fetched_bytes - other.fetched_bytes)


class Meter:
    """Metrics by statement, for as long as the statement exists. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = weakref.WeakKeyDictionary[Cancellation, RequestCounts]()
        self._total = RequestCounts()

    @property
    def total(self) -> RequestCounts:
        """Metrics of this process, including metrics of tasks elsewhere that were added."""
        return self._total

    def of(self, statement: Cancellation | None) -> RequestCounts:
        return RequestCounts() if statement is None else self._known.get(statement.whole, RequestCounts())

    def add(self, more: RequestCounts, statement: Cancellation | None = None) -> None:
        """Add to a statement, by default the one of this thread. Parts of a statement count for the whole."""
        statement = statement or current_cancellation()
        with self._lock:
            self._total += more
            if statement is not None:
                self._known[statement.whole] = self.of(statement) + more


METER = Meter()


T = TypeVar("T")
_PAGE = 1000
"""Objects are counted in steps of this size, one page of a list."""


class _Allowance:
    """Number of objects that a statement may list, and how many of them are left."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.left = most


class ListLimit:
    """Number of objects that each statement with a limit has listed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._allowed = weakref.WeakKeyDictionary[Cancellation, _Allowance]()

    def allow(self, statement: Cancellation, most: int) -> None:
        """Allow a statement and its parts to list `most` objects; 0: any number."""
        if most:
            with self._lock:
                self._allowed[statement] = _Allowance(most)

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


LISTED = ListLimit()


def counted(objects: Iterable[T]) -> Iterator[T]:
    """Objects of a list, counted page by page; checks for cancellation."""
    number = 0
    for number, one in enumerate(objects, 1):
        if number % _PAGE == 0:
            check_cancelled()
            LISTED.count(_PAGE)
        yield one
    LISTED.count(number % _PAGE)
