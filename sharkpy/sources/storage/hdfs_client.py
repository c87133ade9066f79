"""Store of HDFS with what a session may use of it: Hadoop's settings, the user's name or Kerberos ticket."""

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
    """Store of `hdfs://host:port`, of a name service `hdfs://name`, of the default one `hdfs://`, or of `viewfs://name`.

    hdfs-native reads core-site.xml and hdfs-site.xml itself; what `access` has comes before that, so that tasks need no
    such files. ConfigurationError for files that it cannot read, and for a name service that they do not tell of.
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
    """Hadoop's settings that an access has, behind the limits that they may change."""
    given = {key: value for key, _ in access.options if (value := access.value(key)) is not None}
    given.pop(settings.HADOOP_CONF_DIR.key, None)
    return _bounds(limits) | given


def _bounds(limits: StoreLimits) -> dict[str, str]:
    """Limits of the library's own tries, so that calls that nobody waits for any more end."""
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
    """By whose leave requests are made, as the library finds it."""
    if given.get(_AUTHENTICATION, "simple") != "simple":
        return "the Kerberos ticket"
    name = os.environ.get("HADOOP_PROXY_USER") or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    return f'the user name "{name}"'
