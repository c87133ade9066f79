"""Links by which the owner of an engine logs in: each is good for one browser, once."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict

_MOST = 100
"""Open links. A further link ends the oldest."""

FOLLOWED = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>sharkpy</title></head><body>
<h1>sharkpy</h1><p>This link is not valid, or it has been followed before. Press Enter in the terminal of the console,
and follow the new link.</p></body></html>
"""


class Links:
    """Links by their random tokens, of which only the hash is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: OrderedDict[bytes, str] = OrderedDict()

    def add(self, user: str) -> str:
        """Return the token of a new link, which logs `user` in."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._users[_hash(token)] = user
            if len(self._users) > _MOST:
                self._users.popitem(last=False)
        return token

    def take(self, token: str) -> str | None:
        """Return the user of a link, which ends, or None if there is no such link."""
        with self._lock:
            return self._users.pop(_hash(token), None)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
