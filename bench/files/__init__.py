"""Measurements of scans of files: one file each, in the table below."""

from __future__ import annotations

LIBRARIES = ("pyspark", "duckdb")
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = ("text", "parquet", "events")
"""Modules of the package, each with `measure(runs: int) -> list[Figure]`; its docstring describes the comparison."""
