"""Operations from their start on: statements prepared, run in threads or in the client's call, and ended."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.errors import NotAllowedError, SharkError, StatementTimeoutError
from sharkpy.thrift.client_session import ClientSession
from sharkpy.thrift.config import Limits
from sharkpy.thrift.limit_guard import LimitGuard
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.open_sessions import OpenSessions
from sharkpy.thrift.operation import Operation
from sharkpy.thrift.wire.bindings import ttypes
from sharkpy.thrift.workplace import BufferedBytes, Workplace

if TYPE_CHECKING:
    from sharkpy.execution.stages.progress import Progress
    from sharkpy.thrift.transport import Client
    from sharkpy.thrift.work_board import WorkBoard

log = logging.getLogger(__name__)
_numbers = itertools.count(1)
_MOST_THREADS = 1_000
_LEFT_SECONDS = 1.0
_PREPARE_SECONDS = 10.0
"""Time after which a client that does not wait for its statement gets its operation, be it bound or not."""
_EXECUTE = ttypes.TOperationType.EXECUTE_STATEMENT
_TOO_MANY = "53300"
_REFUSALS = {_TOO_MANY: "queue", "53200": "memory"}
"""Limits of the engine that end operations, by the SQLSTATE of the error."""


class OperationRunner:
    """Threads for the operations of all sessions. `close` comes after that of the sessions."""

    def __init__(
        self,
        limits: Limits,
        metrics: Metrics,
        guard: LimitGuard,
        sessions: OpenSessions,
        board: WorkBoard | None = None,
    ) -> None:
        """`board`: where threads note the statements that they work for."""
        self.pages_url = ""
        """Where browsers find pages of operations, once the server listens."""
        self._limits = limits
        self._metrics = metrics
        self._guard = guard
        self._sessions = sessions
        # As many threads again as operations that may run: for the rows of those that have begun.
        threads = 2 * limits.concurrent_operations or _MOST_THREADS
        self._threads_name = f"sharkpy-operation-{next(_numbers)}"
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=self._threads_name)
        self._workplace = Workplace(self._executor, BufferedBytes(limits.total_bytes_buffered), board)
        self._awaited: dict[int, Operation] = {}
        """Operations that clients wait for in their call, by connection."""

    def execute(
        self, session: ClientSession, text: str, overlay: Mapping[str, str], timeout: float, awaited_by: Client | None
    ) -> Operation:
        """The statement's operation: bound, and run if a client waits for it. Raises what is wrong with the statement.

        A client that does not wait gets an operation that is not bound yet if that takes long: it can be cancelled, and
        its state tells what is wrong with it. `overlay`: settings for this statement alone.
        """
        try:
            operation, error = self._started(session, text, overlay, timeout, awaited_by)
            if error is not None:
                self._sessions.close_operation(operation)
                try:
                    raise error
                finally:
                    # Its frames would hold it, and the statement.
                    del error
        except BaseException:
            self._metrics.count("statements_rejected")
            raise
        self._metrics.count("statements")
        return operation

    def _started(
        self, session: ClientSession, text: str, overlay: Mapping[str, str], timeout: float, awaited_by: Client | None
    ) -> tuple[Operation, BaseException | None]:
        """The statement's operation, and what is wrong with the statement, if that is known soon."""
        operation, prepared = self._begun(session, text), Future[None]()
        prepare = partial(self._prepare, session, text, overlay, timeout)
        work = partial(self._work, session, operation, prepare, prepared)
        if awaited_by is None:
            self._submit(session, operation, work)
            wait([prepared], _PREPARE_SECONDS)
        else:
            self._await(operation, awaited_by, work)
        return operation, None if prepared.cancel() else prepared.exception()

    def _begun(self, session: ClientSession, text: str) -> Operation:
        """A statement's operation, which counts as running."""
        try:
            self._guard.begin_statement(session.holder)
        except SharkError as error:
            # The history has it, too.
            with contextlib.suppress(SharkError), session.engine_session.as_statement(text):
                raise error
            raise
        try:
            return self.new_operation(session, _EXECUTE, text, self._count_end)
        except BaseException:
            self._guard.end_statement(session.holder)
            raise

    def _submit(self, session: ClientSession, operation: Operation, work: Callable[[], None]) -> None:
        try:
            self._executor.submit(work)
        except BaseException:
            self._guard.end_statement(session.holder)
            self._sessions.close_operation(operation)
            raise

    def _await(self, operation: Operation, client: Client, work: Callable[[], None]) -> None:
        self._awaited[client.connection] = operation
        try:
            work()
        finally:
            del self._awaited[client.connection]

    def _work(
        self,
        session: ClientSession,
        operation: Operation,
        prepare: Callable[[Operation], None],
        prepared: Future[None],
    ) -> None:
        """Prepare and run a statement. `prepared` is told what is wrong with it, unless nobody asks any more."""
        try:
            try:
                prepare(operation)
            except BaseException as error:  # noqa: BLE001 - the caller raises it, or the operation has it
                operation.reject(error)
                if prepared.set_running_or_notify_cancel():
                    prepared.set_exception(error)
                # The error's frames would hold it by this one.
                del prepared
                return
            if prepared.set_running_or_notify_cancel():
                prepared.set_result(None)
            operation.run()
        finally:
            self._guard.end_statement(session.holder)

    def new_operation(
        self, session: ClientSession, kind: int, text: str, ended: Callable[[Operation], None] = lambda _: None
    ) -> Operation:
        """An operation of `session` that does nothing yet."""
        self._guard.check_open()
        engine = session.engine_session.known_engine
        parallelism = engine.parallelism if engine is not None else 1
        operation = Operation(kind, text, self._limits, self._workplace, parallelism, ended, self.pages_url)
        try:
            self._sessions.add_operation(session, operation)
        except SharkError as error:
            if error.sqlstate == _TOO_MANY:
                self._metrics.refuse("operations_per_session")
            raise
        return operation

    def end_for(self, client: Client) -> None:
        """End what runs for a client whose connection has ended.

        Over HTTP that is what its call waits for, since nobody will learn its handle.
        """
        awaited = self._awaited.get(client.connection)
        if awaited is not None and awaited.cancel():
            self._metrics.count("clients_vanished")
        for session in self._sessions.of_connection(client):
            ended = [operation.cancel() for operation in session.operations()]
            if any(ended):
                self._metrics.count("clients_vanished")

    def close(self) -> None:
        """End the threads; those that do not hear that their operation has ended are left behind, and logged."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + _LEFT_SECONDS
        for thread in threading.enumerate():
            if thread.name.startswith(f"{self._threads_name}_"):
                thread.join(max(0.0, deadline - time.monotonic()))
                if thread.is_alive():
                    log.warning("%s works on, though its operation was ended", thread.name)

    def _prepare(
        self, session: ClientSession, text: str, overlay: Mapping[str, str], timeout: float, operation: Operation
    ) -> None:
        limit = self._limits.query_seconds
        allowed = min((seconds for seconds in (timeout, limit) if seconds > 0), default=0.0)

        def tell(progress: Progress) -> None:
            operation.board.tell(progress)
            operation.log.progress(progress)

        engine_session = session.under(overlay)
        operation.prepare(lambda query_id: engine_session.prepare(text, allowed, tell, query_id))

    def _count_end(self, operation: Operation) -> None:
        self._metrics.statement(operation)
        if isinstance(operation.error, StatementTimeoutError):
            self._metrics.refuse("query_seconds")
        elif isinstance(operation.error, NotAllowedError):
            self._metrics.refuse("restriction")
        elif operation.error is not None and operation.error.sqlstate in _REFUSALS:
            self._metrics.refuse(_REFUSALS[operation.error.sqlstate])
