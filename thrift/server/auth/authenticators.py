"""Protocol of authenticators, and the two that need no library: for anyone, and by a function of the operator."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Protocol

from sharkpy.base.errors import ConfigurationError, SharkError
from sharkpy.thrift.config import ServerConfig

WRONG_CREDENTIALS = "wrong user name or password"
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


class Anyone:
    checks_at_once = 1_000

    def authenticate(self, user: str, password: str) -> None:
        """Accept every user."""

    def version(self) -> object:
        return None


def let_anyone_in(_: ServerConfig) -> Anyone:
    return Anyone()


_log = logging.getLogger(__name__)


class CustomFunction:
    """Authentication by a function. Only True accepts a user; an exception is logged and refuses the login."""

    checks_at_once = 16

    def __init__(self, name: str, function: Callable[[str, str], object]) -> None:
        self._name = name
        self._function = function

    def authenticate(self, user: str, password: str) -> None:
        try:
            allowed = self._function(user, password)
        except AuthenticationError:
            raise
        except Exception:  # noqa: BLE001 - the function is not ours
            _log.exception('"%s" failed for a login', self._name)
            raise AuthenticationError("the login could not be checked; the server's log says why") from None
        if allowed is not True:
            raise AuthenticationError(WRONG_CREDENTIALS)

    def version(self) -> object:
        return None


def custom_function(config: ServerConfig) -> CustomFunction:
    """Import the function of `module:function`. Raise ConfigurationError if it cannot be loaded."""
    module, colon, name = config.custom_auth.partition(":")
    if not (module and colon and name):
        raise ConfigurationError(f'--custom-auth "{config.custom_auth}" is not in the form module:function')
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f'--custom-auth "{config.custom_auth}" cannot be loaded: {error}') from error
    if not callable(function):
        raise ConfigurationError(f'--custom-auth "{config.custom_auth}" is not a function')
    return CustomFunction(config.custom_auth, function)


def let_no_one_in(_: ServerConfig) -> CustomFunction:
    """Refuse every password: browsers log in by a link."""
    return CustomFunction("link", _refuse)


def _refuse(*_: str) -> bool:
    raise AuthenticationError("this console has no passwords: follow the link that its terminal shows")
