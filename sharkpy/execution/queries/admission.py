"""Admission of queries: a limited number at once, fair among pools, short queries separate from long ones.

Each pool has a first-in, first-out queue. A free slot goes to the pool that has used the least time of the lane for its
weight. Short queries have a lane of their own and never wait for long ones. A query that exceeds its lane's time moves
to the next lane, so that other queries need not wait for it.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.errors import ResourceError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf

if TYPE_CHECKING:
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.statement import Statement

_LOOK_SECONDS = 0.25
_SHORT_SECONDS = 1.0
_LONG_SECONDS = 10.0


@dataclass(slots=True)
class _Share:
    """Share of a pool in a lane: its weighted use in seconds, and its waiting queries."""

    used: float = 0.0
    waiting: deque[Turn] = field(default_factory=deque)


@dataclass(slots=True)
class _Lane:
    most: Callable[[], int]
    """Limit on queries that run at once."""
    seconds: float
    """Seconds after which a query moves to the next lane, if that lane has room."""
    running: set[Turn] = field(default_factory=set)
    shares: dict[str, _Share] = field(default_factory=dict)
    least: float = 0.0
    """Use of the pool served last. New pools start from it and so have no credit."""

    @property
    def num_waiting(self) -> int:
        return sum(len(share.waiting) for share in self.shares.values())


LANES = ("short", "long", "longest")


@dataclass(slots=True, eq=False)
class Turn:
    """Turn of a query: waiting, running, or paused until its next rows are read."""

    admission: Admission
    lane: _Lane
    pool: Pool
    since: float = 0.0
    woken: threading.Event = field(default_factory=threading.Event)

    def pause(self) -> None:
        """Free the slot: the query does nothing until its next rows are read."""
        self.admission.leave(self)

    def resume(self) -> None:
        """Continue at once, even beyond the limit on running queries."""
        self.admission.enter(self)


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """Queries of a pool in a lane. `used_seconds` are weighted, since queries began to wait for each other."""

    pool: str
    running: int
    waiting: int
    used_seconds: float


@dataclass(frozen=True, slots=True)
class LaneUsage:
    """Queries in a lane, which takes `limit` of them at once, and its pools by name.

    After `seconds` a query moves to the next lane; None: it stays.
    """

    lane: str
    seconds: float | None
    limit: int
    running: int
    waiting: int
    pools: list[PoolUsage]


class Admission:
    """Admission for all sessions of an engine; `conf` is the engine owner's."""

    def __init__(self, conf: Conf, num_cores: Callable[[], int]) -> None:
        self._conf = conf
        self._num_cores = num_cores
        self._lock = threading.Lock()
        self._short = _Lane(lambda: 2 * num_cores(), _SHORT_SECONDS)
        self._long = _Lane(self._most_long, _LONG_SECONDS)
        self._endless = _Lane(self._most_endless, math.inf)
        self._lanes = (self._short, self._long, self._endless)

    def _most_long(self) -> int:
        """Limit on long queries: one in the driver can use all cores, so more would only take turns."""
        return self._conf.value(settings.QUERY_CONCURRENT) or max(1, self._num_cores() // 2)

    def _most_endless(self) -> int:
        return 0 if self._conf.value(settings.QUERY_CONCURRENT) else self._num_cores()

    @property
    def num_running(self) -> int:
        return sum(len(lane.running) for lane in self._lanes)

    @property
    def num_waiting(self) -> int:
        return sum(lane.num_waiting for lane in self._lanes)

    def usage(self) -> list[LaneUsage]:
        """Return the queries in each lane, from the short ones to the longest."""
        with self._lock:
            return [_usage(name, lane) for name, lane in zip(LANES, self._lanes, strict=True)]

    @contextmanager
    def turn(self, work_rows: int, pool: Pool, statement: Statement, report: Callable[[int], None]) -> Iterator[None]:
        """Wait for the query's turn and run the body in it.

        While it waits, `report` gets the number of queries before it. Raise ResourceError 53300 if too many queries
        wait, or this one has waited too long.
        """
        if not work_rows or statement.turn is not None:
            yield
            return
        lane = self._short if work_rows <= self._conf.value(settings.QUERY_SHORT_ROWS) else self._long
        turn = Turn(self, lane, pool)
        if not self._is_admitted(turn):
            self._wait(turn, statement, report)
        statement.turn = turn
        try:
            yield
        finally:
            statement.turn = None
            self.leave(turn)

    def enter(self, turn: Turn) -> None:
        with self._lock:
            self._start(turn)

    def leave(self, turn: Turn) -> None:
        with self._lock:
            if turn in turn.lane.running:
                self._stop(turn)
                self._call_next(turn.lane)

    def _is_admitted(self, turn: Turn) -> bool:
        """Start the query and return True, or put it in its pool's queue."""
        with self._lock:
            lane = turn.lane
            if not lane.num_waiting and len(lane.running) < lane.most():
                self._start(turn)
                return True
            most = self._conf.value(settings.QUERY_QUEUE)
            if self.num_waiting >= most:
                raise ResourceError(
                    f"{self.num_waiting} queries are waiting already: shark.query.queue.max allows {most}",
                    hint="try again later",
                    sqlstate="53300",
                )
            share = lane.shares.setdefault(turn.pool.name, _Share())
            if not share.waiting:
                share.used = max(share.used, lane.least)
            share.waiting.append(turn)
            return False

    def _wait(self, turn: Turn, statement: Statement, report: Callable[[int], None]) -> None:
        patience = self._conf.value(settings.QUERY_QUEUE_TIMEOUT)
        start = time.monotonic()
        forget = statement.on_cancel(turn.woken.set)
        try:
            while not self._is_running(turn):
                statement.check()
                waited = time.monotonic() - start
                if patience and waited >= patience:
                    raise ResourceError(
                        f"the query could not start: shark.query.queue.timeout allows it to wait {patience:g} s",
                        hint="try again later",
                        sqlstate="53300",
                    )
                report(self._num_before(turn))
                turn.woken.wait(min(_LOOK_SECONDS, patience - waited) if patience else _LOOK_SECONDS)
        except BaseException:
            self._give_up(turn)
            raise
        finally:
            forget()

    def _is_running(self, turn: Turn) -> bool:
        with self._lock:
            self._move_slow_ones()
            return turn in turn.lane.running

    def _num_before(self, turn: Turn) -> int:
        """Number of waiting queries before this one.

        They are the earlier ones of its pool, and at most as many of each other pool.
        """
        with self._lock:
            share = turn.lane.shares[turn.pool.name]
            place = share.waiting.index(turn) if turn in share.waiting else 0
            others = (min(len(other.waiting), place + 1) for other in turn.lane.shares.values() if other is not share)
            return place + sum(others)

    def _give_up(self, turn: Turn) -> None:
        with self._lock:
            share = turn.lane.shares[turn.pool.name]
            if turn in share.waiting:
                share.waiting.remove(turn)
            if turn in turn.lane.running:
                self._stop(turn)
            self._call_next(turn.lane)

    # Called under the lock

    def _start(self, turn: Turn) -> None:
        turn.since = time.monotonic()
        turn.lane.running.add(turn)

    def _stop(self, turn: Turn) -> None:
        turn.lane.running.discard(turn)
        share = turn.lane.shares.setdefault(turn.pool.name, _Share(turn.lane.least))
        share.used += (time.monotonic() - turn.since) / max(turn.pool.weight, 1)

    def _call_next(self, lane: _Lane) -> None:
        while len(lane.running) < lane.most():
            queues = [share for share in lane.shares.values() if share.waiting]
            if not queues:
                # If no query waits, past use no longer matters.
                lane.shares = {turn.pool.name: lane.shares.get(turn.pool.name, _Share()) for turn in lane.running}
                return
            share = min(queues, key=lambda one: one.used)
            lane.least = share.used
            turn = share.waiting.popleft()
            self._start(turn)
            turn.woken.set()

    def _move_slow_ones(self) -> None:
        """Move queries that exceed their lane's time to the next lane."""
        now = time.monotonic()
        for lane, following in itertools.pairwise(self._lanes):
            for turn in [turn for turn in lane.running if now - turn.since > lane.seconds]:
                # Slow queries leave the short lane even if the next lane is full: the queries waiting in it are
                # shorter.
                if lane is self._short or len(following.running) < following.most():
                    self._stop(turn)
                    turn.lane = following
                    self._start(turn)
            self._call_next(lane)


def _usage(name: str, lane: _Lane) -> LaneUsage:
    running = Counter(turn.pool.name for turn in lane.running)
    names = sorted({*running, *lane.shares})
    shares = ((one, lane.shares.get(one, _Share())) for one in names)
    pools = [PoolUsage(one, running[one], len(share.waiting), share.used) for one, share in shares]
    seconds = None if math.isinf(lane.seconds) else lane.seconds
    return LaneUsage(name, seconds, lane.most(), len(lane.running), lane.num_waiting, pools)
