"""Sessions of clients, from OpenSession to their end.

A `ClientSession` has the open operations of its client. `OpenSessions` finds sessions and operations by their handles,
`SessionOpener` opens sessions within the limits, and `IdleCloser` closes idle sessions and operations.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy.base import uri
from sharkpy.base.errors import CancelledError, ExecutionError, NotAllowedError, SharkError, UnsupportedError
from sharkpy.catalog.path_gate import local_path
from sharkpy.execution.restrictions import Restrictions
from sharkpy.thrift.admission import AdmissionControl, QuotaHolder
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.config import LINK, Limits, ServerConfig
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.operation import ENDED, Operation, handle_key, is_same_handle, limit_error, new_handle_identifier

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.thrift.transport import Client

NEWEST_PROTOCOL = 9
"""V10, the newest version of the protocol that the bindings know."""
_PREFIXES = {"set:hiveconf:": "", "set:metaconf:": "", "set:system:": "", "set:hivevar:": "hivevar:"}
"""Prefixes that clients put before the names of settings, each with its replacement in the session."""
_DATABASE = "use:database"
_PROXY_USER = "hive.server2.proxy.user"


class ClientSession:
    """Session of a client, with its open operations.

    `connection` is the number of the binary connection that opened the session; the session ends with it. It is 0 over
    HTTP: such a session ends when it is idle.
    """

    def __init__(
        self, engine_session: SharkContext, holder: QuotaHolder, client_protocol: int, connection: int, limits: Limits
    ) -> None:
        self.engine_session = engine_session
        self.holder = holder
        self.user = holder.user
        self.connection = connection
        self.protocol = max(0, min(client_protocol, NEWEST_PROTOCOL))
        self.identifier = new_handle_identifier()
        self.last_used = time.monotonic()
        self._limits = limits
        self._lock = threading.Lock()
        self._operations: dict[bytes, Operation] = {}
        self._is_closed = False

    @property
    def handle(self) -> Any:
        return ttypes.TSessionHandle(sessionId=self.identifier)

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Apply an OpenSession's configuration: `use:database`, `set:hiveconf:key`, `set:hivevar:key`, or a key."""
        given = {setting_name(key): value for key, value in configuration.items()}
        database = given.pop(_DATABASE, "")
        self._check_user(given.pop(_PROXY_USER, ""))
        for key, value in given.items():
            self.engine_session.restrictions.check_setting(key)
            self.engine_session.conf.set(key, value)
        if database:
            self.engine_session.sql(f"USE `{database.replace('`', '``')}`").close()

    def under(self, overlay: Mapping[str, str]) -> SharkContext:
        """Return the engine's session with the settings of one statement."""
        given = {setting_name(key): value for key, value in overlay.items()}
        for key in given:
            self.engine_session.restrictions.check_setting(key)
        return self.engine_session.with_settings(given) if given else self.engine_session

    def _check_user(self, proxied: str) -> None:
        if proxied not in ("", self.user):
            raise UnsupportedError(
                f'the user "{self.user}" may not act for "{proxied}": {_PROXY_USER}',
                hint="log in as the other user",
                sqlstate="28000",
            )

    def operations(self) -> list[Operation]:
        with self._lock:
            return list(self._operations.values())

    def add(self, operation: Operation) -> None:
        """Keep an operation. Raise ResourceError 53300 if the session has too many."""
        with self._lock:
            if self._is_closed:
                raise ExecutionError("this session is closed", hint="connect again", sqlstate="08003")
            most = self._limits.operations_per_session
            if most and len(self._operations) >= most:
                raise limit_error("operations in a session", most)
            self._operations[operation.identifier.guid] = operation

    def find(self, identifier: Any) -> Operation | None:
        operation = self._operations.get(handle_key(identifier))
        return operation if operation is not None and is_same_handle(operation.identifier, identifier) else None

    def remove(self, operation: Operation) -> None:
        with self._lock:
            self._operations.pop(operation.identifier.guid, None)
        operation.close()

    def idle_operations(self, seconds: float) -> list[Operation]:
        """Return the ended operations that the client has not used for `seconds`."""
        now = time.monotonic()
        return [one for one in self.operations() if one.state in ENDED and now - one.last_used > seconds]

    def is_idle(self, seconds: float) -> bool:
        """Return whether nothing runs and the client has not called for `seconds`."""
        operations = self.operations()
        last_used = max([self.last_used, *(one.last_used for one in operations)])
        return not any(one.is_running for one in operations) and time.monotonic() - last_used > seconds

    def close_operations(self) -> list[Operation]:
        """Close all operations, accept no further ones, and return the closed operations."""
        with self._lock:
            self._is_closed = True
            operations = list(self._operations.values())
            self._operations.clear()
        for operation in operations:
            operation.close()
        return operations

    def close(self) -> None:
        """End what runs, and the session with its temporary tables. Idempotent."""
        self.close_operations()
        self.engine_session.stop()


