"""Admission of sessions and statements: limits for all clients, for one user and for one address."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sharkpy.base.errors import ExecutionError, ResourceError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.thrift.config import Limits
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.operation import limit_error

if TYPE_CHECKING:
    from sharkpy.thrift.sessions import ClientSession

STOPPING = "the server is stopping"


class AdmissionControl:
    """Checks of limits. A check raises an error that names the limit, and counts the refusal in `metrics`.

    Once `is_draining`, no session and no operation may begin.
    """

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.is_draining = False
        self._metrics = metrics
        self._sessions = Quota(
            "sessions", "sessions", limits.sessions, limits.sessions_per_user, limits.sessions_per_address
        )
        self._statements = Quota(
            "concurrent_operations",
            "statements at once",
            limits.concurrent_operations,
            limits.operations_per_user,
            limits.operations_per_address,
            "operations",
        )
        self._lock = threading.Lock()
        self._executing: list[QuotaHolder] = []

    def check_open(self) -> None:
        if self.is_draining:
            self._refuse("draining", ExecutionError(STOPPING, hint="connect again later", sqlstate="57P01"))

    def check_session(self, holder: QuotaHolder, others: Iterable[ClientSession]) -> None:
        """Check that one more session may begin in addition to `others`."""
        self.check_open()
        self._check(self._sessions.refusal(holder, [session.holder for session in others]))

    def begin_statement(self, holder: QuotaHolder) -> None:
        """Count one more statement as running, until `end_statement`. Raise ResourceError if a limit is reached."""
        with self._lock:
            refusal = self._statements.refusal(holder, self._executing)
            if refusal is None:
                self._executing.append(holder)
        self._check(refusal)

    def end_statement(self, holder: QuotaHolder) -> None:
        with self._lock:
            self._executing.remove(holder)

    @property
    def num_statements(self) -> int:
        """Number of statements that run or wait for their turn."""
        return len(self._executing)

    def _check(self, refusal: tuple[str, ResourceError] | None) -> None:
        if refusal is not None:
            self._refuse(*refusal)

    def _refuse(self, limit: str, error: SharkError) -> None:
        self._metrics.refuse(limit)
        raise error


ADMIN_RESERVE = 10
"""Places of administrators beyond the limit for all clients."""
_RESERVED_DIVISOR = 10
_FEW_DIVISOR = 100


@dataclass(frozen=True, slots=True)
class QuotaHolder:
    """Client that takes a place. A login has checked the name of an administrator."""

    user: str
    address: str
    is_admin: bool = False


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits on places of a kind, for all clients, for one user and for one address. 0 means no limit.

    The last tenth is for clients that have few places, so that no user can take all places from several addresses.
    """

    name: str
    """Name of the limit for all clients, as in the configuration."""
    text: str
    most: int
    of_user: int = 0
    of_address: int = 0
    parts_name: str = ""
    """First word of the names of the limits for a user and for an address, if it differs from `name`."""

    def refusal(self, holder: QuotaHolder, taken: Iterable[QuotaHolder]) -> tuple[str, ResourceError] | None:
        """Return the limit that keeps a client from one more place in addition to `taken`, with its error, or None."""
        held = list(taken)
        if holder.is_admin:
            is_full = bool(self.most) and len(held) >= self.most + ADMIN_RESERVE
            return (self.name, limit_error(self.text, self.most)) if is_full else None
        if self.most and len(held) >= self.most:
            return self.name, limit_error(self.text, self.most)
        users, addresses = Counter(one.user for one in held), Counter(one.address for one in held)
        prefix = self.parts_name or self.name
        if self.of_user and users[holder.user] >= self.of_user:
            return f"{prefix}_per_user", limit_error(f"{self.text} of a user ({holder.user})", self.of_user)
        if self.of_address and addresses[holder.address] >= self.of_address:
            return f"{prefix}_per_address", limit_error(
                f"{self.text} of an address ({holder.address})", self.of_address
            )
        return self._reserved(max(users[holder.user], addresses[holder.address]), len(held))

    def _reserved(self, num_own: int, num_taken: int) -> tuple[str, ResourceError] | None:
        few = max(1, self.most // _FEW_DIVISOR)
        if not self.most or num_taken < self.most - self.most // _RESERVED_DIVISOR or num_own < few:
            return None
        message = f"the server keeps its last {self.text} for users and addresses that have fewer than {few}"
        return self.name, ResourceError(message, hint="close some, or try again later", sqlstate="53300")
