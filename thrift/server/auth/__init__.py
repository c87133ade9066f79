"""Authentication: a table of the ways to check a name and a password, and delays against guessing."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.thrift.auth.authenticators import (
    AuthenticationError,
    Authenticator,
    custom_function,
    let_anyone_in,
    let_no_one_in,
)
from sharkpy.thrift.auth.ldap import ldap_directory
from sharkpy.thrift.auth.login import Login
from sharkpy.thrift.auth.password_file import open_password_file, set_password
from sharkpy.thrift.config import LINK, ServerConfig

__all__ = ["AUTHENTICATORS", "NEEDS_LOGIN", "AuthenticationError", "Login", "login_for", "set_password"]

AUTHENTICATORS: dict[str, Callable[[ServerConfig], Authenticator]] = {
    "none": let_anyone_in,  # SASL PLAIN and HTTP with any name and password, and NOSASL, on one port
    "nosasl": let_anyone_in,  # for clients without SASL; clients with SASL are accepted too
    "password": open_password_file,
    "ldap": ldap_directory,
    "custom": custom_function,
    LINK: let_no_one_in,
}
"""Authenticators by the name in `ServerConfig.auth`. Each raises ConfigurationError if its settings cannot work."""

NEEDS_LOGIN = frozenset(AUTHENTICATORS) - {"none", "nosasl"}


def login_for(config: ServerConfig, pause: Callable[[float], object]) -> Login:
    """Return the login of a server; `pause` waits for some seconds, or until the server stops."""
    return Login(AUTHENTICATORS[config.auth](config), pause=pause, checks_all=config.auth in NEEDS_LOGIN)
