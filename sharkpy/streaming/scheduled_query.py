"""Continuous query that a process runs, and when it is to be looked after again."""

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
    from sharkpy.catalog.position import Position
    from sharkpy.streaming.epoch_runner import EpochRunner

_EAGER_LOOKS, _EAGER_SHARE = 200, 0.1
"""Looks behind the last rows, for which less time is waited: where something came more may follow."""
_IDLE_LOOKS, _IDLE_FACTOR = 20, 4
_CHECK_SECONDS = 0.05


class OwnSession(EngineSession, Protocol):
    """Session of the scheduler's own."""

    def stop(self) -> None: ...


NewSession = Callable[[Mapping[str, str], tuple[str, ...] | None], OwnSession]
"""Opens a session of the engine under some settings, within some bounds."""


@contextmanager
def _held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; CancelledError where waiting for it is cancelled."""
    while not lock.acquire(timeout=_CHECK_SECONDS):
        check_cancelled()
    try:
        yield
    finally:
        lock.release()


@dataclass(slots=True)
class ScheduledQuery:
    """Continuous query that this process runs. `due`: by the monotonic clock."""

    runner: EpochRunner
    session: OwnSession
    query: ContinuousQuery
    """As it was when the runner was made; its definition is that of now."""
    began: float = 0.0
    """When it was looked at last."""
    due: float = 0.0
    has_news: bool = False
    """Something has arrived since."""
    idle: int = 0
    """Looks since the last epoch."""
    seen: dict[str, Position] | None = None
    """Where its streams ended when nothing was to be read; None: it has to be looked after as a whole."""
    offsets: Offsets = ()
    """Up to where it had read then."""
    failures: int = 0
    is_busy: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that runs an epoch."""
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that is between epochs, or waits for the end of one."""

    @contextmanager
    def between_epochs(self) -> Iterator[None]:
        """Wait for the end of an epoch, and let none begin in the body; CancelledError where that is cancelled."""
        with _held(self.turn), _held(self.lock):
            yield

    @property
    def is_awaited(self) -> bool:
        """True if somebody waits for the end of an epoch: the next one has to be begun later."""
        return self.turn.locked()

    def patience(self, *, is_told: bool) -> float:
        """Share of the usual time between two looks, after so many that have found nothing, or where somebody tells
        what comes.
        """
        if is_told:
            return _IDLE_FACTOR
        if self.idle <= _EAGER_LOOKS:
            return _EAGER_SHARE
        return min(1 + (self.idle - _EAGER_LOOKS) // _IDLE_LOOKS, _IDLE_FACTOR)

    def is_quiet(self, query: ContinuousQuery) -> bool:
        """True if nothing was to be read when it was looked after, and it is the same `query` now."""
        is_same = query.definition == self.query.definition and query.offsets == self.offsets
        return is_same and self.seen is not None and not query.fault and not self.has_news
