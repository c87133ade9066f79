"""Claim of a catalog on its warehouse at a URI: only this catalog opens the warehouse, and all tables in it are its
own.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError, StorageRefusedError, UnsupportedError
from sharkpy.base.settings import TAKE_OVER, Conf
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.warehouse_identity import CatalogOwner

if TYPE_CHECKING:
    from sharkpy.sources.storage.store import Store
    from sharkpy.sources.storage.warehouse_claims import Claim

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
            hint="open it with that catalog. To take it over after everybody has stopped using that catalog, set "
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
