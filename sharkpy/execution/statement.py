"""Running statement of a session: its cancellation, timeout, admission, progress and profiles."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from sharkpy.base.cancellation import Cancellation, current_cancellation
from sharkpy.base.errors import StatementTimeoutError
from sharkpy.base.records import dataclass
from sharkpy.execution.statement_figures import PROCESS_CPU, StatementFigures, TableLoad, loading_seconds

if TYPE_CHECKING:
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.physical.plan import PhysicalPlan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlanRun:
    """Run of a plan of the statement. `is_whole` if its last stage has ended."""

    profile: QueryProfile
    planned: PhysicalPlan
    """Plan before its first stage ran."""
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """Figures of the running stage; earlier stages of the query are complete."""

    stage: str
    stages_done: int
    tasks_done: int
    tasks_total: int
    rows_read: int
    queued_behind: int | None = None
    """Number of queries before it while it waits for admission."""
    notice: str | None = None
    """Message to the statement's user apart from its result; there are no figures then."""


ProgressListener = Callable[[Progress], None]


def ignore_progress(progress: Progress) -> None:
    """Do nothing; this is the default listener."""


_LEAST_SECONDS = 0.01
_numbers = itertools.count(1)


class Turn(Protocol):
    """Slot of the admission queue, which is used only while its statement works."""

    def resume(self) -> None: ...

    def pause(self) -> None: ...


class Statement(Cancellation):
    """Running statement of a session.

    1. One thread at a time enters `active`, while it works; in between, the reader of the rows works.
    2. The timeout runs, and the admission slot is used, only inside `active`.
    3. `end` is called once, after the last row or a failure.
    4. `listener` gets progress reports from any thread, and must not block.
    5. Figures and plans are kept for the history, the plans' text up to `plan_bytes`.
    """

    def __init__(
        self,
        timeout: float = 0.0,
        listener: ProgressListener = ignore_progress,
        plan_bytes: int = 0,
        most_runs: int = 0,
    ) -> None:
        """`most_runs`: the number of plans that it keeps until its record is made."""
        super().__init__()
        self._most_runs = most_runs
        self.turn: Turn | None = None
        self.query_id = ""
        """Id in the history; "" if the statement is not recorded."""
        self.kind = ""
        """SELECT, CREATE TABLE and so on; "" until it is known."""
        self.tag = ""
        """Label that its session gave it by shark.query.tag."""
        self.figures = StatementFigures()
        self.rows_read = 0
        """Rows sent to its reader."""
        self.rows_written = 0
        self.changed_rows = 0
        """Rows that the last finished write changed, of those it wrote."""
        self.malformed_rows = 0
        """Rows of streams that could not be parsed, in an epoch."""
        self.queued_seconds = 0.0
        self._planning_since: float | None = None
        self.loads: list[TableLoad] = []
        """Loads of tables for which it has waited."""
        self._num_shown_loads = 0
        self.progress: Progress | None = None
        self.plan = ""
        """Text of the plans that the statement has run."""
        self.runs: list[PlanRun] = []
        """Plans that the statement has run, until its record is made."""
        self.thread = 0
        """Native id of the thread that works for the statement; 0 if there is none."""
        self.grown_bytes = 0
        """Estimate of the bytes by which this process has grown for the statement."""
        self.alone_bytes = 0
        """Part of `grown_bytes` that was added while no other statement worked."""
        self.memory_limit = 0
        """Limit on the bytes it may use in this process; 0 means none."""
        self.number = next(_numbers)
        """Number unique among the statements of this process."""
        self._plan_bytes = plan_bytes
        self._listener = listener
        self._timeout = timeout
        self._clock = threading.Lock()
        self._num_active = 0
        """Number of current entries into `active`."""
        self._timer: threading.Timer | None = None
        self._spent = 0.0
        self._since: float | None = None
        self._cpu_thread = 0
        """Thread whose CPU time counts since `_cpu_since`."""
        self._cpu_since = 0.0
        self._is_over = False

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        self._resume()
        try:
            with super().active():
                yield
        finally:
            self._pause()

    @property
    def has_listener(self) -> bool:
        return self._listener is not ignore_progress

    def report(self, progress: Progress) -> None:
        if progress.notice is None:
            self.progress = progress
        self._listener(progress)

    def keep_plan(self, run: PlanRun, text: Callable[[], str]) -> None:
        """Add a plan that has run and its text, each within its bound."""
        if len(self.plan) < self._plan_bytes:
            self.plan = f"{self.plan}\n{text()}" if self.plan else text()
        if len(self.runs) < self._most_runs:
            self.runs.append(run)

    @property
    def is_active(self) -> bool:
        """Whether a thread works for the statement."""
        return self._since is not None

    @property
    def working_seconds(self) -> float:
        """Seconds spent inside `active` so far."""
        with self._clock:
            return self._spent + (time.monotonic() - self._since if self._since is not None else 0.0)

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Count the share of the process's CPU time that the body takes, which includes DuckDB's threads."""
        begun, own = PROCESS_CPU.begin(), time.thread_time()
        try:
            yield
        finally:
            seconds = PROCESS_CPU.end(begun)
            if self._cpu_thread == threading.get_ident():
                # `active` counts this thread's time.
                seconds -= time.thread_time() - own
            self.figures.cpu_seconds += seconds

    @contextlib.contextmanager
    def planning(self) -> Iterator[None]:
        """Count the time of the body as planning, without loads of tables. A query that is planned within it, as of
        WITH, is a part of it.
        """
        if self._planning_since is not None:
            yield
            return
        self._planning_since, num_before = time.perf_counter(), len(self.loads)
        try:
            yield
        finally:
            seconds = time.perf_counter() - self._planning_since - loading_seconds(self.loads[num_before:])
            self.figures.planning_seconds += max(0.0, seconds)
            self._planning_since = None

    def new_loads(self) -> list[TableLoad]:
        """Return the loads since the last call."""
        found = self.loads[self._num_shown_loads :]
        self._num_shown_loads += len(found)
        return found

    def add_run(self, seconds: float) -> None:
        """Count the last `seconds` as the run of a plan, though another query may be planned: the one of WITH ran."""
        if self._planning_since is not None:
            self._planning_since += seconds

    def end(self) -> None:
        with self._clock:
            self._is_over = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _resume(self) -> None:
        with self._clock:
            self._num_active += 1
            if self._num_active > 1:
                # A nested entry, or another thread of the statement: its time runs already.
                return
        if self.turn is not None:
            self.turn.resume()
        self.thread = threading.get_native_id()
        self._cpu_thread, self._cpu_since = threading.get_ident(), time.thread_time()
        with self._clock:
            self._since = time.monotonic()
            if self._timeout and self._timer is None and not self._is_over:
                self._arm(self._timeout - self._spent)

    def _pause(self) -> None:
        with self._clock:
            self._num_active -= 1
            if self._num_active:
                return
        self.thread = 0
        if self._cpu_thread == threading.get_ident():
            self.figures.cpu_seconds += time.thread_time() - self._cpu_since
        self._cpu_thread = 0
        with self._clock:
            if self._since is not None:
                self._spent += time.monotonic() - self._since
                self._since = None
        if self.turn is not None:
            self.turn.pause()

    def _arm(self, seconds: float) -> None:
        self._timer = threading.Timer(max(seconds, _LEAST_SECONDS), self._look)
        self._timer.name, self._timer.daemon = "sharkpy-timeout", True
        self._timer.start()

    def _look(self) -> None:
        """Cancel the statement if its working time exceeds the timeout. Otherwise set the timer again."""
        with self._clock:
            self._timer = None
            if self._since is None or self._is_over:
                return
            spent = self._spent + time.monotonic() - self._since
            if spent < self._timeout:
                self._arm(self._timeout - spent)
                return
        limit = f"shark.query.timeout, or the client, allows it {self._timeout:g} s"
        self.cancel(StatementTimeoutError(f"the statement took too long: {limit}"))


def computing(statement: Cancellation | None) -> contextlib.AbstractContextManager[None]:
    """Count the body's CPU time to `statement`, if it has figures."""
    return statement.computing() if isinstance(statement, Statement) else contextlib.nullcontext()


