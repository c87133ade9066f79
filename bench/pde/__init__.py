"""Measurements of decisions at run time: one file each, in the table below."""

from __future__ import annotations

LIBRARIES = ("pyspark", "duckdb")
"""Libraries whose versions are noted."""
NAMES: tuple[str, ...] = (
    "skew",
    "skewed_distinct",
    "copartition",
    "sessions",
    "clients",
    "rebuild",
    "join_choice",
    "top_n",
    "long_texts",
)
"""Modules of the package, each with `measure(runs: int) -> list[Figure]`; its docstring describes the comparison."""
