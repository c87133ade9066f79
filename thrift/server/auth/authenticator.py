"""Protocol of the ways to authenticate, and the error for clients that are turned away."""

from __future__ import annotations

from typing import Protocol

from sharkpy.base.errors import SharkError

WRONG = "wrong user name or password"
"""Text for a wrong name and a wrong password alike."""


class AuthenticationError(SharkError):
    """Login that is refused; the message is shown to the client."""

    sqlstate = "28000"


class Authenticator(Protocol):
    """Check of a name and a password, called from up to `checks_at_once` threads."""

    @property
    def checks_at_once(self) -> int: ...

    def authenticate(self, user: str, password: str) -> None:
        """Check a login. AuthenticationError where `user` may not log in with `password`."""

    def version(self) -> object:
        """A value that changes when logins that succeeded must be checked anew."""
