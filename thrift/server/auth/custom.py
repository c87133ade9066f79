"""Authentication by a function of (user, password), named `module:function`. It returns True to accept a user."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.auth.authenticator import WRONG, AuthenticationError
from sharkpy.thrift.config import ServerConfig

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
            raise AuthenticationError(WRONG)

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
        raise ConfigurationError(f'--custom-auth "{config.custom_auth}" is no function')
    return CustomFunction(config.custom_auth, function)
