"""Authentication by an LDAP directory: a user who can bind with a name and a password is accepted."""

from __future__ import annotations

import importlib.util
import logging
import ssl
from urllib.parse import urlsplit

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.auth.authenticators import WRONG_CREDENTIALS, AuthenticationError
from sharkpy.thrift.config import ServerConfig

_log = logging.getLogger(__name__)

SECONDS = 5
"""Timeout of each answer of the directory; ldap3 takes whole seconds."""

SCHEMES = ("ldaps", "ldap+starttls", "ldap")
INVALID_CREDENTIALS = 49
INVALID_DN = 34


class LdapDirectory:
    """Authentication by a simple bind, over a new connection each time. The directory's certificates are checked."""

    checks_at_once = 16

    def __init__(self, url: str, pattern: str) -> None:
        parts = urlsplit(url)
        self._scheme = parts.scheme
        self._host = parts.hostname or ""
        self._port = parts.port or (636 if parts.scheme == "ldaps" else 389)
        self._pattern = pattern

    def authenticate(self, user: str, password: str) -> None:
        if not password:
            raise AuthenticationError(WRONG_CREDENTIALS)  # a bind without a password succeeds anonymously
        try:
            result = self._bind(self.bind_name(user), password)
        except Exception as error:  # noqa: BLE001 - ldap3 passes on whatever a socket or a codec raises
            _log.error("the LDAP server %s:%d cannot be asked: %s", self._host, self._port, error)
            raise AuthenticationError("the directory of users cannot be reached") from None
        if result != 0:
            if result not in (INVALID_CREDENTIALS, INVALID_DN):
                _log.warning("the LDAP server answered a login with result %d", result)
            raise AuthenticationError(WRONG_CREDENTIALS)

    def version(self) -> object:
        return None

    def bind_name(self, user: str) -> str:
        """Return the pattern with the user's name, escaped in a distinguished name so that it stays one value."""
        from ldap3.utils.dn import escape_rdn

        return self._pattern.replace("{user}", escape_rdn(user) if "=" in self._pattern else user)

    def _bind(self, name: str, password: str) -> int:
        from ldap3 import NONE, SIMPLE, Connection, Server, Tls

        tls = Tls(validate=ssl.CERT_REQUIRED)
        server = Server(
            self._host,
            self._port,
            use_ssl=self._scheme == "ldaps",
            tls=tls,
            get_info=NONE,
            connect_timeout=SECONDS,
        )
        connection = Connection(
            server, user=name, password=password, authentication=SIMPLE, receive_timeout=SECONDS, auto_referrals=False
        )
        try:
            connection.open()
            if self._scheme == "ldap+starttls":
                connection.start_tls()
            connection.bind()
            return int(connection.result["result"])
        finally:
            connection.strategy.close()
            if connection.socket is not None:
                connection.socket.close()  # ldap3 does not close it if the connection failed to open


def ldap_directory(config: ServerConfig) -> LdapDirectory:
    """Return the directory of a configuration.

    Raise ConfigurationError if ldap3 is not installed, or if the URL or the pattern cannot be used.
    """
    if importlib.util.find_spec("ldap3") is None:
        raise ConfigurationError("--auth ldap needs ldap3, which is not installed", hint="pip install sharkpy[ldap]")
    try:
        parts = urlsplit(config.ldap_url)
        usable = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            f'--ldap-url "{config.ldap_url}" is not in the form ldaps://host:port',
            hint=f"schemes: {', '.join(SCHEMES)}",
        )
    if "{user}" not in config.ldap_user_pattern:
        raise ConfigurationError(f'the pattern for users of LDAP, "{config.ldap_user_pattern}", has no {{user}}')
    if parts.scheme == "ldap":
        _log.warning("passwords go to %s unencrypted: use ldaps:// or ldap+starttls://", config.ldap_url)
    return LdapDirectory(config.ldap_url, config.ldap_user_pattern)
