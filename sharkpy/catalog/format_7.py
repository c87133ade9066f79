"""Upgrade of a catalog of format 7."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations


def upgrade_format_7(connection: sqlite3.Connection, _: Locations) -> None:
    """Make a catalog of format 8, in the transaction of the caller."""
    connection.execute("ALTER TABLE stream_file_ ADD COLUMN tag TEXT NOT NULL DEFAULT ''")
