"""Address of a server and parameters of its connection, from the URLs of JDBC tools.

[jdbc:]hive2://[user[:password]@]host[:port][/database][;variable=value…][?setting=value;…][#hivevar=value;…]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import unquote

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.records import dataclass

DEFAULT_PORT = 10_000
DEFAULT_HTTP_PATH = "cliservice"
DEFAULT_FETCH_ROWS = 10_000
_URL = re.compile(
    r"""(?:jdbc:)?(?:hive2|sharkpy)://
    (?:(?P<user>[^:@/;?\#]*)(?::(?P<password>[^@/]*))?@)?
    (?P<host>\[[^\]]+\]|[^:/;?\#,]*)(?::(?P<port>\d+))?(?P<more>,[^/;]*)?
    (?:/(?P<database>[^;?\#]*))?
    (?:;(?P<variables>[^?\#]*))?(?:\?(?P<settings>[^\#]*))?(?:\#(?P<hivevars>.*))?""",
    re.VERBOSE,
)
_HINT = "write hive2://[user@]host[:port][/database][;transportMode=http;httpPath=…;ssl=true;auth=noSasl], or http://…"
_REFUSED = {
    "principal": "Kerberos",
    "serviceDiscoveryMode": "service discovery",
    "zooKeeperNamespace": "service discovery",
    "delegationToken": "delegation tokens",
    "jwt": "JSON web tokens",
}


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """Parts of a server's URL. The text of this object never contains `password`."""

    host: str
    port: int = DEFAULT_PORT
    database: str = "default"
    user: str = ""
    password: str = field(default="", repr=False)
    transport: str = "sasl"
    """sasl, nosasl or http."""
    http_path: str = DEFAULT_HTTP_PATH
    is_tls: bool = False
    tls_ca: Path | None = None
    """PEM file with the certificates that verify the server; None for the certificates of this machine."""
    fetch_rows: int = DEFAULT_FETCH_ROWS
    settings: Mapping[str, str] = field(default_factory=dict)
    hivevars: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"hive2://{host}:{self.port}"


def parse_url(text: str) -> ServerUrl:
    """Parse a URL. Raise ConfigurationError if it is malformed, UnsupportedError if it asks for a missing feature."""
    match = _URL.fullmatch(text.strip())
    if match is None:
        raise ConfigurationError("this is not the URL of a server", hint=_HINT, sqlstate="08001")
    if match["more"]:
        raise UnsupportedError("several hosts in one URL", hint="name one server")
    variables = _pairs(match["variables"])
    for name, what in _REFUSED.items():
        if name in variables:
            raise UnsupportedError(f"{what} ({name} in the URL)")
    return ServerUrl(
        host=(match["host"] or "localhost").strip("[]"),
        port=_number("port", match["port"], DEFAULT_PORT),
        database=unquote(match["database"] or "") or "default",
        user=unquote(match["user"] or "") or variables.get("user", ""),
        password=unquote(match["password"] or "") or variables.get("password", ""),
        transport=_transport(variables),
        http_path=variables.get("httpPath", DEFAULT_HTTP_PATH).strip("/"),
        is_tls=variables.get("ssl", "false").lower() == "true",
        tls_ca=Path(variables["sslTrustStore"]) if "sslTrustStore" in variables else None,
        fetch_rows=max(1, _number("fetchSize", variables.get("fetchSize"), DEFAULT_FETCH_ROWS)),
        settings=_pairs(match["settings"]),
        hivevars=_pairs(match["hivevars"]),
    )


def _transport(variables: Mapping[str, str]) -> str:
    mode = variables.get("transportMode", "binary").lower()
    if mode not in ("binary", "http"):
        raise ConfigurationError(f'no transport mode "{mode}"', hint="binary or http", sqlstate="08001")
    if mode == "http":
        return "http"
    return "nosasl" if variables.get("auth", "").lower() == "nosasl" else "sasl"


def _pairs(text: str | None) -> dict[str, str]:
    parts = (part.partition("=") for part in (text or "").split(";") if part.strip())
    return {key.strip(): value for key, _, value in parts}


def _number(name: str, text: str | None, default: int) -> int:
    try:
        return int(text or default)
    except ValueError:
        raise ConfigurationError(f'"{text}" is not a valid {name}', hint=_HINT, sqlstate="08001") from None
