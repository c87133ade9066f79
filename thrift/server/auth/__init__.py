"""Authentication: one file a way to check a name and a password, in one table; and delays for those who guess."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.thrift.auth.anyone import let_anyone_in
from sharkpy.thrift.auth.authenticator import AuthenticationError, Authenticator
from sharkpy.thrift.auth.custom import custom_function
from sharkpy.thrift.auth.ldap import ldap_directory
from sharkpy.thrift.auth.login import Login
from sharkpy.thrift.auth.password_file import open_password_file, set_password
from sharkpy.thrift.config import ServerConfig

__all__ = ["AUTHENTICATORS", "NEEDS_LOGIN", "AuthenticationError", "Login", "login_for", "set_password"]

AUTHENTICATORS: dict[str, Callable[[ServerConfig], Authenticator]] = {
    "none": let_anyone_in,  # SASL PLAIN and HTTP with any name and password; NOSASL as well, on the one port
    "nosasl": let_anyone_in,  # clients are expected without SASL; the others are let in all the same
    "password": open_password_file,
    "ldap": ldap_directory,
    "custom": custom_function,
}
"""Authenticators by the name in `ServerConfig.auth`; each raises ConfigurationError for what cannot work."""

NEEDS_LOGIN = frozenset(AUTHENTICATORS) - {"none", "nosasl"}


def login_for(config: ServerConfig, pause: Callable[[float], object]) -> Login:
    """The login of a server; `pause` waits for some seconds, or until the server stops."""
    return Login(AUTHENTICATORS[config.auth](config), pause=pause, checks_all=config.auth in NEEDS_LOGIN)
