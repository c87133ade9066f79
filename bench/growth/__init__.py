"""Statements in a warehouse that has grown: many commits to one table, many Hive partitions, many tables."""

from __future__ import annotations

LIBRARIES = ("sharkpy",)
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = ("appends", "partitions", "tables")
"""Modules of the package, each with `measure(runs: int, scale: float) -> list[Figure]`."""
