"""Measurements of streams and continuous tables, beside peers where they have the like."""

from __future__ import annotations

NAMES: tuple[str, ...] = (
    "append_json",
    "append_parquet",
    "freshness",
    "appends",
    "idle",
    "epochs",
    "recovery",
)
"""Modules of the package, each with `measure(runs: int) -> list[Figure]`; its docstring describes the comparison. Those
behind the second one also take a scale, which shortens what they measure: with 0.05 they take seconds.
"""
LIBRARIES = ("duckdb", "pyspark")