def setting_name(key: str) -> str:
    """Return the session's name of a setting for the key that a client sends."""
    for prefix, name in _PREFIXES.items():
        if key.startswith(prefix):
            return f"{name}{key.removeprefix(prefix)}"
    return key


class OpenSessions:
    """Sessions and operations by handle.

    A handle is valid only with its secret. If the server `knows_users`, only the session's user may use it.
    """

    def __init__(self, admission: AdmissionControl, *, knows_users: bool) -> None:
        self._admission = admission
        self._knows_users = knows_users
        self._lock = threading.Lock()
        self._sessions: dict[bytes, ClientSession] = {}
        self._owners: dict[bytes, ClientSession] = {}
        """The session of each open operation."""

    # Sessions

    def add(self, session: ClientSession) -> None:
        """Keep a session. Raise an error if a limit is reached or the server is stopping."""
        with self._lock:
            self._admission.check_session(session.holder, self._sessions.values())
            self._sessions[session.identifier.guid] = session

    def session(self, handle: Any, client: Client) -> ClientSession | None:
        """Return the session of a handle and mark it as used, or None if the handle is not the client's."""
        identifier = getattr(handle, "sessionId", None)
        session = self._sessions.get(handle_key(identifier))
        if session is None or not is_same_handle(session.identifier, identifier) or not self._is_of(session, client):
            return None
        session.last_used = time.monotonic()
        return session

    def sessions(self) -> list[ClientSession]:
        with self._lock:
            return list(self._sessions.values())

    def of_connection(self, client: Client) -> list[ClientSession]:
        """Return the sessions that the client's binary connection has opened. They end with the connection."""
        return [one for one in self.sessions() if one.connection and one.connection == client.connection]

    def close_session(self, session: ClientSession) -> None:
        with self._lock:
            self._sessions.pop(session.identifier.guid, None)
        for operation in session.close_operations():
            self._owners.pop(operation.identifier.guid, None)
        session.close()

    def close(self) -> None:
        """Close all sessions, and end what runs in them."""
        for session in self.sessions():
            with contextlib.suppress(SharkError):
                self.close_session(session)

    # Operations

    def add_operation(self, session: ClientSession, operation: Operation) -> None:
        """Keep an operation of `session`. Raise ResourceError 53300 if the session has too many."""
        self._owners[operation.identifier.guid] = session
        try:
            session.add(operation)
        except SharkError:
            del self._owners[operation.identifier.guid]
            raise

    def operation(self, handle: Any, client: Client) -> tuple[ClientSession, Operation] | None:
        """Return the operation of a handle with its session, both marked as used, or None if it is not the client's."""
        identifier = getattr(handle, "operationId", None)
        session = self._owners.get(handle_key(identifier))
        operation = session.find(identifier) if session is not None else None
        if session is None or operation is None or not self._is_of(session, client):
            return None
        session.last_used = operation.last_used = time.monotonic()
        return session, operation

    def operations(self) -> Iterator[Operation]:
        for session in self.sessions():
            yield from session.operations()

    def kill(self, query_id: str, error: CancelledError) -> bool:
        """Cancel the running operation with this id, and drop its rows. Return False if there is none."""
        return any(one.query_id == query_id and one.cancel(error) for one in self.operations())

    def close_operation(self, operation: Operation) -> None:
        session = self._owners.pop(operation.identifier.guid, None)
        if session is not None:
            session.remove(operation)

    def _is_of(self, session: ClientSession, client: Client) -> bool:
        return not self._knows_users or session.user == client.user


