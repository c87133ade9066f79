"""Configuration of a server: its address, its authentication and its limits, each with a default."""

from __future__ import annotations

import ipaddress
from dataclasses import field, fields
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.sources.storage.stores import is_supported

AUTHENTICATIONS = ("none", "nosasl", "password", "ldap", "custom")
LINK = "link"
"""Authentication of the owner by a link to the console, without a password. The only user is the engine's owner."""

_NEVER_NONE = ("frame_bytes", "poll_seconds")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server. A client that reaches one gets an error that names it, and `/metrics` counts the refusals.

    0 means no limit. But `frame_bytes` and `poll_seconds` cannot be 0, and `drain_seconds` 0 means not to wait.
    """

    connections: int = 500
    connections_per_address: int = 400
    sessions: int = 1_000
    sessions_per_user: int = 200
    sessions_per_address: int = 600
    operations_per_session: int = 50
    rows_buffered: int = 100_000
    """Rows of a running query that wait for the client, approximately."""
    bytes_buffered: int = 64 << 20
    total_bytes_buffered: int = 1 << 30
    """Bytes of the rows of all operations that wait for their clients or may be read again, approximately."""
    frame_bytes: int = 64 << 20
    """Bytes of one request."""
    concurrent_operations: int = 200
    """Statements that are prepared, run or wait for their turn at the same time."""
    operations_per_user: int = 120
    operations_per_address: int = 160
    """Limits on the statements of one user and of one address among `concurrent_operations`."""
    login_seconds: float = 20.0
    """Seconds for a client to log in, and for its first call."""
    idle_session_seconds: float = 4 * 3600.0
    idle_operation_seconds: float = 3600.0
    query_seconds: float = 0.0
    poll_seconds: float = 0.5
    """Seconds that GetOperationStatus waits for the operation to end."""
    drain_seconds: float = 4.0
    """Seconds that running statements have to end after SIGTERM."""
    pause_seconds: float = 120.0
    """Seconds for which one thread may keep all other threads from running. Then the process is killed."""
    web_logins: int = 1_000
    """Browsers that are logged in. A new one ends the oldest."""
    web_login_seconds: float = 24 * 3600.0
    """Seconds from the login of a browser to its end. `idle_session_seconds` applies, too."""
    web_streams: int = 100
    """Clients that follow events of the web server at the same time."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value < 0 or (limit.name in _NEVER_NONE and not value):
                raise ConfigurationError(f'the limit "{limit.name}" cannot be {value}', sqlstate="22023")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Configuration of a server. Raise ConfigurationError if it is unsafe or wrong."""

    host: str = "127.0.0.1"
    port: int = 10_000
    """-1: no port for Thrift, 0: any free port."""
    http_path: str = "cliservice"
    auth: str = "none"
    password_file: Path | None = None
    ldap_url: str = ""
    ldap_user_pattern: str = "{user}"
    """Name to bind with, such as "uid={user},ou=people,dc=example,dc=org" or "{user}@example.org"."""
    custom_auth: str = ""
    """module:function of (user, password) -> bool"""
    web_port: int = -1
    """Port of the web server; -1: no web server, 0: any free port."""
    web_hosts: tuple[str, ...] = ()
    """Names of this machine by which browsers may reach the web server, in addition to `host` and localhost."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    allows_unsafe: bool = False
    """Permission to listen on other addresses than loopback without authentication."""
    location_folders: tuple[Path | str, ...] = ()
    """Folders outside the warehouse that LOCATION and LOAD DATA of sessions may use; "/" allows every folder. A URI,
    such as "s3://bucket/open", lets the statements of all sessions use the storage below it, with the owner's keys.
    """
    allows_code: bool = False
    """Permission for sessions to bring functions, JARs and scripts, which have the rights of the engine's owner."""
    allows_connections: bool = False
    """Permission for sessions to create streams that connect to addresses within reach of the engine's machine."""
    admins: tuple[str, ...] = ()
    """Users whose sessions and statements get a place even if the server is full. They need a login."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.auth not in (*AUTHENTICATIONS, LINK):
            raise ConfigurationError(f'"{self.auth}" is not a way to authenticate', hint=", ".join(AUTHENTICATIONS))
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigurationError("TLS needs both a certificate and its key")
        if self.auth in ("none", "nosasl") and not self.is_loopback and not self.allows_unsafe:
            raise ConfigurationError(
                f'without authentication the server listens only on loopback, not on "{self.host}"',
                hint="choose --auth password, ldap or custom, or say --allow-unsafe",
            )
        if self.admins and self.auth in ("none", "nosasl"):
            raise ConfigurationError("--admin needs users that log in", hint="choose --auth password, ldap or custom")
        for folder in map(str, self.location_folders):
            _check_folder(folder)
        needed = {"password": self.password_file, "ldap": self.ldap_url, "custom": self.custom_auth}
        if self.auth in needed and not needed[self.auth]:
            option = {"password": "--password-file", "ldap": "--ldap-url", "custom": "--custom-auth"}[self.auth]
            raise ConfigurationError(f"--auth {self.auth} needs {option}")

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def _check_folder(folder: str) -> None:
    """Raise ConfigurationError for a URI of unsupported storage, or with a key in it."""
    if not uri.is_remote(folder):
        return
    try:
        uri.check_no_secrets(folder)
    except UnsupportedError as error:
        raise ConfigurationError(error.message, hint=error.hint) from None
    if not is_supported(folder):
        scheme = uri.scheme_of(folder)
        raise ConfigurationError(
            f'--location-folder "{uri.redacted(folder)}" is of the scheme "{scheme}", unknown here'
        )
