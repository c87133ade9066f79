"""Measurements of tables in an S3 server on loopback, and of tables of Iceberg: one file each, in the table below."""

from __future__ import annotations

LIBRARIES = ("sharkpy", "obstore", "pyspark", "pyiceberg", "duckdb")
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = ("tpch", "fetched", "partitions", "loading", "kills", "iceberg")
"""Modules of the package, each with `measure(runs: int, scale: float) -> list[Figure]`; its docstring describes the
comparison.
"""
