"""Closing of sessions and operations that their clients have not used for a long time."""

from __future__ import annotations

import logging
import threading

from sharkpy.thrift.client_session import ClientSession
from sharkpy.thrift.config import Limits
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.open_sessions import OpenSessions

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
