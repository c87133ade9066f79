"""Upgrade of a catalog of format 1."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations
from sharkpy.catalog.relocation import make_relative

_TABLES = (
    "CREATE TABLE IF NOT EXISTS database_ (name TEXT PRIMARY KEY, location TEXT NOT NULL, comment TEXT,"
    " body TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS table_ (database TEXT, name TEXT, table_id TEXT UNIQUE NOT NULL, body TEXT NOT NULL,"
    " PRIMARY KEY (database, name)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS garbage (path TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS partition_ (partition_id INTEGER PRIMARY KEY AUTOINCREMENT, table_id TEXT NOT NULL,"
    " name TEXT NOT NULL, location TEXT, newest INTEGER, form TEXT NOT NULL DEFAULT '', UNIQUE (table_id, name))",
    "CREATE TABLE IF NOT EXISTS statistics_ (table_id TEXT, partition TEXT, body TEXT NOT NULL,"
    " PRIMARY KEY (table_id, partition)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS function_ (database TEXT, name TEXT, body TEXT NOT NULL,"
    " PRIMARY KEY (database, name)) WITHOUT ROWID",
)
_LATER_COLUMNS = (("partition_", "form"), ("database_", "body"))
"""Text columns that the first files of the format do not have."""
_RENAMED = (
    ("database_", "location", "folder"),
    ("table_", "body", "definition"),
    ("garbage", "path", "folder"),
    ("partition_", "location", "folder"),
    ("function_", "body", "definition"),
)


_ADDED = (
    "CREATE TABLE format_ (written_by TEXT NOT NULL)",
    "CREATE TABLE place_ (warehouse TEXT NOT NULL, inode TEXT NOT NULL)",
)


def upgrade_format_1(connection: sqlite3.Connection, locations: Locations) -> None:
    """Upgrade a catalog to format 2, in the caller's transaction."""
    _add_missing(connection)
    for table, column, name in _RENAMED:
        connection.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO {name}")
    for statement in _ADDED:
        connection.execute(statement)
    make_relative(connection, locations)


def _add_missing(connection: sqlite3.Connection) -> None:
    """Add tables and columns that were introduced while the format was in use."""
    for statement in _TABLES:
        connection.execute(statement)
    for table, column in _LATER_COLUMNS:
        known = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if column not in known:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
