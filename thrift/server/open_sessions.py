"""The open sessions of all clients, the threads that run their operations, and what happens to the idle."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import CancelledError, ExecutionError, NotAllowedError, SharkError, StatementTimeoutError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.thrift.auth import NEEDS_LOGIN
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.handles import key_of, matches
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.operations import Operation, too_many
from sharkpy.thrift.pages.operation_page import OPERATIONS
from sharkpy.thrift.sessions import ClientSession
from sharkpy.thrift.wire.bindings import ttypes

if TYPE_CHECKING:
    from sharkpy.execution.stages.progress import Progress
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.thrift.transport import Client

log = logging.getLogger(__name__)
_LOOK_SECONDS = 5.0
_MOST_THREADS = 1_000
_EXECUTE = ttypes.TOperationType.EXECUTE_STATEMENT
_STOPPING = "the server is stopping"


class OpenSessions:
    """Made for a context that it does not own; `close` ends all sessions and leaves the context running.

    1. A handle is good for the one who got it: its secret must fit, and where clients log in, so must the user.
    2. A limit that is met raises an error that names it, and counts in `metrics`.
    3. Once `is_draining`, no session and no operation is begun.
    """

    def __init__(self, context: SharkContext, config: ServerConfig) -> None:
        self.context = context
        self.config = config
        self.metrics = Metrics()
        self.metrics.watch(self)
        self.address = ""
        """Where browsers reach the server, once it listens."""
        self.is_draining = False
        self._knows_users = config.auth in NEEDS_LOGIN
        # As many threads again as operations that may run: for the rows of those that have begun.
        threads = 2 * config.limits.concurrent_operations or _MOST_THREADS
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="sharkpy-operation")
        self._lock = threading.Lock()
        self._sessions: dict[bytes, ClientSession] = {}
        self._owners: dict[bytes, ClientSession] = {}
        """The session of each open operation."""
        self._awaited: dict[int, Operation] = {}
        """What a client waits for in its call, by its connection."""
        self._restrictions = _restrictions(context, config)
        self._num_executing = 0
        self._stopped = threading.Event()
        self._cleaner = threading.Thread(target=self._close_idle, name="sharkpy-idle", daemon=True)
        self._cleaner.start()

    # Sessions

    def open(self, client: Client, user: str | None, protocol: int, configuration: Mapping[str, str]) -> ClientSession:
        name = client.user or user or "anonymous"
        self._check_open()
        self._check_sessions(name)
        context = self.context.new_session(**{"shark.user": name})
        connection = 0 if client.transport == "http" else client.connection
        session = ClientSession(context, name, protocol, connection, self.config.limits)
        context.restrictions = self._restrictions
        try:
            self._configure(session, configuration)
            with self._lock:
                self._check_open()
                self._check_sessions(name)
                self._sessions[session.identifier.guid] = session
        except BaseException:
            session.close()
            raise
        self.metrics.count("sessions_opened")
        return session

    def _configure(self, session: ClientSession, configuration: Mapping[str, str]) -> None:
        try:
            session.configure(configuration)
        except NotAllowedError:
            self.metrics.refuse("restriction")
            raise

    def _check_open(self) -> None:
        if self.is_draining:
            self._refuse("draining", ExecutionError(_STOPPING, hint="connect again later", sqlstate="57P01"))

    def _check_sessions(self, user: str) -> None:
        limits = self.config.limits
        if limits.sessions and len(self._sessions) >= limits.sessions:
            self._refuse("sessions", too_many("sessions", limits.sessions))
        own = sum(session.user == user for session in list(self._sessions.values()))
        if limits.sessions_per_user and own >= limits.sessions_per_user:
            self._refuse("sessions_per_user", too_many(f"sessions of a user ({user})", limits.sessions_per_user))

    def _refuse(self, limit: str, error: SharkError) -> None:
        self.metrics.refuse(limit)
        raise error

    def session(self, handle: Any, client: Client) -> ClientSession | None:
        """The session of a handle, used now; None where the handle is not the client's."""
        identifier = getattr(handle, "sessionId", None)
        session = self._sessions.get(key_of(identifier))
        if session is None or not matches(session.identifier, identifier) or not self._is_of(session, client):
            return None
        session.last_used = time.monotonic()
        return session

    def _is_of(self, session: ClientSession, client: Client) -> bool:
        return not self._knows_users or session.user == client.user

    def sessions(self) -> list[ClientSession]:
        with self._lock:
            return list(self._sessions.values())

    def close_session(self, session: ClientSession) -> None:
        with self._lock:
            self._sessions.pop(session.identifier.guid, None)
        for operation in session.close_operations():
            self._owners.pop(operation.identifier.guid, None)
        session.close()

    def vanished(self, client: Client) -> None:
        """The client's connection has ended while a call ran: what runs for it ends.

        Over HTTP that is what the call waits for, since nobody will learn its handle.
        """
        awaited = self._awaited.get(client.connection)
        if awaited is not None and awaited.cancel():
            self.metrics.count("clients_vanished")
        for session in self._of_connection(client):
            ended = [operation.cancel() for operation in session.operations()]
            if any(ended):
                self.metrics.count("clients_vanished")

    def disconnected(self, client: Client) -> None:
        """The client's connection is gone: so are the sessions that it opened by it."""
        for session in self._of_connection(client):
            self.close_session(session)

    def _of_connection(self, client: Client) -> list[ClientSession]:
        return [one for one in self.sessions() if one.connection and one.connection == client.connection]

    # Operations

    def operation(self, handle: Any, client: Client) -> tuple[ClientSession, Operation] | None:
        """The operation of a handle with its session, used now; None where the handle is not the client's."""
        identifier = getattr(handle, "operationId", None)
        session = self._owners.get(key_of(identifier))
        operation = session.find(identifier) if session is not None else None
        if session is None or operation is None or not self._is_of(session, client):
            return None
        session.last_used = operation.last_used = time.monotonic()
        return session, operation

    def execute(
        self, session: ClientSession, text: str, overlay: Mapping[str, str], timeout: float, awaited_by: Client | None
    ) -> Operation:
        """The statement's operation: bound, and run if a client waits for it. Raises what is wrong with the statement.

        `overlay`: settings for this statement alone.
        """
        try:
            operation = self._prepared(session, text, overlay, timeout)
        except BaseException:
            self.metrics.count("statements_rejected")
            raise
        self.metrics.count("statements")
        if awaited_by is None:
            self._executor.submit(self._run, operation)
            return operation
        self._awaited[awaited_by.connection] = operation
        try:
            self._run(operation)
        finally:
            del self._awaited[awaited_by.connection]
        return operation

    def _prepared(self, session: ClientSession, text: str, overlay: Mapping[str, str], timeout: float) -> Operation:
        """It may run."""
        operation = self.new_operation(session, _EXECUTE, text, self._note)
        limit = self.config.limits.query_seconds
        allowed = min((seconds for seconds in (timeout, limit) if seconds > 0), default=0.0)

        def tell(progress: Progress) -> None:
            operation.board.tell(progress)
            operation.log.progress(progress)

        try:
            context = session.under(overlay)
            operation.prepare(lambda: context.prepare(text, allowed, tell))
            self._enter()
        except BaseException as error:
            operation.reject(error)
            self.close_operation(operation)
            raise
        return operation

    def _run(self, operation: Operation) -> None:
        try:
            operation.run()
        finally:
            self._leave()

    def _enter(self) -> None:
        most = self.config.limits.concurrent_operations
        with self._lock:
            is_full = bool(most) and self._num_executing >= most
            self._num_executing += not is_full
        if is_full:
            self._refuse("concurrent_operations", too_many("statements at once", most))

    def _leave(self) -> None:
        with self._lock:
            self._num_executing -= 1

    def _note(self, operation: Operation) -> None:
        self.metrics.statement(operation)
        if isinstance(operation.error, StatementTimeoutError):
            self.metrics.refuse("query_seconds")
        elif isinstance(operation.error, NotAllowedError):
            self.metrics.refuse("restriction")
        elif operation.error is not None and operation.error.sqlstate == "53300":
            self.metrics.refuse("queue")

    def new_operation(
        self, session: ClientSession, kind: int, text: str, ended: Callable[[Operation], None] = lambda _: None
    ) -> Operation:
        self._check_open()
        engine = session.context.known_engine
        parallelism = engine.parallelism if engine is not None else 1
        operation = Operation(kind, text, self.config.limits, self._executor, parallelism, ended, self._pages)
        self._owners[operation.identifier.guid] = session
        try:
            session.add(operation)
        except SharkError as error:
            del self._owners[operation.identifier.guid]
            if error.sqlstate == "53300":
                self.metrics.refuse("operations_per_session")
            raise
        return operation

    @property
    def _pages(self) -> str:
        return f"{self.address}{OPERATIONS}" if self.address else ""

    def close_operation(self, operation: Operation) -> None:
        session = self._owners.pop(operation.identifier.guid, None)
        if session is not None:
            session.remove(operation)

    def operations(self) -> Iterator[Operation]:
        for session in self.sessions():
            yield from session.operations()

    # Their end

    def _close_idle(self) -> None:
        limits = self.config.limits
        patience = (_LOOK_SECONDS, limits.idle_session_seconds / 4, limits.idle_operation_seconds / 4)
        while not self._stopped.wait(min(filter(None, patience))):
            for session in self.sessions():
                try:
                    self._look_at(session)
                except Exception:
                    log.exception("an idle session of %r could not be closed", session.user)

    def _look_at(self, session: ClientSession) -> None:
        limits = self.config.limits
        if limits.idle_operation_seconds:
            for operation in session.idle_operations(limits.idle_operation_seconds):
                self.metrics.count("operations_idle")
                self.close_operation(operation)
        if limits.idle_session_seconds and session.is_idle(limits.idle_session_seconds):
            log.info("session of %r closed: idle", session.user)
            self.metrics.count("sessions_idle")
            self.close_session(session)

    def drain(self, seconds: float, is_hurried: Callable[[], bool] = lambda: False) -> int:
        """Begin nothing new, and wait for what runs; how many operations had to be cancelled after that."""
        self.is_draining = True
        end = time.monotonic() + seconds
        while (left := [one for one in self.operations() if one.is_awaited]) and not is_hurried():
            if time.monotonic() >= end:
                break
            time.sleep(0.05)
        for operation in left:
            operation.cancel(CancelledError(_STOPPING, hint="connect again later", sqlstate="57P01"))
        return len(left)

    def close(self) -> None:
        """Cancel what runs and close all sessions."""
        self.is_draining = True
        self._stopped.set()
        for session in self.sessions():
            with contextlib.suppress(SharkError):
                self.close_session(session)
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._cleaner.join()


def _restrictions(context: SharkContext, config: ServerConfig) -> Restrictions:
    """What sessions of people elsewhere may not do."""
    catalog = context.catalog
    folders = (Path(catalog.warehouse_dir), *(folder.absolute() for folder in config.location_folders))
    return Restrictions(folders, (Path(catalog.state_dir),), guards_settings=True, refuses_code=not config.allows_code)
