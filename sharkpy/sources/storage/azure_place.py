"""Container of Azure storage, as URIs name it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DOMAIN = "core.windows.net"
_DOMAINS = (
    *(_DOMAIN, "core.chinacloudapi.cn", "core.usgovcloudapi.net", "core.cloudapi.de"),
    *("storage.azure.net", "fabric.microsoft.com"),
)
"""Domains of Azure's clouds. URIs with other hosts are refused, so that the keys of an account go nowhere else."""
_AUTHORITY = re.compile(
    r"(?P<container>[a-z0-9$-]{1,63})"
    r"(?:@(?P<account>[a-z0-9]{1,24})(?P<zone>\.z[0-9]{1,2})?(?:\.(?:dfs|blob)\.(?P<domain>[a-z.]{1,100}))?)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AzurePlace:
    """A container and its account, which is empty if the URI names none."""

    container: str
    account: str = ""
    zone: str = ""
    domain: str = _DOMAIN

    def host(self, service: str, account: str = "") -> str:
        """Host of a service (`dfs` or `blob`) of the account, or of `account` if given."""
        return f"{account or self.account}{self.zone}.{service}.{self.domain}"


def azure_place(authority: str) -> AzurePlace | None:
    """Parse the authority of a URI, `container[@account.dfs.core.windows.net]`; None if it is not one of Azure's."""
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        return None
    domain = (match["domain"] or _DOMAIN).lower()
    if domain not in _DOMAINS:
        return None
    return AzurePlace(match["container"], match["account"] or "", match["zone"] or "", domain)
