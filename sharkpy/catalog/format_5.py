"""Upgrade of a catalog of format 5."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations


def upgrade_format_5(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 6, in the caller's transaction."""
    connection.execute(
        "CREATE TABLE epoch_partition_ (query_id TEXT, epoch INTEGER, partition_id INTEGER, newest INTEGER,"
        " PRIMARY KEY (query_id, epoch, partition_id)) WITHOUT ROWID"
    )
