"""Measurements of streams and continuous tables, beside peers."""

from __future__ import annotations

NAMES: tuple[str, ...] = ("append_json", "append_parquet")
"""Modules of the package, each with `measure(runs: int) -> list[Figure]`; its docstring describes the comparison."""
LIBRARIES = ("duckdb", "pyspark")
