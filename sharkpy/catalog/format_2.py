"""Upgrade of a catalog of format 2."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations

_ADDED = (
    "CREATE TABLE generation_ (table_id TEXT PRIMARY KEY, newest INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE continuous_ (query_id TEXT PRIMARY KEY, definition TEXT NOT NULL, state TEXT NOT NULL,"
    " epoch INTEGER NOT NULL, offsets TEXT NOT NULL, fault TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE stream_file_ (table_id TEXT, number INTEGER, name TEXT NOT NULL, size_bytes INTEGER NOT NULL,"
    " modified_ns INTEGER NOT NULL, PRIMARY KEY (table_id, number), UNIQUE (table_id, name)) WITHOUT ROWID",
)


def upgrade_format_2(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 3, in the caller's transaction."""
    for statement in _ADDED:
        connection.execute(statement)
