"""Measure this checkout and another one in turn, to find the cost of a change. The table has one file for each."""

from __future__ import annotations

NAMES: tuple[str, ...] = ("start", "statements", "writes", "tpch")
"""Modules here, each with `measure(runs: int, scale: float, checkout: Path) -> list[Figure]`."""
