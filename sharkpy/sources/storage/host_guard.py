"""Guard for the hosts that a restricted session names.

The session's requests may not go to addresses in the machine or its network, unless the engine's owner allows it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from contextlib import suppress

from sharkpy.base.endpoint import address_of
from sharkpy.base.errors import NotAllowedError
from sharkpy.base.settings import PRIVATE_HOSTS

_KEPT_SECONDS = 5.0
"""Time after which a host is checked again, since its name may have moved to another address."""


class HostGuard:
    """Check of some hosts before each request to them. `allowed`: hosts and networks that may be private."""

    def __init__(self, hosts: tuple[str, ...], allowed: str) -> None:
        self._hosts = hosts
        self._allowed = [one.strip().lower() for one in allowed.split(",") if one.strip()]
        self._until = 0.0

    async def check(self) -> None:
        """Raise NotAllowedError if a host is at a private, local or reserved address."""
        if time.monotonic() < self._until:
            return
        for host in self._hosts:
            if host.lower() in self._allowed:
                continue
            for address in await _addresses(host):
                if not self._is_open(address):
                    message = f'the host "{host}" is at a private address, which this session may not let be asked'
                    raise NotAllowedError(message, hint=f"the engine's owner lists it in {PRIVATE_HOSTS.key}")
        self._until = time.monotonic() + _KEPT_SECONDS

    def _is_open(self, text: str) -> bool:
        address = address_of(text)
        if address is None or (address.is_global and not address.is_multicast):
            return address is not None
        return any(address in network for network in map(_network, self._allowed) if network is not None)


async def _addresses(host: str) -> list[str]:
    """Addresses of a host; none for an unknown host, for which the request itself will fail."""
    with suppress(OSError, UnicodeError):
        found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
        return [str(place[0]) for *_, place in found]
    return []


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None
