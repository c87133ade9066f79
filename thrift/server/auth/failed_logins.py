"""Delays against password guessing: the more often a login has failed, the longer the delay."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

FIRST_DELAY = 0.1
LONGEST_DELAY = 4.0
LONGEST_WAIT = 8.0
"""Longest wait of an attempt, in seconds. An attempt that would wait longer is refused without a check."""

FORGOTTEN_AFTER = 300.0
KEPT = 10_000


@dataclass(slots=True)
class _Failures:
    count: int
    next_attempt: float
    """Earliest time of the next attempt, on the monotonic clock."""


class FailedLogins:
    """Failed logins by user and host.

    Attempts for the same user and host, also parallel ones, are checked one after another, with growing delays. Other
    attempts do not wait for them. If there are many entries, the oldest are dropped.
    """

    def __init__(self) -> None:
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()
        self._lock = threading.Lock()

    def delay(self, user: str, host: str) -> float | None:
        """Return the seconds until this attempt may be checked, or None if too many attempts wait already."""
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
        """Count a failure, and return the number of failures so far."""
        with self._lock:
            known = self._failures.pop((user, host), None) or _Failures(0, 0.0)
            known.count += 1
            known.next_attempt = max(known.next_attempt, time.monotonic() + _step(known.count))
            self._failures[user, host] = known
            while len(self._failures) > KEPT:
                self._failures.popitem(last=False)
            return known.count

    def succeeded(self, user: str, host: str) -> None:
        """Forget the failures of `user` from `host`."""
        with self._lock:
            self._failures.pop((user, host), None)


def _step(count: int) -> float:
    return float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(count - 1, 16)))
