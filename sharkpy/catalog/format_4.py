"""Upgrade of a catalog of format 4."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations

_ADDED = (
    "CREATE TABLE feed_ (stream_id TEXT PRIMARY KEY, table_id TEXT NOT NULL) WITHOUT ROWID",
    "ALTER TABLE stream_file_ ADD COLUMN form TEXT NOT NULL DEFAULT ''",
)


def upgrade_format_4(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 5, in the caller's transaction."""
    for statement in _ADDED:
        connection.execute(statement)
