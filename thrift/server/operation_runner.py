"""Operations from their start: statements are prepared, run in threads or in the client's call, and ended."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from sharkpy.base.errors import NotAllowedError, SharkError, StatementTimeoutError
from sharkpy.thrift.admission import AdmissionControl
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.config import Limits
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.operation import Operation
from sharkpy.thrift.row_stream import BufferedBytes, OperationResources
from sharkpy.thrift.sessions import ClientSession, OpenSessions

if TYPE_CHECKING:
    from sharkpy.execution.statement import Progress
    from sharkpy.thrift.guard import StatementBoard
    from sharkpy.thrift.transport import Client

log = logging.getLogger(__name__)
_numbers = itertools.count(1)
_MOST_THREADS = 1_000
_LEFT_SECONDS = 1.0
_PREPARE_SECONDS = 10.0
"""Time after which a client that does not wait for its statement gets its operation, even if it is not bound yet."""
_EXECUTE = ttypes.TOperationType.EXECUTE_STATEMENT
_TOO_MANY = "53300"
_REFUSALS = {_TOO_MANY: "queue", "53200": "memory"}
"""Labels of the engine's limits that end operations, by the SQLSTATE of the error."""


class OperationRunner:
    """Threads for the operations of all sessions. Call `close` after all sessions are closed."""

    def __init__(
        self,
        limits: Limits,
        metrics: Metrics,
        admission: AdmissionControl,
        sessions: OpenSessions,
        board: StatementBoard | None = None,
    ) -> None:
        """`board`: board on which threads note the statements for which they work."""
        self.pages_url = ""
        """Base address of the pages of operations, once the server listens."""
        self._limits = limits
        self._metrics = metrics
        self._admission = admission
        self._sessions = sessions
        # Twice as many threads as operations that may run: threads also make rows of operations that have begun.
        threads = 2 * limits.concurrent_operations or _MOST_THREADS
        self._threads_name = f"sharkpy-operation-{next(_numbers)}"
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=self._threads_name)
        self._resources = OperationResources(self._executor, BufferedBytes(limits.total_bytes_buffered), board)
        self._awaited: dict[int, Operation] = {}
        """Operations that clients wait for in their call, by connection."""

    def execute(
        self, session: ClientSession, text: str, overlay: Mapping[str, str], timeout: float, awaited_by: Client | None
    ) -> Operation:
        """Start a statement. Return its operation once it is bound, or once it has run if a client waits for it.

        Raise the error of a statement that cannot be bound. If no client waits and binding takes long, return the
        operation earlier. It can be cancelled, and its state shows the error. `overlay`: settings for this statement
        only.
        """
        try:
            operation, error = self._started(session, text, overlay, timeout, awaited_by)
            if error is not None:
                self._sessions.close_operation(operation)
                try:
                    raise error
                finally:
                    # The frames of the error's traceback would hold the error and the statement.
                    del error
        except BaseException:
            self._metrics.count("statements_rejected")
            raise
        self._metrics.count("statements")
        return operation

    def _started(
        self, session: ClientSession, text: str, overlay: Mapping[str, str], timeout: float, awaited_by: Client | None
    ) -> tuple[Operation, BaseException | None]:
        """Start a statement. Return its operation, and the error if the statement is known soon to be wrong."""
        operation, prepared = self._begun(session, text), SimpleQueue[BaseException | None]()
        prepare = partial(self._prepare, session, text, overlay, timeout)
        work = partial(self._work, session, operation, prepare, prepared)
        if awaited_by is None:
            self._submit(session, operation, work)
        else:
            self._await(operation, awaited_by, work)
        try:
            # Taken out: the error's traceback refers to the frames of this call, and so to the queue.
            return operation, prepared.get(timeout=_PREPARE_SECONDS)
        except Empty:
            return operation, None

    def _begun(self, session: ClientSession, text: str) -> Operation:
        """Return a statement's operation, and count it as running."""
        try:
            self._admission.begin_statement(session.holder)
        except SharkError as error:
            # The history records the refused statement, too.
            with contextlib.suppress(SharkError), session.engine_session.as_statement(text):
                raise error
            raise
        try:
            return self.new_operation(session, _EXECUTE, text, self._count_end)
        except BaseException:
            self._admission.end_statement(session.holder)
            raise

    def _submit(self, session: ClientSession, operation: Operation, work: Callable[[], None]) -> None:
        try:
            self._executor.submit(work)
        except BaseException:
            self._admission.end_statement(session.holder)
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
        prepared: SimpleQueue[BaseException | None],
    ) -> None:
        """Prepare and run a statement. `prepared` gets the error of preparing, or None."""
        try:
            try:
                prepare(operation)
            except BaseException as error:  # noqa: BLE001 - the caller raises it, or the operation has it
                operation.reject(error)
                prepared.put(error)
                return
            prepared.put(None)
            operation.run()
        finally:
            self._admission.end_statement(session.holder)

    def new_operation(
        self, session: ClientSession, kind: int, text: str, ended: Callable[[Operation], None] = lambda _: None
    ) -> Operation:
        """Return an operation of `session` that does nothing yet."""
        self._admission.check_open()
        engine = session.engine_session.started_engine
        parallelism = engine.parallelism if engine is not None else 1
        operation = Operation(kind, text, self._limits, self._resources, parallelism, ended, self.pages_url)
        try:
            self._sessions.add_operation(session, operation)
        except SharkError as error:
            if error.sqlstate == _TOO_MANY:
                self._metrics.refuse("operations_per_session")
            raise
        return operation

    def end_for(self, client: Client) -> None:
        """End the operations of a client whose connection has ended.

        Over HTTP, only the operation of the running call ends, since no client will learn its handle.
        """
        awaited = self._awaited.get(client.connection)
        if awaited is not None and awaited.cancel():
            self._metrics.count("clients_vanished")
        for session in self._sessions.of_connection(client):
            ended = [operation.cancel() for operation in session.operations()]
            if any(ended):
                self._metrics.count("clients_vanished")

    def close(self) -> None:
        """End the threads. A thread that does not notice the end of its operation is abandoned, and logged."""
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
            operation.stages.tell(progress)
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
