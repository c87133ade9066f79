"""Limits of the server on new sessions and statements."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from sharkpy.base.errors import ExecutionError, ResourceError, SharkError
from sharkpy.thrift.client_session import ClientSession
from sharkpy.thrift.config import Limits
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.places import Holder, Places

STOPPING = "the server is stopping"


class LimitGuard:
    """Checks of limits. A check raises an error that names the limit, and counts the refusal in `metrics`.

    Once `is_draining`, no session and no operation may begin.
    """

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.is_draining = False
        self._metrics = metrics
        self._sessions = Places(
            "sessions", "sessions", limits.sessions, limits.sessions_per_user, limits.sessions_per_address
        )
        self._statements = Places(
            "concurrent_operations",
            "statements at once",
            limits.concurrent_operations,
            limits.operations_per_user,
            limits.operations_per_address,
            "operations",
        )
        self._lock = threading.Lock()
        self._executing: list[Holder] = []

    def check_open(self) -> None:
        if self.is_draining:
            self._refuse("draining", ExecutionError(STOPPING, hint="connect again later", sqlstate="57P01"))

    def check_session(self, holder: Holder, others: Iterable[ClientSession]) -> None:
        """Check that one more session may begin in addition to `others`."""
        self.check_open()
        self._check(self._sessions.refusal(holder, [session.holder for session in others]))

    def begin_statement(self, holder: Holder) -> None:
        """Count one more statement as running, until `end_statement`. Raise ResourceError if a limit is reached."""
        with self._lock:
            refusal = self._statements.refusal(holder, self._executing)
            if refusal is None:
                self._executing.append(holder)
        self._check(refusal)

    def end_statement(self, holder: Holder) -> None:
        with self._lock:
            self._executing.remove(holder)

    def _check(self, refusal: tuple[str, ResourceError] | None) -> None:
        if refusal is not None:
            self._refuse(*refusal)

    def _refuse(self, limit: str, error: SharkError) -> None:
        self._metrics.refuse(limit)
        raise error
