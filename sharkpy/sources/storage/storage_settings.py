"""Settings of one bucket: options, and sets of keys, each with the names under which it may be set."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from sharkpy.base import settings
from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Setting

T = TypeVar("T")
_ROOT = re.compile(r"([a-z][a-z0-9+.-]*):(?://)?([^/?#]*)", re.ASCII | re.IGNORECASE)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Option:
    """Setting of one bucket.

    `key` is its name in the bucket's access. `names` are the names under which it may be set: first the one for only
    this bucket, last the general one.
    """

    key: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys that belong together: all come from one source, under names of the same level. `more` are optional."""

    needed: tuple[Option, ...]
    more: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Settings of one bucket for a kind of storage. Options are found one by one; of the key sets, the first complete
    one.

    `groups`: prefixes of names; all settings with these prefixes are options, too.
    """

    options: tuple[Option, ...] = ()
    key_sets: tuple[KeySet, ...] = ()
    groups: tuple[str, ...] = ()


def storage_settings(location: str, account: str = "") -> StorageSettings:
    """Settings of the bucket or container of a URI, with `account` if the URI names no account. Empty for storage
    without settings.

    BindError 42602 if no bucket is named.
    """
    match = _ROOT.match(location)
    make = None if match is None else _KINDS.get(match[1].lower())
    if match is None or make is None:
        return StorageSettings()
    authority = match[2] if not account or "@" in match[2] else f"{match[2]}@{account}"
    return make(authority, location)


def _of_s3(bucket: str, location: str) -> StorageSettings:
    _check(_BUCKET.fullmatch(bucket), location)

    def option(setting: Setting[str] | Setting[bool]) -> Option:
        return Option(setting.key, (setting.key.replace("fs.s3a.", f"fs.s3a.bucket.{bucket}.", 1), setting.key))

    needed = (option(settings.S3_ACCESS_KEY), option(settings.S3_SECRET_KEY))
    return StorageSettings(
        (
            option(settings.S3_CREDENTIALS),
            option(settings.S3_ENDPOINT),
            option(settings.S3_REGION),
            option(settings.S3_PATH_STYLE),
            option(settings.S3_TLS),
            option(settings.S3_BULK_DELETE),
        ),
        (KeySet(needed, (option(settings.S3_SESSION_TOKEN),)),),
    )


def _of_google(bucket: str, location: str) -> StorageSettings:
    _check(_BUCKET.fullmatch(bucket), location)

    def option(setting: Setting[str]) -> Option:
        return Option(setting.key, (setting.key,))

    user = (settings.GS_CLIENT_ID, settings.GS_CLIENT_SECRET, settings.GS_REFRESH_TOKEN)
    return StorageSettings(
        (option(settings.GS_ENDPOINT), option(settings.GS_AUTHENTICATION)),
        (
            KeySet((option(settings.GS_ACCESS_TOKEN),)),
            KeySet((option(settings.GS_KEY_FILE),)),
            KeySet(tuple(option(setting) for setting in user)),
        ),
    )


def _of_azure(authority: str, location: str) -> StorageSettings:
    """Settings of a container. If the URI names the account, keys are set by account,
    `….<account>.dfs.core.windows.net`, as in Hadoop.
    """
    place = _check(azure_place(authority), location)
    hosts = (f".{place.host('dfs')}", f".{place.host('blob')}") if place.account else ()

    def option(setting: Setting[str], *more: str) -> Option:
        return Option(setting.key, (*(f"{setting.key}{host}" for host in hosts), *more, setting.key))

    login = (settings.AZURE_CLIENT_ID, settings.AZURE_CLIENT_SECRET, settings.AZURE_CLIENT_ENDPOINT)
    of_container = (f"fs.azure.sas.{place.container}{host}" for host in hosts)
    account, endpoint = settings.AZURE_ACCOUNT.key, settings.AZURE_ENDPOINT.key
    return StorageSettings(
        (Option(account, (account,)), Option(endpoint, (endpoint,))),
        (
            KeySet((option(settings.AZURE_ACCOUNT_KEY),)),
            KeySet((option(settings.AZURE_SAS, *of_container),)),
            KeySet(tuple(option(setting) for setting in login)),
        ),
    )


def _of_hdfs(authority: str, location: str) -> StorageSettings:  # noqa: ARG001  the same signature for all kinds
    """Settings of Hadoop's clients. Services, their name nodes and mounts are parts of setting names."""
    folder = settings.HADOOP_CONF_DIR.key
    return StorageSettings((Option(folder, (folder,)),), groups=_HADOOP)


def _check(found: T | None, location: str) -> T:
    if found is None:
        raise BindError(f'"{location}" names no bucket', sqlstate="42602")
    return found


_HADOOP = (
    *("dfs.", "fs.viewfs.", "fs.defaultFS", "fs.permissions.umask-mode"),
    *("hadoop.security.authentication", "hadoop.rpc.protection"),
)
_KINDS: dict[str, Callable[[str, str], StorageSettings]] = {
    "s3": _of_s3,
    "s3a": _of_s3,
    "s3n": _of_s3,
    "gs": _of_google,
    "abfs": _of_azure,
    "abfss": _of_azure,
    "az": _of_azure,
    "wasb": _of_azure,
    "wasbs": _of_azure,
    "hdfs": _of_hdfs,
    "viewfs": _of_hdfs,
}


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
