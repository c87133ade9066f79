"""Continuous queries that this process runs, and the times at which they are due again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import POOL, QUERY_TIMEOUT, STREAM_LOG_EPOCHS, USER
from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets
from sharkpy.execution.engine_session import EngineSession
from sharkpy.streaming.epoch_input import BoundQueryCache
from sharkpy.streaming.epoch_log import EpochFigures, EpochLog
from sharkpy.streaming.epoch_runner import EpochRunner
from sharkpy.streaming.state_folding import StateFolds

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import Position
    from sharkpy.streaming.readers import StreamReaders
    from sharkpy.streaming.sinks.program_sink import Programs
    from sharkpy.streaming.state_folding import BoundFoldCache

FOLDER = "streams"
"""Folder of the logs of epochs, next to the catalog."""
STREAM_POOL = "streams"
"""Pool of all epochs: their share of the engine next to users' queries."""
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


class ScheduledQueries:
    """Continuous queries that this process runs, by id: each has its own session and runner. Any thread may call it.

    The figures and bound forms of a query stay when its work here ends.
    """

    def __init__(
        self, catalog: Catalog, conf: Conf, new_session: NewSession, readers: StreamReaders, programs: Programs
    ) -> None:
        self._catalog = catalog
        self._conf = conf
        self._new_session = new_session
        self._readers = readers
        self._programs = programs
        self._folds = StateFolds(self._session_of)
        self._by_id: dict[str, ScheduledQuery] = {}
        self._figures: dict[str, EpochFigures] = {}
        self._bound: dict[str, BoundQueryCache] = {}
        self._lock = threading.RLock()
        self._is_closed = False
        self.folds_in_background = False
        """True if states are folded in a thread while epochs go on, unless a trigger ends."""

    def __iter__(self) -> Iterator[ScheduledQuery]:
        return iter(list(self._by_id.values()))

    def find(self, query_id: str) -> ScheduledQuery | None:
        """Return a query that this process runs, or None."""
        return self._by_id.get(query_id)

    def get(self, query_id: str) -> ScheduledQuery:
        """Return a query, which this process runs from now on. Raise ExecutionError 08003 if the engine is stopped."""
        with self._lock:
            if self._is_closed:
                raise ExecutionError("the engine is stopped", sqlstate="08003")
            if query_id not in self._by_id:
                query = self._catalog.streams.get(query_id)
                session, log = self._session_of(query), self.log(query_id)
                figures = self._figures.setdefault(query_id, EpochFigures())
                bound = self._bound.setdefault(query_id, BoundQueryCache())
                runner = EpochRunner(session, log, self._readers.of, figures, self._programs, bound, self._fold)
                self._by_id[query_id] = ScheduledQuery(runner, session, query)
            return self._by_id[query_id]

    @contextmanager
    def between_epochs(self, query_id: str) -> Iterator[ScheduledQuery]:
        """Yield a query with its current definition.

        No epoch of it begins here in the body, but another process may write one.
        """
        while True:
            scheduled = self.get(query_id)
            with scheduled.between_epochs():
                # Another thread may have ended it meanwhile.
                if self.find(query_id) is scheduled:
                    if scheduled.query.definition == self._catalog.streams.get(query_id).definition:
                        yield scheduled
                        return
                    self.end(query_id, scheduled)

    def end(self, query_id: str, only: ScheduledQuery | None = None) -> None:
        """End the work for a query. With `only`, do nothing if that work was ended before."""
        with self._lock:
            known = self._by_id.get(query_id)
            if known is None or (only is not None and known is not only):
                return
            del self._by_id[query_id]
        known.session.stop()
        known.runner.close()

    def figures(self, query_id: str) -> EpochFigures | None:
        """Return the figures of a query, or None if this process has not run it."""
        return self._figures.get(query_id)

    def log(self, query_id: str) -> EpochLog:
        """Return the log of a query's epochs."""
        path = str(Path(self._catalog.state_dir, FOLDER, f"{query_id}.jsonl"))
        return EpochLog(path, self._conf.value(STREAM_LOG_EPOCHS))

    def forget(self, query_id: str) -> None:
        """End the work for a dropped query, and forget its figures."""
        self.end(query_id)
        self._figures.pop(query_id, None)
        self._bound.pop(query_id, None)

    def close(self) -> None:
        """End the work for all queries, and the folds of their states."""
        with self._lock:
            self._is_closed = True
            known = list(self._by_id)
        for query_id in known:
            self.end(query_id)
        self._folds.close()

    def _session_of(self, query: ContinuousQuery) -> OwnSession:
        """Open a session with the settings and bounds of a query."""
        own = {POOL.key: STREAM_POOL, USER.key: query.user, QUERY_TIMEOUT.key: "0"}
        return self._new_session(dict(query.settings) | own, query.bounds)

    def _fold(self, query: ContinuousQuery, session: EngineSession, bound: BoundFoldCache) -> None:
        """Fold the state of a query: in the background while its epochs go on, else in the session of its epochs."""
        if query.trigger.ends or not self.folds_in_background:
            self._folds.now(query, session, bound)
        else:
            self._folds.begin(query, bound)
