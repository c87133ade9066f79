"""Limits of the server, for sessions and statements that are about to begin."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.thrift.client_session import ClientSession
from sharkpy.thrift.config import Limits
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.operation import too_many

STOPPING = "the server is stopping"


class LimitGuard:
    """Checks of limits: where one is met they raise an error that names it, and count that in `metrics`.

    Once `is_draining`, no session and no operation may begin.
    """

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.is_draining = False
        self._limits = limits
        self._metrics = metrics
        self._lock = threading.Lock()
        self._num_executing = 0

    def check_open(self) -> None:
        if self.is_draining:
            self._refuse("draining", ExecutionError(STOPPING, hint="connect again later", sqlstate="57P01"))

    def check_session(self, user: str, others: Iterable[ClientSession]) -> None:
        """Check that one more session of `user` may begin beside `others`."""
        self.check_open()
        limits, users = self._limits, [session.user for session in others]
        if limits.sessions and len(users) >= limits.sessions:
            self._refuse("sessions", too_many("sessions", limits.sessions))
        if limits.sessions_per_user and users.count(user) >= limits.sessions_per_user:
            self._refuse("sessions_per_user", too_many(f"sessions of a user ({user})", limits.sessions_per_user))

    def begin_statement(self) -> None:
        """Count one more statement as running; `end_statement` takes it away."""
        most = self._limits.concurrent_operations
        with self._lock:
            is_full = bool(most) and self._num_executing >= most
            self._num_executing += not is_full
        if is_full:
            self._refuse("concurrent_operations", too_many("statements at once", most))

    def end_statement(self) -> None:
        with self._lock:
            self._num_executing -= 1

    def _refuse(self, limit: str, error: SharkError) -> None:
        self._metrics.refuse(limit)
        raise error
