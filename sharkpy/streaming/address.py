"""Addresses of hosts and ports."""

from __future__ import annotations

from sharkpy.base.errors import BindError
from sharkpy.base.parse_limits import whole_number

_MOST_PORT = 65535


def host_and_port(text: str) -> tuple[str, int]:
    """Split `host:port`; an IPv6 host may be in brackets. Raise BindError 22023 for an invalid address."""
    host, _, digits = text.rpartition(":")
    port = whole_number(digits)
    if not host or port is None or not 0 < port <= _MOST_PORT:
        raise BindError(f'"{text}" is no address', hint="write 'host:port'", sqlstate="22023")
    return host.removeprefix("[").removesuffix("]"), port
