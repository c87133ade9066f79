"""Logins of browsers and programs: cookies with a CSRF token each, Bearer tokens, and the reader of a request."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import Counter, OrderedDict
from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.thrift.config import Limits

_MOST_OF_USER = 50
"""Browsers in which one user may be logged in. A further login ends the user's oldest."""


@dataclass(frozen=True, slots=True)
class BrowserLogin:
    """Login of a browser. `version`: version of the users and passwords at the time of the login."""

    user: str
    csrf_token: str
    version: object
    began: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Reader:
    """Author of a request.

    `user` is "" if the server requires no login and the request has no name. `sees_all`: whether the reader sees the
    statements of all users: an administrator, or anyone if the server cannot tell users apart.
    """

    user: str
    is_admin: bool = False
    sees_all: bool = False
    login: BrowserLogin | None = None
    """Login of the cookie, if the reader logged in by one."""

    def sees(self, user: str) -> bool:
        """Return whether the reader may see statements of `user`."""
        return self.sees_all or user == self.user


class BrowserLogins:
    """Logins by a random value, of which only the hash is kept: a cookie's, or a Bearer token.

    A login ends after `idle_session_seconds` without a request, after `web_login_seconds`, or if it is the oldest of
    too many.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._logins: OrderedDict[bytes, tuple[BrowserLogin, float]] = OrderedDict()
        """Each login with the time of its last request, the least recently used first."""

    def __len__(self) -> int:
        return len(self._logins)

    def add(self, user: str, version: object) -> tuple[str, BrowserLogin]:
        """Return the value of a cookie, and the new login."""
        value, login = secrets.token_urlsafe(32), BrowserLogin(user, secrets.token_urlsafe(32), version)
        with self._lock:
            self._logins[_hash(value)] = login, time.monotonic()
            own = [key for key, (one, _) in self._logins.items() if one.user == user]
            if len(own) > _MOST_OF_USER:
                del self._logins[own[0]]
            if self._limits.web_logins and len(self._logins) > self._limits.web_logins:
                self._drop_one()
        return value, login

    def _drop_one(self) -> None:
        """Drop the oldest login of the user with most of them."""
        user, _ = Counter(one.user for one, _ in self._logins.values()).most_common(1)[0]
        del self._logins[next(key for key, (one, _) in self._logins.items() if one.user == user)]

    def find(self, value: str, version: object) -> BrowserLogin | None:
        """Return the login of a cookie, or None if it has ended, or if users or passwords have changed since."""
        key, now, limits = _hash(value), time.monotonic(), self._limits
        with self._lock:
            login, used = self._logins.get(key, (None, 0.0))
            if login is None:
                return None
            is_idle = limits.idle_session_seconds and now - used > limits.idle_session_seconds
            is_old = limits.web_login_seconds and now - login.began > limits.web_login_seconds
            if is_idle or is_old or login.version != version:
                del self._logins[key]
                return None
            self._logins[key] = login, now
            self._logins.move_to_end(key)
            return login

    def has(self, login: BrowserLogin) -> bool:
        """Return whether a login has not ended."""
        with self._lock:
            return any(one is login for one, _ in self._logins.values())

    def remove(self, value: str) -> None:
        with self._lock:
            self._logins.pop(_hash(value), None)


def _hash(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "replace")).digest()
