"""Registry of the sessions and operations that clients have open."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import SharkError
from sharkpy.thrift.client_session import ClientSession
from sharkpy.thrift.handles import key_of, matches
from sharkpy.thrift.limit_guard import LimitGuard
from sharkpy.thrift.operation import Operation

if TYPE_CHECKING:
    from sharkpy.thrift.transport import Client


class OpenSessions:
    """Sessions and operations by handle.

    A handle is valid only with its secret. If the server `knows_users`, only the session's user may use it.
    """

    def __init__(self, guard: LimitGuard, *, knows_users: bool) -> None:
        self._guard = guard
        self._knows_users = knows_users
        self._lock = threading.Lock()
        self._sessions: dict[bytes, ClientSession] = {}
        self._owners: dict[bytes, ClientSession] = {}
        """The session of each open operation."""

    # Sessions

    def add(self, session: ClientSession) -> None:
        """Keep a session. Raise an error if a limit is reached or the server is stopping."""
        with self._lock:
            self._guard.check_session(session.holder, self._sessions.values())
            self._sessions[session.identifier.guid] = session

    def session(self, handle: Any, client: Client) -> ClientSession | None:
        """Return the session of a handle and mark it as used, or None if the handle is not the client's."""
        identifier = getattr(handle, "sessionId", None)
        session = self._sessions.get(key_of(identifier))
        if session is None or not matches(session.identifier, identifier) or not self._is_of(session, client):
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
        session = self._owners.get(key_of(identifier))
        operation = session.find(identifier) if session is not None else None
        if session is None or operation is None or not self._is_of(session, client):
            return None
        session.last_used = operation.last_used = time.monotonic()
        return session, operation

    def operations(self) -> Iterator[Operation]:
        for session in self.sessions():
            yield from session.operations()

    def close_operation(self, operation: Operation) -> None:
        session = self._owners.pop(operation.identifier.guid, None)
        if session is not None:
            session.remove(operation)

    def _is_of(self, session: ClientSession, client: Client) -> bool:
        return not self._knows_users or session.user == client.user
