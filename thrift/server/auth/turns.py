"""Turns of logins that wait for a check: few run at once, since a check is costly, and no client takes all turns."""

from __future__ import annotations

import contextlib
import ipaddress
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from sharkpy.thrift.auth.authenticator import AuthenticationError

MOST_WAITING = 16
"""Waiting logins of an address, for its known users and for other names each. Further logins are refused unchecked."""
MOST_ADDRESSES = 64
LONGEST_WAIT = 15.0
_KNOWN = 10_000
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


class LoginTurns:
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
        if waiting is not None and not waiting.begins.wait(LONGEST_WAIT):
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
            while len(self._known) > _KNOWN:
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
