"""Limits on login attempts: delays after failures, and a queue for checks.

Delays grow with the number of failures of a user from a host, against password guessing. The queue exists since a check
is costly: few run at once, and no address takes all turns.
"""

from __future__ import annotations

import contextlib
import ipaddress
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache

from sharkpy.base.records import dataclass
from sharkpy.thrift.auth.authenticators import AuthenticationError

FIRST_DELAY = 0.1
LONGEST_DELAY = 4.0
LONGEST_DELAYED_WAIT = 8.0
"""Longest wait of an attempt, in seconds. An attempt that would wait longer is refused without a check."""

FORGET_AFTER_SECONDS = 300.0
MOST_FAILED_LOGINS = 10_000


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
            if now - known.next_attempt > FORGET_AFTER_SECONDS:
                del self._failures[user, host]
                return 0.0
            wait = max(0.0, known.next_attempt - now)
            if wait > LONGEST_DELAYED_WAIT:
                return None
            known.next_attempt = now + wait + _delay_step(known.count)
            return wait

    def failed(self, user: str, host: str) -> int:
        """Count a failure, and return the number of failures so far."""
        with self._lock:
            known = self._failures.pop((user, host), None) or _Failures(0, 0.0)
            known.count += 1
            known.next_attempt = max(known.next_attempt, time.monotonic() + _delay_step(known.count))
            self._failures[user, host] = known
            while len(self._failures) > MOST_FAILED_LOGINS:
                self._failures.popitem(last=False)
            return known.count

    def succeeded(self, user: str, host: str) -> None:
        """Forget the failures of `user` from `host`."""
        with self._lock:
            self._failures.pop((user, host), None)


def _delay_step(count: int) -> float:
    return float(min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(count - 1, 16)))


MOST_WAITING = 16
"""Waiting logins of an address, for its known users and for other names each. Further logins are refused unchecked."""
MOST_ADDRESSES = 64
LONGEST_QUEUE_WAIT = 15.0
_MOST_KNOWN_USERS = 10_000
_KNOWN_SECONDS = 7 * 24 * 3600.0
_NETWORK_BITS = 64
"""Bits of an IPv6 address that identify its owner: an owner has all addresses of that network."""


class BusyError(AuthenticationError):
    """Refusal of a login that has not been checked."""

    def __init__(self) -> None:
        super().__init__("too many logins at once: try again later")


@lru_cache(maxsize=4_096)
def address_of(host: str) -> str:
    """Return the address that limits count: the host's address, or its network for IPv6."""
    try:
        found = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))


@dataclass(slots=True, eq=False)
class _Waiting:
    begins: threading.Event = field(default_factory=threading.Event)


class LoginQueue:
    """Turns for `at_once` checks at a time.

    1. Addresses take turns. Within an address, users who have logged in from it before come first.
    2. A waiting login may have lost its connection without notice. Therefore few logins wait, and not for long.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._lock = threading.Lock()
        self._waiting: OrderedDict[tuple[str, bool], deque[_Waiting]] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], float] = OrderedDict()

    @contextlib.contextmanager
    def turn(self, user: str, address: str) -> Iterator[None]:
        """Wait for a turn. Raise AuthenticationError if too many logins wait already, or if the wait takes too long."""
        with self._lock:
            waiting = None if self._free else self._joined(user, address)
            self._free -= waiting is None
        if waiting is not None and not waiting.begins.wait(LONGEST_QUEUE_WAIT):
            self._leave(waiting)
        try:
            yield
        finally:
            self._pass_on()

    def succeeded(self, user: str, address: str) -> None:
        """Note that a user has logged in from an address."""
        with self._lock:
            self._known[user, address] = time.monotonic()
            self._known.move_to_end((user, address))
            while len(self._known) > _MOST_KNOWN_USERS:
                self._known.popitem(last=False)

    def _joined(self, user: str, address: str) -> _Waiting:
        is_known = time.monotonic() - self._known.get((user, address), -_KNOWN_SECONDS) < _KNOWN_SECONDS
        place = address, is_known
        queue = self._waiting.get(place, deque())
        if len(queue) >= MOST_WAITING or (not is_known and not queue and len(self._waiting) >= MOST_ADDRESSES):
            raise BusyError()
        waiting = _Waiting()
        queue.append(waiting)
        self._waiting[place] = queue
        return waiting

    def _leave(self, waiting: _Waiting) -> None:
        """Raise BusyError, unless the turn has come meanwhile."""
        with self._lock:
            for place, queue in self._waiting.items():
                if waiting in queue:
                    queue.remove(waiting)
                    if not queue:
                        del self._waiting[place]
                    raise BusyError()

    def _pass_on(self) -> None:
        """Give the turn to the next address, or free it if no login waits."""
        with self._lock:
            place = next(iter(self._waiting), None)
            if place is None:
                self._free += 1
                return
            place = (place[0], True) if (place[0], True) in self._waiting else place
            queue = self._waiting[place]
            queue.popleft().begins.set()
            # The address goes to the end, with both of its queues.
            for one in ((place[0], True), (place[0], False)):
                if one in self._waiting:
                    self._waiting.move_to_end(one)
            if not queue:
                del self._waiting[place]
