"""What each way to authenticate provides, and the error for those it turns away."""

from __future__ import annotations

from typing import Protocol

from sharkpy.base.errors import SharkError

WRONG = "wrong user name or password"
"""The same text whichever of them it is."""


class AuthenticationError(SharkError):
    """Somebody who may not log in; the message is shown to the client."""

    sqlstate = "28000"


class Authenticator(Protocol):
    """Called from many threads at once."""

    def authenticate(self, user: str, password: str) -> None:
        """AuthenticationError where `user` may not log in with `password`."""

    def version(self) -> object:
        """Whatever changes when logins that succeeded must be checked anew."""
