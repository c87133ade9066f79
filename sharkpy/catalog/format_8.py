"""Upgrade of a catalog of format 8."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations

OWNER_TABLE = (
    "CREATE TABLE owner_ (owner TEXT NOT NULL, inode TEXT NOT NULL, place TEXT NOT NULL, is_known INTEGER NOT NULL)"
)


def upgrade_format_8(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 9, in the caller's transaction. An engine of format 8 would take a warehouse at a URI
    for a local folder.
    """
    connection.execute(OWNER_TABLE)
