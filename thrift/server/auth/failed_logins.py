"""Delays for those who guess passwords: the longer, the more often a login has failed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

FIRST_DELAY = 0.1
LONGEST_DELAY = 4.0
LONGEST_WAIT = 8.0
"""Seconds that attempts may queue up for; those beyond are turned away unseen."""

FORGOTTEN_AFTER = 300.0
KEPT = 10_000


@dataclass(slots=True)
class _Failures:
    count: int
    next_attempt: float
    """Moment of the monotonic clock, in seconds."""


class FailedLogins:
    """Failures by user and host.

    Attempts for one of them, also parallel ones, are looked at one after another, with growing
    distance; nobody else waits for them. The oldest are forgotten when there are many.
    """

    def __init__(self) -> None:
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()
        self._lock = threading.Lock()

    def delay(self, user: str, host: str) -> float | None:
        """Seconds until the attempt that begins now may be looked at; None where too many wait already."""
        with self._lock:
            known = self._failures.get((user, host))
            now = time.monotonic()
            if known is None:
                return 0.0
            if now - known.next_attempt > FORGOTTEN_AFTER:
                del self._failures[user, host]
                return 0.0
            wait = max(0.0, known.next_attempt - now)
            if wait > LONGEST_WAIT:
                return None
            known.next_attempt = now + wait + _step(known.count)
            return wait

    def failed(self, user: str, host: str) -> int:
        """Note a failure, and tell how many there have been."""
        with self._lock:
            known = self._failures.pop((user, host), None) or _Failures(0, 0.0)
            known.count += 1
            known.next_attempt = max(known.next_attempt, time.monotonic() + _step(known.count))
            self._failures[user, host] = known
            while len(self._failures) > KEPT:
                self._failures.popitem(last=False)
            return known.count

    def succeeded(self, user: str, host: str) -> None:
        """Forget the failures."""
        with self._lock:
            self._failures.pop((user, host), None)


def _step(count: int) -> float:
    return float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(count - 1, 16)))
