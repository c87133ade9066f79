"""Checks of endpoints and regions of storage, as settings and environments give them."""

from __future__ import annotations

import ipaddress
import re
import socket

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.parse_limits import shortened
from sharkpy.base.secrets import redacted

_ENDPOINT = re.compile(
    r"(?:https?://)?+(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9][a-z0-9._-]{0,252})(?::[0-9]{1,5})?(?:/[\w.~%/-]{0,1000})?",
    re.ASCII | re.IGNORECASE,
)
_HOST = re.compile(r"[a-z0-9][a-z0-9._-]{0,252}", re.ASCII | re.IGNORECASE)
_REGION = re.compile(r"[a-z0-9-]{1,63}", re.ASCII | re.IGNORECASE)
_ACCOUNT = re.compile(r"[a-z0-9]{1,24}", re.ASCII)
_METADATA_HOSTS = ("metadata.google.internal", "instance-data.ec2.internal")
_METADATA_ADDRESSES = (ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200"))
"""Hosts at which cloud machines ask for their own keys, in addition to the link-local addresses."""
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that networks translate to the IPv4 addresses in their last bytes."""


def check_endpoint(text: str) -> str:
    """Check an endpoint, `[http[s]://]host[:port][/path]`, or an empty text.

    Raise ConfigurationError 22023 for any other text, and for the metadata service of a cloud.
    """
    endpoint = text.strip()
    if not endpoint:
        return ""
    shown = shortened(redacted(endpoint))
    match = _ENDPOINT.fullmatch(endpoint)
    if match is None:
        hint = "write [http[s]://]host[:port]"
        raise ConfigurationError(f'"{shown}" is not an endpoint', hint=hint, sqlstate="22023")
    if _is_metadata_service(match["host"].lower()):
        message = f'"{shown}" is not a storage endpoint: machines ask there for their own keys'
        raise ConfigurationError(message, sqlstate="22023")
    return endpoint


def check_region(text: str) -> str:
    """Check the name of a region, which becomes part of a host name, or an empty text. Raise ConfigurationError 22023
    for any other text.
    """
    region = text.strip()
    if region and _REGION.fullmatch(region) is None:
        raise ConfigurationError(f'"{shortened(text)}" is not a region', hint="such as eu-central-1", sqlstate="22023")
    return region


def check_account(text: str) -> str:
    """Check the name of an Azure storage account, which becomes part of a host name, or an empty text. Raise
    ConfigurationError 22023 for any other text.
    """
    account = text.strip()
    if account and _ACCOUNT.fullmatch(account) is None:
        hint = "small letters and digits"
        raise ConfigurationError(f'"{shortened(text)}" is not a storage account', hint=hint, sqlstate="22023")
    return account


def check_hosts(text: str) -> str:
    """Check a comma-separated list of hosts and networks. Raise ConfigurationError 22023 for a part that is neither."""
    for part in filter(None, map(str.strip, text.split(","))):
        if _HOST.fullmatch(part) is None and not _is_network(part):
            hint = "write host,10.1.0.0/16"
            message = f'"{shortened(part)}" is neither a host nor a network'
            raise ConfigurationError(message, hint=hint, sqlstate="22023")
    return text.strip()


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _is_metadata_service(host: str) -> bool:
    if host.rstrip(".") in _METADATA_HOSTS:
        return True
    address = address_of(host.strip("[]"))
    return address is not None and (address.is_link_local or address in _METADATA_ADDRESSES)


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a host denotes in any notation (169.254.1 and 0xa9fe0001 are addresses), or None for a
    name.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