class SessionOpener:
    """Opener of sessions on the engine of `engine_session`."""

    def __init__(
        self,
        engine_session: SharkContext,
        config: ServerConfig,
        metrics: Metrics,
        admission: AdmissionControl,
        sessions: OpenSessions,
    ) -> None:
        self._engine_session = engine_session
        self._limits = config.limits
        self._admins = frozenset(config.admins)
        self.restrictions = _restrictions(engine_session, config)
        """Restrictions on each session that is opened."""
        self._metrics = metrics
        self._admission = admission
        self._sessions = sessions

    def open(self, client: Client, user: str | None, protocol: int, configuration: Mapping[str, str]) -> ClientSession:
        """Open a session of the logged-in user. Without a login, the user is `user`, the name that the client sends."""
        name = client.user or user or "anonymous"
        holder = QuotaHolder(name, client.address, client.user in self._admins)
        self._admission.check_session(holder, self._sessions.sessions())
        engine_session = self._engine_session.new_session(**{"shark.user": name})
        engine_session.restrictions = self.restrictions
        connection = 0 if client.transport == "http" else client.connection
        session = ClientSession(engine_session, holder, protocol, connection, self._limits)
        try:
            self._configure(session, configuration)
            self._sessions.add(session)
        except BaseException:
            session.close()
            raise
        self._metrics.count("sessions_opened")
        return session

    def _configure(self, session: ClientSession, configuration: Mapping[str, str]) -> None:
        try:
            session.configure(configuration)
        except NotAllowedError:
            self._metrics.refuse("restriction")
            raise


def _restrictions(engine_session: SharkContext, config: ServerConfig) -> Restrictions:
    """Restrictions on the sessions of clients. The owner's own sessions have the owner's."""
    if config.auth == LINK:
        return engine_session.restrictions
    catalog = engine_session.catalog
    places = [catalog.warehouse_dir, *(str(folder) for folder in config.location_folders)]
    return Restrictions(
        tuple(Path(local_path(one)) for one in places if not uri.is_remote(one)),
        engine_session.restrictions.closed,
        guards_settings=True,
        refuses_code=not config.allows_code,
        refuses_connections=not config.allows_connections,
        sees_own_statements=True,
        remote=tuple(uri.normalized(one) for one in places if uri.is_remote(one)),
    )


log = logging.getLogger(__name__)
_LOOK_SECONDS = 5.0


class IdleCloser:
    """Thread that checks all sessions from time to time, until `close`."""

    def __init__(self, limits: Limits, metrics: Metrics, sessions: OpenSessions) -> None:
        self._limits = limits
        self._metrics = metrics
        self._sessions = sessions
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, name="sharkpy-idle", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _look(self) -> None:
        limits = self._limits
        patience = (_LOOK_SECONDS, limits.idle_session_seconds / 4, limits.idle_operation_seconds / 4)
        while not self._stopped.wait(min(filter(None, patience))):
            for session in self._sessions.sessions():
                try:
                    self._look_at(session)
                except Exception:
                    log.exception("an idle session of %r could not be closed", session.user)

    def _look_at(self, session: ClientSession) -> None:
        limits = self._limits
        if limits.idle_operation_seconds:
            for operation in session.idle_operations(limits.idle_operation_seconds):
                self._metrics.count("operations_idle")
                self._sessions.close_operation(operation)
        if limits.idle_session_seconds and session.is_idle(limits.idle_session_seconds):
            log.info("session of %r closed: idle", session.user)
            self._metrics.count("sessions_idle")
            self._sessions.close_session(session)
