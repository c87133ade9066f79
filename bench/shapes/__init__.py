"""Data of unusual shapes, compared with DuckDB: one group of shapes a file, in the table below."""

from __future__ import annotations

LIBRARIES = ("sharkpy", "duckdb")
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = ("columns", "pieces", "values", "ends")
"""Modules of the package, each with SHAPES and `measure(runs: int, scale: float) -> list[Figure]`."""
