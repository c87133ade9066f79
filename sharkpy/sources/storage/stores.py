"""Stores by location: the kind of store for each scheme, and a cache of open stores.

The stores are imported with the first remote location: they load asyncio, HTTP and TLS, which local files do not need.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Mapping

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.uri import normalized, scheme_of
from sharkpy.sources.storage.access import StorageAccess
from sharkpy.sources.storage.store import Store, StoreLimits

_MOST = 64
"""Most cached stores, each with its connections."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Kind of stores: the function that makes one from the root of the URIs, in a module of this folder, the library
    that it needs, and the extra that installs the library.
    """

    function: str
    module: str = "buckets"
    library: str = "obstore"
    extra: str = "lake-s3"

    def make(self, root: str, access: StorageAccess, limits: StoreLimits) -> Store:
        found = getattr(importlib.import_module(f"{__package__}.{self.module}"), self.function)
        return found(root, access, limits)  # type: ignore[no-any-return]


_KINDS: Mapping[str, _Kind] = {
    "s3": _Kind("s3_store"),
    "gs": _Kind("gcs_store"),
    "abfs": _Kind("azure_store"),
    "abfss": _Kind("azure_store"),
    "az": _Kind("azure_store"),
    "wasb": _Kind("azure_store"),
    "wasbs": _Kind("azure_store"),
    "http": _Kind("http_store"),
    "https": _Kind("http_store"),
    "hdfs": _Kind("hdfs_store", "hdfs_store", "hdfs_native", "lake-hdfs"),
    "viewfs": _Kind("hdfs_store", "hdfs_store", "hdfs_native", "lake-hdfs"),
}
"""Kinds by the normalized name of a scheme."""


class _Stores:
    """Stores that were used last, by root, access and limits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = OrderedDict[tuple[str, str, StoreLimits], Store]()

    def store(self, root: str, access: StorageAccess, limits: StoreLimits) -> Store:
        key = (root, access.id, limits)
        with self._lock:
            if key not in self._known:
                self._known[key] = _made(root, access, limits)
                if len(self._known) > _MOST:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]


_stores = _Stores()


def store_of(location: str, access: StorageAccess, limits: StoreLimits | None = None) -> Store:
    """Store that holds a remote location, with what `access` allows.

    UnsupportedError for a scheme without stores, ConfigurationError if the package for it is missing,
    StorageRefusedError 28000 if there are no keys.
    """
    from sharkpy.sources.storage.object_reader import root_and_key

    return _stores.store(normalized(root_and_key(location)[0]), access, limits or StoreLimits())


def is_supported(location: str) -> bool:
    """True for a location whose scheme has stores."""
    return scheme_of(normalized(location)) in _KINDS


def _made(root: str, access: StorageAccess, limits: StoreLimits) -> Store:
    scheme = scheme_of(root)
    kind = _KINDS.get(scheme)
    if kind is None:
        raise UnsupportedError(f'storage of the scheme "{scheme}"')
    if importlib.util.find_spec(kind.library) is None:
        message = f'storage of the scheme "{scheme}" needs {kind.library}, which is not installed'
        raise ConfigurationError(message, hint=f'run: pip install "sharkpy[{kind.extra}]"')
    return kind.make(root, access, limits)
