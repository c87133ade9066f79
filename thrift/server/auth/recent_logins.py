"""Cache of recent successful logins, so that a client that logs in with each request skips the slow hash."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict

SECONDS = 60.0
KEPT = 2_000


class RecentLogins:
    """Keyed hashes of a name, a password and the authenticator's version. Only this object has the key."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._until: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, user: str, password: str, version: object) -> bool:
        """Return whether this login has succeeded within the last `SECONDS`."""
        with self._lock:
            return self._until.get(self._hash(user, password, version), 0.0) > time.monotonic()

    def add(self, user: str, password: str, version: object) -> None:
        """Remember a login for `SECONDS`."""
        with self._lock:
            kept = self._hash(user, password, version)
            self._until[kept] = time.monotonic() + SECONDS
            self._until.move_to_end(kept)
            while len(self._until) > KEPT:
                self._until.popitem(last=False)

    def _hash(self, user: str, password: str, version: object) -> bytes:
        parts = "\0".join((user, password, repr(version)))
        return hashlib.blake2b(parts.encode(), key=self._key, digest_size=32).digest()
