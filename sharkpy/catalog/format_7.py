"""Upgrade of a catalog of format 7."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations


def upgrade_format_7(connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 8, in the caller's transaction."""
    connection.execute("ALTER TABLE stream_file_ ADD COLUMN tag TEXT NOT NULL DEFAULT ''")
