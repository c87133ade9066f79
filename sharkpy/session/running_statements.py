"""Running statements of a session: they have begun and not ended."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.errors import (
    CancelledError,
    ExecutionError,
    InternalError,
    SharkError,
    StatementClosedError,
    StatementTimeoutError,
)
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import redacted
from sharkpy.catalog.statement_records import StatementRecord, StatementState, cut_text
from sharkpy.execution.statement import Statement, ignore_progress

if TYPE_CHECKING:
    from sharkpy.execution.statement import Progress, ProgressListener
    from sharkpy.session.history import StatementHistory

PYTHON = "PYTHON"
"""Kind of work that a program starts without the text of a statement."""
MOST_RUNS = 20
"""Largest number of plans of a statement whose operators are in its profile."""
_ENDS: tuple[tuple[type[BaseException], StatementState], ...] = (
    (GeneratorExit, StatementState.CLOSED),
    (StatementClosedError, StatementState.CLOSED),
    (StatementTimeoutError, StatementState.TIMED_OUT),
    (CancelledError, StatementState.CANCELLED),
    (KeyboardInterrupt, StatementState.CANCELLED),
)
"""States by the kind of error that ended a statement; the first match counts. Any other error is a failure."""


def new_query_id() -> str:
    """Return a new id in the server's form."""
    return f"sharkpy_{secrets.token_urlsafe(12)}"


@dataclass(frozen=True, slots=True)
class StatementTitle:
    """Names by which a statement is listed."""

    query_id: str
    text: str
    """Text without secrets."""
    user: str
    kind: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class _Running:
    """Statement that has begun. Without a title it is a part of a program's work, and is not listed."""

    statement: weakref.ref[Statement]
    title: StatementTitle | None
    started: float
    began: float
    """Time of `started` by the monotonic clock."""


