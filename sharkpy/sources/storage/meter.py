"""Metrics of the storage requests of statements and their tasks."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass

from sharkpy.base.cancellation import Cancellation, current_cancellation


@dataclass(frozen=True, slots=True)
class Requested:
    """Number of requests, each with all its tries, and the bytes of files that they have read."""

    requests: int = 0
    fetched_bytes: int = 0

    def __add__(self, other: Requested) -> Requested:
        return Requested(self.requests + other.requests, self.fetched_bytes + other.fetched_bytes)

    def __sub__(self, other: Requested) -> Requested:
        return Requested(self.requests - other.requests, self.fetched_bytes - other.fetched_bytes)


class Meter:
    """Metrics by statement, for as long as the statement exists. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = weakref.WeakKeyDictionary[Cancellation, Requested]()
        self._total = Requested()

    @property
    def total(self) -> Requested:
        """Metrics of this process, including metrics of tasks elsewhere that were added."""
        return self._total

    def of(self, statement: Cancellation | None) -> Requested:
        return Requested() if statement is None else self._known.get(statement.whole, Requested())

    def add(self, more: Requested, statement: Cancellation | None = None) -> None:
        """Add to a statement, by default the one of this thread. Parts of a statement count for the whole."""
        statement = statement or current_cancellation()
        with self._lock:
            self._total += more
            if statement is not None:
                self._known[statement.whole] = self.of(statement) + more


METER = Meter()