def planning(statement: Cancellation | None) -> contextlib.AbstractContextManager[None]:
    """Count the body's time as planning of `statement`, if it has figures."""
    return statement.planning() if isinstance(statement, Statement) else contextlib.nullcontext()


def measured_items(statement: Cancellation, items: Generator[T]) -> Generator[T]:
    """Yield `items`, and count the CPU time of each to `statement`."""
    try:
        while True:
            with computing(statement):
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
    finally:
        items.close()


_of_thread = threading.local()
"""`profiles` of the thread's plans in any session, since epochs in a statement have their own sessions."""


class PlanObservers:
    """Progress listeners of a session, and the profiles of a thread that collects them."""

    def __init__(self) -> None:
        self._listeners: list[ProgressListener] = []

    def add_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """Add a listener; the returned function removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def reporter(self) -> ProgressListener:
        """Return a listener that reports to all listeners and to this thread's statement."""
        statement = current_cancellation()

        def report(progress: Progress) -> None:
            for listener in list(self._listeners):
                listener(progress)
            if isinstance(statement, Statement):
                statement.report(progress)

        return report

    def notify(self, text: str) -> bool:
        """Send a notice to this thread's statement and the listeners. Return False if there is no listener."""
        statement = current_cancellation()
        if not self._listeners and not (isinstance(statement, Statement) and statement.has_listener):
            return False
        self.reporter()(Progress("notice", 0, 0, 0, 0, notice=text))
        return True

    @property
    def profiles(self) -> deque[QueryProfile] | None:
        return getattr(_of_thread, "profiles", None)

    @contextlib.contextmanager
    def collecting_profiles(self, most: int | None = None) -> Iterator[deque[QueryProfile]]:
        """Collect the profiles of this thread's plans, at most the last `most`."""
        profiles: deque[QueryProfile] = deque(maxlen=most)
        _of_thread.profiles = profiles
        try:
            yield profiles
        finally:
            _of_thread.profiles = None
