"""Opening of sessions: limits, the user's name, the client's configuration, and the restrictions on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import NotAllowedError
from sharkpy.catalog.path_gate import local_path
from sharkpy.execution.restrictions import Restrictions
from sharkpy.thrift.client_session import ClientSession
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.limit_guard import LimitGuard
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.open_sessions import OpenSessions
from sharkpy.thrift.places import Holder

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.thrift.transport import Client


class SessionOpener:
    """Opener of sessions on the engine of `engine_session`."""

    def __init__(
        self,
        engine_session: SharkContext,
        config: ServerConfig,
        metrics: Metrics,
        guard: LimitGuard,
        sessions: OpenSessions,
    ) -> None:
        self._engine_session = engine_session
        self._limits = config.limits
        self._admins = frozenset(config.admins)
        self._restrictions = _restrictions(engine_session, config)
        self._metrics = metrics
        self._guard = guard
        self._sessions = sessions

    def open(self, client: Client, user: str | None, protocol: int, configuration: Mapping[str, str]) -> ClientSession:
        """Open a session of the logged-in user. Without a login, the user is `user`, the name that the client sends."""
        name = client.user or user or "anonymous"
        holder = Holder(name, client.address, client.user in self._admins)
        self._guard.check_session(holder, self._sessions.sessions())
        engine_session = self._engine_session.new_session(**{"shark.user": name})
        engine_session.restrictions = self._restrictions
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
    """Restrictions on the sessions of remote clients."""
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
