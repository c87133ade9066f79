"""Stores of HDFS for the accesses of sessions: Hadoop's settings, and the user's name or Kerberos ticket."""

from __future__ import annotations

import getpass
import os

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError
from sharkpy.sources.storage.access import StorageAccess
from sharkpy.sources.storage.errors import StoreName
from sharkpy.sources.storage.hdfs_store import HdfsStore
from sharkpy.sources.storage.store import Store, StoreLimits

_AUTHENTICATION = "hadoop.security.authentication"
_UMASK = "fs.permissions.umask-mode"
_MOST_WAIT_MS = 5000


def hdfs_store(root: str, access: StorageAccess, limits: StoreLimits) -> Store:
    """Store of `hdfs://host:port`, of a name service `hdfs://name`, of the default one `hdfs://`, or of
    `viewfs://name`.

    hdfs-native reads core-site.xml and hdfs-site.xml itself. Options of `access` take precedence, so that tasks need no
    such files. ConfigurationError for files that it cannot read, and for a name service that they do not define.
    """
    from hdfs_native import Client

    given = client_options(access, limits)
    folder = access.value(settings.HADOOP_CONF_DIR.key)
    permission = 0o666 & ~_umask(given.get(_UMASK, "022"))
    try:
        client = Client(root, given, folder)
    except (RuntimeError, OSError) as error:
        hint = "it takes host:port, or the name of a service in hdfs-site.xml in HADOOP_CONF_DIR"
        raise ConfigurationError(f'"{root}" cannot be used: {error}', hint=hint) from None
    return HdfsStore(client, StoreName("", root, _user(given)), limits, permission)


def client_options(access: StorageAccess, limits: StoreLimits) -> dict[str, str]:
    """Hadoop's settings of an access; they take precedence over the settings made from `limits`."""
    given = {key: value for key, _ in access.options if (value := access.value(key)) is not None}
    given.pop(settings.HADOOP_CONF_DIR.key, None)
    return _bounds(limits) | given


def _bounds(limits: StoreLimits) -> dict[str, str]:
    """Limits on the library's own retries, so that abandoned calls end."""
    return {
        "dfs.client.failover.max.attempts": str(max(limits.retries, 1)),
        "dfs.client.failover.sleep.base.millis": "100",
        "dfs.client.failover.sleep.max.millis": str(_MOST_WAIT_MS),
        "dfs.client.socket-timeout": str(int(limits.timeout_seconds * 1000)),
    }


def _umask(text: str) -> int:
    try:
        return int(text, 8)
    except ValueError:
        raise ConfigurationError(f'"{text}" is not a value of {_UMASK} (octal number)', sqlstate="22023") from None


def _user(given: dict[str, str]) -> str:
    """Identity that the library uses for requests, for errors."""
    if given.get(_AUTHENTICATION, "simple") != "simple":
        return "the Kerberos ticket"
    name = os.environ.get("HADOOP_PROXY_USER") or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    return f'the user name "{name}"'
