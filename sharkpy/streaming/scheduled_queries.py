"""Continuous queries that this process runs, and the times at which they are due again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.cancellation import check_cancelled
from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets
from sharkpy.execution.engine_session import EngineSession

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import Position
    from sharkpy.streaming.epoch_runner import EpochRunner

_EAGER_LOOKS, _EAGER_SHARE = 200, 0.1
"""Number of looks after the last rows for which the wait is shorter, and its share: more input may follow soon."""
_IDLE_LOOKS, _IDLE_FACTOR = 20, 4
_CHECK_SECONDS = 0.05


class OwnSession(EngineSession, Protocol):
    """Session that belongs to the scheduler."""

    def stop(self) -> None: ...


NewSession = Callable[[Mapping[str, str], tuple[str, ...] | None], OwnSession]
"""Opens a session of the engine with settings and bounds."""


@contextmanager
def _held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock. Raise CancelledError if the wait for it is cancelled."""
    while not lock.acquire(timeout=_CHECK_SECONDS):
        check_cancelled()
    try:
        yield
    finally:
        lock.release()


@dataclass(slots=True)
class ScheduledQuery:
    """Continuous query that this process runs. `began` and `due` are times of the monotonic clock."""

    runner: EpochRunner
    session: OwnSession
    query: ContinuousQuery
    """The query when the runner was made. A query with another definition gets another runner."""
    began: float = 0.0
    """Start of the last look."""
    due: float = 0.0
    has_news: bool = False
    """True if items have arrived since that look."""
    idle: int = 0
    """Number of looks since the last epoch."""
    seen: dict[str, Position] | None = None
    """Ends of its streams, by id, when there was nothing to read; None if the query needs a full step."""
    offsets: Offsets = ()
    """Offsets of the query at that time."""
    failures: int = 0
    is_busy: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that runs an epoch."""
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that is between epochs, or waits for the end of one."""

    @contextmanager
    def between_epochs(self) -> Iterator[None]:
        """Wait for the end of an epoch, and let none begin in the body.

        Raise CancelledError if the wait is cancelled.
        """
        with _held(self.turn), _held(self.lock):
            yield

    @property
    def is_awaited(self) -> bool:
        """True if a thread waits for the end of an epoch. The next epoch has to begin later."""
        return self.turn.locked()

    def patience(self, *, is_told: bool) -> float:
        """Return the wait between two looks, as a multiple of the usual time.

        It grows with the number of looks that found nothing. `is_told`: the system reports new items.
        """
        if is_told:
            return _IDLE_FACTOR
        if self.idle <= _EAGER_LOOKS:
            return _EAGER_SHARE
        return min(1 + (self.idle - _EAGER_LOOKS) // _IDLE_LOOKS, _IDLE_FACTOR)

    def is_quiet(self, query: ContinuousQuery) -> bool:
        """Return True if the last step found nothing to read, and `query` has not changed since."""
        is_same = query.definition == self.query.definition and query.offsets == self.offsets
        return is_same and self.seen is not None and not query.fault and not self.has_news
