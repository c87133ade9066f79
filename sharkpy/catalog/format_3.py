"""Upgrade of a catalog of format 3."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations


def upgrade_format_3(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 4, in the caller's transaction."""
    connection.execute(
        "CREATE TABLE epoch_ (query_id TEXT, epoch INTEGER, table_id TEXT NOT NULL, generation INTEGER NOT NULL,"
        " offsets TEXT NOT NULL, written_ms INTEGER NOT NULL, PRIMARY KEY (query_id, epoch)) WITHOUT ROWID"
    )
