"""Upgrade of a catalog of format 6."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations


def upgrade_format_6(_connection: sqlite3.Connection, _: Locations) -> None:
    """Upgrade a catalog to format 7, which stores nothing that format 6 cannot. But an engine of format 6 would take
    the state of a continuous table for an ordinary table.
    """
