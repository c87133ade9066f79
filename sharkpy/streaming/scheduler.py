"""Scheduler of an engine's continuous queries: looks at their sources, and runs their epochs."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.cleanup import at_end_of_program
from sharkpy.base.errors import (
    BindError,
    CancelledError,
    InternalError,
    SharkError,
    TableChangedError,
)
from sharkpy.base.settings import STREAM_EPOCHS, STREAM_POLL_MS
from sharkpy.catalog.continuous_query import ContinuousQuery, Position, QueryState, items_between
from sharkpy.catalog.stream_kinds import sink_kind
from sharkpy.execution.engine_session import EngineSession
from sharkpy.streaming.epoch_log import EpochFigures, EpochLog
from sharkpy.streaming.epoch_runner import is_passing, is_running, run_to_end
from sharkpy.streaming.interruptible_sleep import InterruptibleSleep
from sharkpy.streaming.lease import Lease
from sharkpy.streaming.partition_times import partition_times
from sharkpy.streaming.readers import StreamReaders
from sharkpy.streaming.scheduled_queries import FOLDER, NewSession, ScheduledQueries, ScheduledQuery
from sharkpy.streaming.sinks.program_sink import Console, Programs

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.epoch_store import RetainedEpoch
    from sharkpy.catalog.model import Table
    from sharkpy.execution.commands.writes.staged_write import StagedWrite

_LEASE_SECONDS = 1.0
"""Interval at which a process without the lease asks for it."""
_LIST_SECONDS = 0.5
"""Interval at which the catalog is asked for queries that other processes have made."""
_SHARED_SECONDS = 0.01
"""Time for which a look at a source counts for all queries of its stream."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""First and longest wait until a failed epoch is retried, in seconds. The wait doubles each time."""
_log = logging.getLogger(__name__)


class StreamSession(EngineSession, Protocol):
    """Session of an engine that can run continuous queries."""

    @property
    def streams(self) -> StreamScheduler: ...


