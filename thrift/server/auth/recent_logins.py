"""Logins that succeeded a moment ago: who logs in with each request need not wait for a slow hash each time."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict

SECONDS = 60.0
KEPT = 2_000


class RecentLogins:
    """Keyed hashes of name, password and version of what had checked them; the key is in this object alone."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._until: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, user: str, password: str, version: object) -> bool:
        """True where this very login has succeeded lately."""
        with self._lock:
            return self._until.get(self._hash(user, password, version), 0.0) > time.monotonic()

    def add(self, user: str, password: str, version: object) -> None:
        """Remember a login, for `SECONDS` from now."""
        with self._lock:
            kept = self._hash(user, password, version)
            self._until[kept] = time.monotonic() + SECONDS
            self._until.move_to_end(kept)
            while len(self._until) > KEPT:
                self._until.popitem(last=False)

    def _hash(self, user: str, password: str, version: object) -> bytes:
        parts = "\0".join((user, password, repr(version)))
        return hashlib.blake2b(parts.encode(), key=self._key, digest_size=32).digest()
