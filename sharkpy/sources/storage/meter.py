"""Figures of the requests to storage that statements, and tasks of theirs, have made."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass

from sharkpy.base.cancellation import Cancellation, current_cancellation


@dataclass(frozen=True, slots=True)
class Requested:
    """Number of requests, each with all its tries, and the bytes that they have read of files."""

    requests: int = 0
    fetched_bytes: int = 0

    def __add__(self, other: Requested) -> Requested:
        return Requested(self.requests + other.requests, self.fetched_bytes + other.fetched_bytes)

    def __sub__(self, other: Requested) -> Requested:
        return Requested(self.requests - other.requests, self.fetched_bytes - other.fetched_bytes)


class Meter:
    """Figures by the statement that a request was made under, for as long as that is there; safe to use from several
    threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = weakref.WeakKeyDictionary[Cancellation, Requested]()
        self._total = Requested()

    @property
    def total(self) -> Requested:
        """Figures of this process, with those of tasks elsewhere that were added."""
        return self._total

    def of(self, statement: Cancellation | None) -> Requested:
        return Requested() if statement is None else self._known.get(statement.whole, Requested())

    def add(self, more: Requested, statement: Cancellation | None = None) -> None:
        """Count for a statement, or for the one that this thread works for; parts count for the whole."""
        statement = statement or current_cancellation()
        with self._lock:
            self._total += more
            if statement is not None:
                self._known[statement.whole] = self.of(statement) + more


METER = Meter()
