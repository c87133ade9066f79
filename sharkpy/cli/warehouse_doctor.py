"""Checks of a warehouse at a URI: the folder of its catalog, the storage, and its owner."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sharkpy.base.errors import SharkError
from sharkpy.base.settings import TAKE_OVER, Conf
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.cli.storage_doctor import storage_checks
from sharkpy.session.defaults import catalog_home
from sharkpy.session.remote_storage import writable_store


def warehouse_checks(location: str, conf: Conf) -> Iterator[tuple[bool, str, str]]:
    """Yield the steps of the check up to the first failure: whether it succeeded, its name, and its finding."""
    for step in storage_checks(location, conf, writes=True):
        yield step
        if not step[0]:
            return
    try:
        is_well, text = _claim(location, conf)
    except SharkError as error:
        is_well, text = False, f"{error.message}; {error.hint}" if error.hint else error.message
    yield is_well, "claim", text


def _claim(location: str, conf: Conf) -> tuple[bool, str]:
    from sharkpy.sources.storage.warehouse_claims import WarehouseClaims

    newest = WarehouseClaims(writable_store(location, conf), location).newest()
    owner, is_known = _owner(Path(catalog_home(location, conf), CATALOG_FILE))
    if newest is None and not is_known:
        return True, "nobody's yet: the first session takes the warehouse"
    if newest is None:
        return False, "nothing tells that it is this catalog's, as it did before: correct the URI or the endpoint"
    if newest.owner == owner:
        return True, f"the warehouse is this catalog's since {newest.made_at}"
    text = f'the warehouse belongs to the catalog at {newest.place} (user "{newest.user}", since {newest.made_at}): '
    return False, f"{text}open it with that one, or take it over: {TAKE_OVER.key}={newest.owner}"


def _owner(path: Path) -> tuple[str, bool]:
    """Return the catalog's own owner id, as far as its file shows it, and whether it has claimed its warehouse
    before.
    """
    if not path.exists():
        return "", False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            row = file.execute("SELECT owner, is_known FROM owner_").fetchone()
    except sqlite3.Error:
        row = None
    return ("", False) if row is None else (str(row[0]), bool(row[1]))
