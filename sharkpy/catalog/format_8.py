"""Upgrade of a catalog of format 8."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations

OWNER_TABLE = (
    "CREATE TABLE owner_ (owner TEXT NOT NULL, inode TEXT NOT NULL, place TEXT NOT NULL, is_known INTEGER NOT NULL)"
)


def upgrade_format_8(connection: sqlite3.Connection, _: Locations) -> None:
    """Make a catalog of format 9, in the transaction of the caller. An engine of format 8 would take a warehouse at a
    URI for a local folder.
    """
    connection.execute(OWNER_TABLE)
