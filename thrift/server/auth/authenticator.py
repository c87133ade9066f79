"""Protocol of authenticators, and the error of a refused login."""

from __future__ import annotations

from typing import Protocol

from sharkpy.base.errors import SharkError

WRONG = "wrong user name or password"
"""Message both for a wrong name and for a wrong password."""


class AuthenticationError(SharkError):
    """Refused login; the client sees the message."""

    sqlstate = "28000"


class Authenticator(Protocol):
    """Check of a name and a password, called from up to `checks_at_once` threads."""

    @property
    def checks_at_once(self) -> int: ...

    def authenticate(self, user: str, password: str) -> None:
        """Raise AuthenticationError if `user` may not log in with `password`."""

    def version(self) -> object:
        """Return a value that changes when logins that succeeded must be checked again."""