class StreamScheduler:
    """Scheduler of the continuous queries of a warehouse, in one engine.

    1. `start` is for long-lived processes: a thread runs the epochs of all running queries while it has the warehouse's
       lease. `run_now` runs a query over the available input, in the caller's thread.
    2. Two processes may run the same epoch: the catalog lets only one of them commit it.
    3. An epoch that fails for a temporary reason is retried with the same ranges. Other errors stop its query.
    """

    def __init__(
        self,
        catalog: Catalog,
        conf: Conf,
        new_session: NewSession,
        console: Callable[[], Console | None] = lambda: None,
    ) -> None:
        """`console` returns the console of an interactive shell, or None."""
        self._catalog = catalog
        self._conf = conf
        self.readers = StreamReaders(catalog, conf, self.arrived)
        self.programs = Programs(str(Path(catalog.state_dir, FOLDER)), console)
        self._queries = ScheduledQueries(catalog, conf, new_session, self.readers, self.programs)
        self._lease = Lease(str(Path(catalog.state_dir, "streams.lock")))
        self._lock = threading.RLock()
        self._stopping = threading.Lock()
        self._sleep = InterruptibleSleep()
        self._num_queued = 0
        """Pieces of work that wait for a thread of the pool."""
        self._is_listed = False
        """True if the list of running queries is up to date, as far as this process knows."""
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        self._pool: ThreadPoolExecutor | None = None

    # For callers

    def start(self) -> None:
        """Run the epochs of all running queries from now on."""
        with self._lock:
            if self._thread is not None or self._is_stopped or self._catalog.is_read_only:
                return
            self._pool = ThreadPoolExecutor(self._conf.value(STREAM_EPOCHS), "epoch")
            self._thread = threading.Thread(target=self._run, name="streams", daemon=True)
            self._queries.folds_in_background = True
            self._thread.start()
            at_end_of_program(self.stop)

    def wake(self) -> None:
        """Look at the queries at once, since one was made or its state has changed."""
        self._is_listed = False
        self._sleep.end()

    def run_now(self, query_id: str) -> None:
        """Run the epochs of a query whose trigger ends, over the available input, and mark the query as finished.

        Raise the error of an epoch that fails, which also stops the query.
        """
        with self._queries.between_epochs(query_id) as scheduled:
            try:
                run_to_end(query_id, scheduled.runner, self._name(query_id))
            except SharkError as error:
                self._note(query_id, QueryState.STOPPED, str(error))
                raise
            self._note(query_id, QueryState.FINISHED)
            self._queries.end(query_id, scheduled)

    def arrived(self, stream: str) -> None:
        """Look at a stream at once, since this process has added items, or the system has reported new ones."""
        waiting = [one for one in self._queries if stream in one.query.streams and not one.failures]
        for one in waiting:
            one.has_news, one.idle = True, 0
            one.due = min(one.due, one.began + one.query.trigger.seconds)
        # A thread that is busy with a query finds the news afterwards.
        if not all(one.is_busy for one in waiting):
            self._sleep.end()

    def figures(self, query_id: str) -> EpochFigures | None:
        """Return the figures of a query, or None if this process has not run it."""
        return self._queries.figures(query_id)

    def log(self, query_id: str) -> EpochLog:
        """Return the log of a query's epochs."""
        return self._queries.log(query_id)

    def lag(self, query: ContinuousQuery) -> int:
        """Return the number of items that were found in a query's streams and that it has not read yet."""
        return sum(items_between(query.offset(one), self.readers.seen(one)) for one in query.streams)

    def partition_times(self, query: ContinuousQuery, stream: Table) -> Mapping[int, datetime]:
        """Return the latest event times of a stream's partitions, by their last records that a query has read.

        Return {} if this process does not run the query, or the query waits after an error.
        """
        known = self._queries.find(query.query_id)
        if known is None or known.failures:
            return {}
        return partition_times(stream, self.readers.of(stream), query.offset(stream.table_id), known.session)

    def forget(self, query_id: str) -> None:
        """End the work for a dropped query, and remove its log."""
        self._queries.forget(query_id)
        self.log(query_id).remove()
        self.programs.forget(query_id)

    def pause(self, query_id: str) -> None:
        """Wait for the end of a running epoch. No other one begins after it, since the query is no longer running."""
        known = self._queries.find(query_id)
        if known is not None:
            with known.between_epochs():
                pass

    def restart(self, query_id: str, emptied: Callable[[], StagedWrite]) -> None:
        """Start a query over from the first items of its streams. `emptied` makes the write that empties its table.

        Raise BindError 55000 if items are gone.
        """
        with self._queries.between_epochs(query_id) as scheduled:
            scheduled.runner.restart(self._catalog.streams.get(query_id), emptied)

    def roll_back(self, query_id: str, to: RetainedEpoch, written: Callable[[], StagedWrite]) -> None:
        """Make `to` the query's last epoch again.

        `written` makes the write that restores the table's rows of that epoch. Raise BindError 55000 if items that must
        be read again are gone.
        """
        with self._queries.between_epochs(query_id) as scheduled:
            scheduled.runner.roll_back(self._catalog.streams.get(query_id), to, written)

    def stop(self) -> None:
        """End all epochs and the threads. Unpublished epochs run again later. Idempotent."""
        with self._stopping:
            if not self._is_stopped:
                self._stop()

    def _stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            thread, pool = self._thread, self._pool
        self.wake()
        self.readers.end_looks()
        self._queries.close()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        if thread is not None:
            thread.join()
        self.readers.close()
        self._sleep.close()
        self._lease.release()
        self.programs.close()

    # The thread

    def _run(self) -> None:
        listed, asked, queries = 0.0, -_LEASE_SECONDS, list[ContinuousQuery]()
        quiet = list[ScheduledQuery]()
        while not self._is_stopped:
            now = time.monotonic()
            if not self._lease.is_held and now - asked >= _LEASE_SECONDS:
                asked = now
                self._lease.take()
            if not self._lease.is_held and not self.programs:
                self._sleep.sleep(_LEASE_SECONDS)
                continue
            try:
                if not self._is_listed or now - listed >= _LIST_SECONDS:
                    self._is_listed = True
                    queries, listed = self._running(), now
                due = min((self._begin(query, now, quiet) for query in queries), default=now + _LIST_SECONDS)
                self._begin_quiet(quiet)
            except SharkError as error:
                self._warn("continuous queries cannot be looked at: %s", error)
                due = now + _LEASE_SECONDS
            due = min(due, listed + _LIST_SECONDS)
            while self._sleep.sleep(due - time.monotonic(), self._awaited()):
                # If this is news for a query, `arrived` ends the sleep.
                self.readers.events.hear()

    def _awaited(self) -> Collection[int]:
        """Return the file descriptors that report arrivals; none if all queries are busy.

        The threads of busy queries find new items by themselves.
        """
        is_idle = any(not one.is_busy for one in self._queries)
        return self.readers.events.files if is_idle else ()

    def _running(self) -> list[ContinuousQuery]:
        running = [query for query in self._catalog.streams.queries() if is_running(query)]
        present = {query.query_id for query in running}
        for known in self._queries:
            if known.query.query_id not in present and known.lock.acquire(blocking=False):
                try:
                    self._queries.end(known.query.query_id, known)
                finally:
                    known.lock.release()
        found = [query for query in running if not query.trigger.ends and self._runs_here(query)]
        self.readers.events.retain({stream for query in found for stream in query.streams})
        return found

    def _runs_here(self, query: ContinuousQuery) -> bool:
        """Return True if this process runs a query.

        A sink with a program runs in the process of its program. Other queries run in the process with the lease.
        """
        table = self._catalog.named(query)
        if table is not None and table.is_continuous_sink and sink_kind(table).taker:
            return self.programs.takes(table)
        return self._lease.is_held

    def _begin(self, query: ContinuousQuery, now: float, quiet: list[ScheduledQuery]) -> float:
        """Hand a due query to a thread of the pool, or add it to `quiet`. Return the time at which it is due next."""
        try:
            scheduled = self._queries.get(query.query_id)
        except BindError:
            self._is_listed = False
            return now + _LIST_SECONDS
        if scheduled.is_busy:
            return now + _LIST_SECONDS
        if scheduled.due > now:
            return scheduled.due
        if scheduled.is_quiet(query):
            quiet.append(scheduled)
        else:
            self._submit([scheduled], self._run_due_query, query.query_id, scheduled)
        return now + _LIST_SECONDS

    def _submit(self, busy: Sequence[ScheduledQuery], work: Callable[..., None], *arguments: object) -> None:
        """Run `work` in a thread of the pool. Until it is done, the `busy` queries are not begun again."""
        pool = self._pool
        assert pool is not None  # `start` made it before the thread
        for one in busy:
            one.is_busy = True
        self._count_queued(1)
        try:
            pool.submit(self._work, work, *arguments)
        except RuntimeError:
            self._count_queued(-1)
            for one in busy:
                one.is_busy = False

    def _work(self, work: Callable[..., None], *arguments: object) -> None:
        self._count_queued(-1)
        work(*arguments)

    def _count_queued(self, more: int) -> None:
        with self._lock:
            self._num_queued += more

    def _begin_quiet(self, quiet: list[ScheduledQuery]) -> None:
        """Let one thread look at the streams of all due quiet queries."""
        if quiet:
            found = list(quiet)
            quiet.clear()
            self._submit(found, self._look_at, found)

    def _look_at(self, quiet: Sequence[ScheduledQuery]) -> None:
        """Look for new items for quiet queries. A stream that several of them read is looked at once.

        Queries that have something to do are due at once.
        """
        began, ends = time.monotonic(), dict[str, Position | None]()
        for one in quiet:
            one.began, one.has_news = began, False
            one.idle += 1
            try:
                for stream in one.query.streams:
                    if stream not in ends:
                        ends[stream] = self.readers.look(stream, _SHARED_SECONDS)
                is_quiet = one.seen == {stream: ends[stream] for stream in one.query.streams}
            except SharkError:
                is_quiet = False
            # Queries that have been idle for long are due together.
            wait = self._pause_after(one)
            one.due = max(began + one.query.trigger.seconds, (began // wait + 1) * wait) if wait else 0.0
            if one.has_news or not is_quiet:
                one.due, one.seen = 0.0, None
            one.is_busy = False
        self._sleep.end()

    def _run_due_query(self, query_id: str, scheduled: ScheduledQuery) -> None:
        """Run the epochs of a query that can run, and set when the query is due again."""
        wait, least = 0.0, math.inf
        try:
            wait = self._run_epochs(query_id, scheduled)
            least = scheduled.query.trigger.seconds
        except CancelledError:
            wait = _LIST_SECONDS
        except SharkError as error:
            wait = self._failed(query_id, scheduled, error)
        except Exception as error:  # noqa: BLE001  the other queries go on
            if not self._is_stopped:
                _log.exception("%s has failed", self._name(query_id))
            wait = self._failed(query_id, scheduled, InternalError(f"{type(error).__name__}: {error}"))
        finally:
            scheduled.due = scheduled.began + wait
            if scheduled.has_news:
                scheduled.due = min(scheduled.due, scheduled.began + least)
            scheduled.is_busy = False
            self._sleep.end()

    def _run_epochs(self, query_id: str, scheduled: ScheduledQuery) -> float:
        """Run epochs of a query in this thread until one has to wait, or until other work or another thread waits.

        Return the seconds from the last look to the time at which the query is due again.
        """
        while True:
            scheduled.began = time.monotonic()
            scheduled.has_news, scheduled.seen = False, None
            with scheduled.lock:
                wait = self._step(query_id, scheduled)
            is_here = self._queries.find(query_id) is scheduled
            if wait > 0 or self._num_queued or scheduled.is_awaited or not is_here:
                return wait

    def _step(self, query_id: str, scheduled: ScheduledQuery) -> float:
        """Run one epoch, if there is input for it. Return the seconds after which the query is due again."""
        query = self._catalog.streams.find(query_id)
        if query is None or not is_running(query) or self._is_stopped:
            return _LIST_SECONDS
        if query.definition != scheduled.query.definition:
            self._queries.end(query_id, scheduled)
            return 0.0
        runner = scheduled.runner
        view = runner.look(query, _SHARED_SECONDS)
        ranges = runner.next_ranges(view)
        if not ranges:
            scheduled.idle += 1
            scheduled.seen, scheduled.offsets = view.ends, query.offsets
            if query.fault or runner.figures.fault:
                self._note(query_id, QueryState.RUNNING)
                runner.figures.fault = ""
            return max(query.trigger.seconds, self._pause_after(scheduled))
        scheduled.idle = 0
        runner.run(view, ranges)
        runner.figures.fault = ""
        runner.release(view)
        scheduled.failures = 0
        return query.trigger.seconds

    def _failed(self, query_id: str, scheduled: ScheduledQuery, error: SharkError) -> float:
        """Record the error of an epoch. Return the seconds after which the epoch is retried."""
        if isinstance(error, TableChangedError):
            # Another process was faster, or a table was dropped: read the catalog again.
            self._queries.end(query_id, scheduled)
            return 0.0
        if self._is_stopped:
            return _LIST_SECONDS
        scheduled.runner.figures.failures += 1
        if not is_passing(error):
            _log.warning("%s was stopped: %s", self._name(query_id), error)
            self._note_fault(query_id, QueryState.STOPPED, scheduled, error)
            return _LIST_SECONDS
        wait = min(_FIRST_WAIT * float(2**scheduled.failures), _LONGEST_WAIT)
        scheduled.failures = min(scheduled.failures + 1, 10)
        _log.warning("%s waits for %g s: %s", self._name(query_id), wait, error)
        self._note_fault(query_id, QueryState.RUNNING, scheduled, error)
        return wait

    def _pause_after(self, scheduled: ScheduledQuery) -> float:
        """Return the seconds until the next look at the streams of a query that has nothing to read."""
        is_told = all(map(self.readers.events.tells, scheduled.query.streams))
        return self._conf.value(STREAM_POLL_MS) / 1000 * scheduled.patience(is_told=is_told)

    # Parts

    def _name(self, query_id: str) -> str:
        """Return a query's kind and name, for messages."""
        query = self._catalog.streams.find(query_id)
        table = None if query is None else self._catalog.named(query)
        return query_id if table is None else f"the {table.streaming_kind} {table.qualified_name}"

    def _warn(self, text: str, error: SharkError) -> None:
        """Log an error, unless the engine is stopping, which may have caused it."""
        if not self._is_stopped:
            _log.warning(text, error)

    def _note(self, query_id: str, state: QueryState, fault: str = "") -> None:
        """Record a state in the catalog, if the query is still running."""
        with self._catalog.transaction():
            query = self._catalog.streams.find(query_id)
            if is_running(query) and query is not None and (query.state, query.fault) != (state, fault):
                self._catalog.streams.set_state(query_id, state, fault)

    def _note_fault(self, query_id: str, state: QueryState, scheduled: ScheduledQuery, fault: SharkError) -> None:
        """Record an error, at least in this process: on a full disk the catalog may have no room for it."""
        figures = scheduled.runner.figures
        try:
            self._note(query_id, state, str(fault))
        except SharkError as error:
            _log.warning("the state of %s cannot be noted: %s", self._name(query_id), error)
            figures.fault = str(fault)
        else:
            figures.fault = ""
