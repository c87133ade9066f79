"""Running statements of a session: those that have begun and not ended."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.errors import ExecutionError

if TYPE_CHECKING:
    from sharkpy.execution.stages.progress import ProgressListener
    from sharkpy.execution.statement import Statement


class RunningStatements:
    """Running statements of a session.

    1. `begin` and `end` enclose a statement; `as_statement` and `working` make one of the code inside.
    2. `stop` cancels all; none begins after it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._running: weakref.WeakSet[Statement] = weakref.WeakSet()
        self._is_stopped = False

    @property
    def num_running(self) -> int:
        with self._lock:
            return len(self._running)

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    def begin(self, timeout: float, listener: ProgressListener | None = None) -> Statement:
        from sharkpy.execution.statement import Statement

        statement = Statement(timeout, listener) if listener else Statement(timeout)
        with self._lock:
            self.check_open()
            self._running.add(statement)
        return statement

    def end(self, statement: Statement) -> None:
        statement.end()
        with self._lock:
            self._running.discard(statement)

    @contextlib.contextmanager
    def as_statement(self, timeout: float) -> Iterator[Statement]:
        """Run the body as one statement, or as a part of the one that this thread works for."""
        from sharkpy.execution.statement import Statement

        outer = current_cancellation()
        if isinstance(outer, Statement):
            yield outer
            return
        statement = self.begin(timeout)
        try:
            with statement.active():
                statement.check()
                yield statement
        finally:
            self.end(statement)

    @contextlib.contextmanager
    def working(self, timeout: float) -> Iterator[None]:
        """Run the body as a statement, or as a part of anything cancellable that this thread works for."""
        self.check_open()
        if current_cancellation() is not None:
            yield
            return
        with self.as_statement(timeout):
            yield

    def cancel(self) -> None:
        with self._lock:
            running = list(self._running)
        for statement in running:
            statement.cancel()

    def stop(self) -> bool:
        """Cancel all statements and let none begin; False if that was done before."""
        with self._lock:
            if self._is_stopped:
                return False
            self._is_stopped = True
        self.cancel()
        return True

    def check_open(self) -> None:
        if self._is_stopped:
            raise ExecutionError("this session is stopped", hint="connect again", sqlstate="08003")
