"""Login of a client, for every transport and authenticator: format checks, delays, a cache, and the log."""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from sharkpy.thrift.auth.authenticators import AuthenticationError, Authenticator
from sharkpy.thrift.auth.login_throttle import BusyError, FailedLogins, LoginQueue, address_of

_log = logging.getLogger(__name__)

USER_LENGTH = 256
PASSWORD_LENGTH = 1024


class Login:
    """Check of logins, with delays and a cache. It blocks no thread other than the thread of the client."""

    def __init__(self, authenticator: Authenticator, *, pause: Callable[[float], object], checks_all: bool) -> None:
        self._authenticator = authenticator
        self._pause = pause
        self._checks_all = checks_all
        self._failed = FailedLogins()
        self._recent = RecentLogins()
        self._queue = LoginQueue(authenticator.checks_at_once)

    def version(self) -> object:
        """Return a value that changes with the users and passwords. Raise AuthenticationError if they are unknown."""
        return self._authenticator.version()

    def check(self, user: bytes, password: bytes, host: str) -> str:
        """Return the name of an accepted user. Raise AuthenticationError if the login is refused or malformed."""
        try:
            name = checked_user_name(user)
        except AuthenticationError as error:
            _log.warning("a login from %s failed: %s", host, error.message)
            raise
        if not self._checks_all:
            return name
        address = address_of(host)
        delay = self._failed.delay(name, address)
        if delay is None:
            _log.warning('login of "%s" from %s refused: too many failed', name, host)
            raise AuthenticationError("too many failed logins: try again later")
        self._pause(delay)
        try:
            self._check(name, checked_password(password), address)
        except BusyError:
            _log.warning('login of "%s" from %s refused: too many at once', name, host)
            raise
        except AuthenticationError as error:
            count = self._failed.failed(name, address)
            _log.warning('login of "%s" from %s failed (%d): %s', name, host, count, error.message)
            raise
        self._failed.succeeded(name, address)
        return name

    def _check(self, name: str, password: str, address: str) -> None:
        version = self._authenticator.version()
        if self._recent.has(name, password, version):
            return
        with self._queue.turn(name, address):
            self._authenticator.authenticate(name, password)
        self._queue.succeeded(name, address)
        self._recent.add(name, password, version)


def checked_user_name(given: bytes) -> str:
    """Return the user name. Raise AuthenticationError unless it is printable, not empty and of bounded length."""
    try:
        name = given.decode()
    except UnicodeDecodeError:
        raise AuthenticationError("the user name is not UTF-8") from None
    if not name:
        raise AuthenticationError("the user name is empty")
    if len(name) > USER_LENGTH:
        raise AuthenticationError(f"the user name is longer than {USER_LENGTH} characters")
    if not name.isprintable():
        raise AuthenticationError("the user name has characters that cannot be printed")
    return name


def checked_password(given: bytes) -> str:
    """Return the password. Raise AuthenticationError if it is empty, too long, not UTF-8, or has a NUL.

    A directory takes an empty password for an anonymous bind.
    """
    if not given:
        raise AuthenticationError("the password is empty")
    if len(given) > PASSWORD_LENGTH:
        raise AuthenticationError(f"the password is longer than {PASSWORD_LENGTH} bytes")
    if b"\0" in given:
        raise AuthenticationError("the password has a NUL in it")
    try:
        return given.decode()
    except UnicodeDecodeError:
        raise AuthenticationError("the password is not UTF-8") from None


RECENT_SECONDS = 60.0
MOST_RECENT_LOGINS = 2_000


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
            self._until[kept] = time.monotonic() + RECENT_SECONDS
            self._until.move_to_end(kept)
            while len(self._until) > MOST_RECENT_LOGINS:
                self._until.popitem(last=False)

    def _hash(self, user: str, password: str, version: object) -> bytes:
        parts = "\0".join((user, password, repr(version)))
        return hashlib.blake2b(parts.encode(), key=self._key, digest_size=32).digest()
