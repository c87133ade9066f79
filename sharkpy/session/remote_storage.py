"""Remote storage of sessions: their accesses, and the claim of a catalog on its warehouse at a URI.

Only the catalog that claims a warehouse opens it, and all tables in the warehouse are that catalog's.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError, StorageRefusedError, UnsupportedError
from sharkpy.base.settings import TAKE_OVER, TEMP_DIR, Conf
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.path_gate import check_not_engines
from sharkpy.catalog.warehouse_identity import CatalogOwner
from sharkpy.execution.restrictions import Restrictions

if TYPE_CHECKING:
    from sharkpy.sources.storage.access import StorageAccess
    from sharkpy.sources.storage.store import Store
    from sharkpy.sources.storage.warehouse_claims import Claim

_MOST = 256


class SessionAccesses:
    """Latest accesses of a session to storage. They are kept because statements and tasks find them by their ids.

    Safe to use from several threads.
    """

    def __init__(self, conf: Conf, owner: Conf, restrictions: Callable[[], Restrictions]) -> None:
        """`conf`: the session's settings; `owner`: the settings of the engine's owner."""
        self._conf = conf
        self._owner = owner
        self._restrictions = restrictions
        self._lock = threading.Lock()
        self._given: OrderedDict[str, StorageAccess] = OrderedDict()

    def find(self, location: str, is_named: bool) -> str:
        """Return the id of the access to a location of a table in the catalog, or of one that a statement names.

        A restricted session may name a location only within its bounds or with its own keys. Errors are raised as by
        `access_to`. A local path needs no access, so its id is empty: NotAllowedError if a statement names a path that
        is out of bounds.
        """
        restrictions = self._restrictions()
        if not uri.is_remote(location):
            if is_named:
                restrictions.check_path(location)
            return ""
        from sharkpy.sources.storage.access import ACCESSES, access_to
        from sharkpy.sources.storage.fetched_files import FETCHED

        uri.check_no_secrets(location)
        if is_named:
            check_not_engines(location)
        is_restricted = restrictions.folders is not None or restrictions.guards_settings
        is_open = not is_named or not is_restricted or restrictions.opens(location)
        found = access_to(location, self._conf, self._owner, is_restricted=is_restricted, is_open=is_open)
        with self._lock:
            kept = self._given.pop(found.id, found)
            self._given[kept.id] = kept
            while len(self._given) > _MOST:
                self._given.popitem(last=False)
        ACCESSES.note((kept,))
        if folder := self._owner.value(TEMP_DIR):
            FETCHED.use_folder(folder)
        return kept.id


# Claim of a catalog on its warehouse


IN_USE = "55006"
_TRIES = 5


def claimed(catalog: Catalog, conf: Conf) -> Catalog:
    """Return the catalog after claiming its warehouse. An error closes the catalog.

    Raise ConfigurationError 55006 if the warehouse belongs to another catalog, unless `conf` names its owner to take it
    over from. Raise UnsupportedError if the storage cannot hold a claim. Local warehouses, which contain their catalog,
    and read-only catalogs need no claim.
    """
    if uri.is_remote(catalog.warehouse_dir) and not catalog.is_read_only:
        try:
            _claim(catalog, conf)
        except BaseException:
            catalog.close()
            raise
    return catalog


def require_claimable(warehouse: str, conf: Conf) -> None:
    """Raise ConfigurationError 55006 if a new warehouse would be inside another one, UnsupportedError if the storage
    cannot hold a claim. The caller checks for other files.
    """
    if uri.is_remote(warehouse):
        _check_around(writable_store(warehouse, conf), warehouse)


def writable_store(warehouse: str, conf: Conf) -> Store:
    """Return the store of a warehouse. Raise UnsupportedError if it cannot hold one."""
    from sharkpy.sources.storage.access import access_to
    from sharkpy.sources.storage.stores import store_of

    store = store_of(warehouse, access_to(warehouse, conf, conf))
    if not (store.traits.writes and store.traits.lists and store.traits.puts_new):
        fact = f"{store.name.endpoint} cannot create a file only if it does not exist"
        message = f'"{uri.redacted(warehouse)}" cannot be a warehouse: {fact}'
        raise UnsupportedError(message, hint="choose a bucket of S3, Google or Azure, or a folder of HDFS")
    return store


def _claim(catalog: Catalog, conf: Conf) -> None:
    from sharkpy.sources.storage.warehouse_claims import Claim, WarehouseClaims

    warehouse, mine = catalog.warehouse_dir, catalog.owner()
    store = writable_store(warehouse, conf)
    claims = WarehouseClaims(store, warehouse)
    for attempt in range(_TRIES):
        newest = claims.newest()
        if newest is not None and newest.owner == mine.owner:
            catalog.note_claimed()
            return
        if attempt:
            time.sleep(0.1 * attempt)
        _check_free(warehouse, mine, newest, conf.value(TAKE_OVER))
        if newest is None:
            _check_around(store, warehouse)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        claims.put(Claim(1 if newest is None else newest.number + 1, mine.owner, mine.place, user_name(conf), now))
    raise ConfigurationError(f'the claim on the warehouse "{warehouse}" could not be written', sqlstate=IN_USE)


def _check_free(warehouse: str, mine: CatalogOwner, newest: Claim | None, taken_from: str) -> None:
    """Raise ConfigurationError 55006 if the warehouse has another owner than the one that it is taken over from."""
    if newest is not None and newest.owner != taken_from:
        raise ConfigurationError(
            f'the warehouse "{warehouse}" belongs to the catalog at {newest.place} (user "{newest.user}", since '
            f"{newest.made_at})",
            hint="open it with that catalog. To take it over after the last process has closed that catalog, set "
            f"{TAKE_OVER.key}={newest.owner}",
            sqlstate=IN_USE,
        )
    if newest is None and mine.is_known and mine.owner != taken_from:
        raise ConfigurationError(
            f'"{warehouse}" no longer has the mark of this catalog',
            hint="correct the URI, or the endpoint in the settings. If the warehouse was emptied on purpose, set "
            f"{TAKE_OVER.key}={mine.owner}",
            sqlstate=IN_USE,
        )


def _check_around(store: Store, warehouse: str) -> None:
    """Raise ConfigurationError 55006 if a new warehouse is in the folder of another one that the keys can read."""
    from sharkpy.sources.storage.warehouse_claims import WarehouseClaims

    folder = warehouse
    while (around := uri.parent(folder)) != folder:
        folder = around
        with suppress(StorageRefusedError):
            if WarehouseClaims(store, folder).newest() is not None:
                message = f'"{warehouse}" is inside another warehouse, "{folder}"'
                raise ConfigurationError(message, hint="choose another place", sqlstate=IN_USE)
