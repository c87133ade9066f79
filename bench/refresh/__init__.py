"""TPC-DS's data maintenance (chapter 5 of its specification), compared with DuckDB: one kind of tables a file."""

from __future__ import annotations

LIBRARIES = ("sharkpy", "duckdb", "deltalake")
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = ("parquet", "memory", "delta")
"""Modules of the package, each with `measure(runs: int, scale: float) -> list[Figure]`; its docstring describes the
tables.
"""
