"""Measurements of HiveServer2, compared with Spark's own: one file each, in the table below."""

from __future__ import annotations

LIBRARIES = ("pyspark", "PyHive", "impyla")
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = ("latency", "fetch", "sql", "console", "connections", "sessions", "ready")
"""Modules of the package, each with `measure(runs: int) -> list[Figure]`; its docstring describes the comparison."""
