"""Upgrade of a catalog of format 6."""

from __future__ import annotations

import sqlite3

from sharkpy.base.locations import Locations


def upgrade_format_6(_connection: sqlite3.Connection, _: Locations) -> None:
    """Make a catalog of format 7, which has nothing that format 6 cannot hold: but an engine of format 6 would take the
    state of a continuous table for a table of its own.
    """
