"""Place of a container of Azure's storage, as URIs name it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DOMAIN = "core.windows.net"
_DOMAINS = (
    *(_DOMAIN, "core.chinacloudapi.cn", "core.usgovcloudapi.net", "core.cloudapi.de"),
    *("storage.azure.net", "fabric.microsoft.com"),
)
"""Domains of Azure's clouds. A URI names no other host: keys of an account are not for it."""
_AUTHORITY = re.compile(
    r"(?P<container>[a-z0-9$-]{1,63})"
    r"(?:@(?P<account>[a-z0-9]{1,24})(?P<zone>\.z[0-9]{1,2})?(?:\.(?:dfs|blob)\.(?P<domain>[a-z.]{1,100}))?)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AzurePlace:
    """A container, and the account that has it: empty where the URI names none."""

    container: str
    account: str = ""
    zone: str = ""
    domain: str = _DOMAIN

    def host(self, service: str, account: str = "") -> str:
        """Host of a service, `dfs` or `blob`, of the account, or of another one in its place."""
        return f"{account or self.account}{self.zone}.{service}.{self.domain}"


def azure_place(authority: str) -> AzurePlace | None:
    """Place that the authority of a URI names, `container[@account.dfs.core.windows.net]`; None for none of Azure's."""
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        return None
    domain = (match["domain"] or _DOMAIN).lower()
    if domain not in _DOMAINS:
        return None
    return AzurePlace(match["container"], match["account"] or "", match["zone"] or "", domain)