class RunningStatements:
    """Running statements of a session.

    1. `begin` and `end` enclose a statement; `as_statement` and `working` run the enclosed code as one.
    2. `stop` ends all statements; none begins after it.
    3. A statement with a title is recorded in the history once, at its first end: its last row, an error, a cancel, a
       close, the end of the session, or the garbage collection of the statement.
    """

    def __init__(self, session: str, history: StatementHistory) -> None:
        self._session = session
        self._history = history
        self._lock = threading.RLock()
        self._running: dict[int, _Running] = {}
        self._is_stopped = False

    @property
    def num_running(self) -> int:
        with self._lock:
            return len(self._running)

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    def begin(
        self, title: StatementTitle | None, timeout: float, listener: ProgressListener | None = None
    ) -> Statement:
        plan_bytes = 0 if title is None else self._history.plan_bytes
        most_runs = 0 if title is None or not self._history.profile_bytes else MOST_RUNS
        statement = Statement(timeout, listener or ignore_progress, plan_bytes, most_runs)
        if title is not None:
            statement.query_id, statement.kind = title.query_id, title.kind
            statement.text, statement.user, statement.tag = title.text, title.user, title.tag
        key = id(statement)
        with self._lock:
            self.check_open()
            reference = weakref.ref(statement, lambda _: self._forget(key))
            self._running[key] = _Running(reference, title, time.time(), time.monotonic())
        return statement

    def end(self, statement: Statement, error: BaseException | None = None) -> None:
        """Mark the statement as finished, failed with `error`, or abandoned by its reader (GeneratorExit)."""
        statement.end()
        running = self._running.pop(id(statement), None)
        if running is not None and running.title is not None and self._history.is_on:
            self._history.add(self._ended(running, running.title, statement, error))

    def _forget(self, key: int) -> None:
        """End a statement that was garbage-collected: it was not run, or its rows were never read.

        No lock is taken: the garbage collector may call this at any point.
        """
        running = self._running.pop(key, None)
        if running is not None and running.title is not None and self._history.is_on:
            self._history.add(self._record(running, running.title, StatementState.CLOSED))

    def records(self) -> list[StatementRecord]:
        """Return records of the running statements with a title, each with its current progress."""
        with self._lock:
            running = list(self._running.values())
        return [
            self._record(one, one.title, _state(statement), statement, progress=_progress_text(statement.progress))
            for one in running
            if one.title is not None and (statement := one.statement()) is not None
        ]

    def _ended(
        self, running: _Running, title: StatementTitle, statement: Statement, error: BaseException | None
    ) -> StatementRecord:
        """Return the record of an ended statement. If it was ended from outside, that error counts, not a later one."""
        cause = error if error is None or statement.error is None else statement.error
        if cause is None:
            return self._record(running, title, StatementState.FINISHED, statement)
        state = next((state for kind, state in _ENDS if isinstance(cause, kind)), StatementState.FAILED)
        if state is StatementState.CLOSED:
            return self._record(running, title, state, statement)
        if isinstance(cause, SharkError):
            return self._record(running, title, state, statement, error=cause)
        message = f"{type(cause).__name__}: {cause}".removesuffix(": ")
        return self._record(running, title, state, statement, error=InternalError(message))

    def _record(
        self,
        running: _Running,
        title: StatementTitle,
        state: StatementState,
        statement: Statement | None = None,
        *,
        progress: str = "",
        error: SharkError | None = None,
    ) -> StatementRecord:
        history = self._history
        seen = statement or Statement()
        figures = seen.figures
        return StatementRecord(
            query_id=title.query_id,
            kind=title.kind if statement is None else statement.kind,
            text=cut_text(title.text, history.text_bytes),
            user=title.user,
            session=self._session,
            state=state,
            started=datetime.fromtimestamp(running.started, UTC),
            seconds=time.monotonic() - running.began,
            queued_seconds=seen.queued_seconds,
            running_seconds=max(0.0, seen.working_seconds - seen.queued_seconds),
            rows_read=seen.rows_read,
            rows_written=seen.rows_written,
            plan=cut_text(redacted(seen.plan), history.plan_bytes),
            progress=progress,
            sqlstate="" if error is None else error.sqlstate,
            error="" if error is None else cut_text(redacted(error.message), history.text_bytes),
            tag=title.tag,
            planning_seconds=figures.planning_seconds,
            input_rows=figures.rows_read,
            bytes_read=figures.bytes_read,
            bytes_spilled=figures.bytes_spilled,
            cpu_seconds=figures.cpu_seconds,
            peak_bytes=figures.peak_bytes,
            blocks_read=figures.blocks_read,
            blocks_pruned=figures.blocks_pruned,
            profile=_profile(seen, history.profile_bytes) if state.is_over else "",
            error_line=None if error is None else error.line,
            error_column=None if error is None else error.column,
            error_hint=None if error is None or error.hint is None else redacted(error.hint),
        )

    @contextlib.contextmanager
    def as_statement(self, timeout: float, title: StatementTitle | None = None) -> Iterator[Statement]:
        """Run the body as one statement, or as a part of the statement that this thread works for."""
        outer = current_cancellation()
        if isinstance(outer, Statement):
            yield outer
            return
        statement = self.begin(title, timeout)
        try:
            with statement.active():
                statement.check()
                yield statement
        except BaseException as error:
            self.end(statement, error)
            raise
        self.end(statement)

    @contextlib.contextmanager
    def working(self, timeout: float, title: StatementTitle | None = None) -> Iterator[None]:
        """Run the body as a statement, or as a part of any cancellable work of this thread."""
        self.check_open()
        if current_cancellation() is not None:
            yield
            return
        with self.as_statement(timeout, title):
            yield

    def cancel(self, error: SharkError | None = None) -> None:
        for statement in self.statements():
            statement.cancel(error)

    def kill(self, query_id: str, error: SharkError) -> bool:
        """Cancel the statement with this id; it ends at once if no thread works for it. Return False if none has it."""
        found = [one for one in self.statements() if one.query_id == query_id]
        for statement in found:
            statement.cancel(error)
            if not statement.is_active:
                self.end(statement, error)
        return bool(found)

    def stop(self) -> bool:
        """Cancel all statements and let none begin. Return False if that was done before."""
        with self._lock:
            if self._is_stopped:
                return False
            self._is_stopped = True
        statements = self.statements()
        for statement in statements:
            error = CancelledError("the query was cancelled: its session was stopped")
            statement.cancel(error)
            self.end(statement, error)
        return True

    def statements(self) -> list[Statement]:
        with self._lock:
            return [one for running in self._running.values() if (one := running.statement()) is not None]

    def check_open(self) -> None:
        if self._is_stopped:
            raise ExecutionError("this session was stopped", hint="connect again", sqlstate="08003")


def _profile(statement: Statement, most_bytes: int) -> str:
    """Return the profile of an ended statement, or "" if it is too long. Its plans, which hold blocks, are dropped."""
    runs, statement.runs = statement.runs, []
    if all(run.is_whole and run.profile.is_constant and not run.profile.loads for run in runs):
        return ""
    from sharkpy.explain.profile_json import runs_text

    text = runs_text(runs)
    return text if len(text) <= most_bytes else ""


def _state(statement: Statement) -> StatementState:
    """Return the state of a statement that is not over."""
    progress = statement.progress
    if not statement.is_active:
        return StatementState.WAITING
    is_queued = progress is not None and progress.queued_behind is not None
    return StatementState.QUEUED if is_queued else StatementState.RUNNING


def _progress_text(progress: Progress | None) -> str:
    if progress is None:
        return ""
    if progress.queued_behind is not None:
        return f"{progress.queued_behind} wait before it"
    tasks = f"{progress.tasks_done} of {progress.tasks_total} tasks"
    return f"stage {progress.stages_done + 1}: {tasks}, {progress.rows_read:,} rows read"
