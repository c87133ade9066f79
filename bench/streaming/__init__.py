"""Measurements of streams and continuous tables, compared with peers if they have the feature."""

from __future__ import annotations

NAMES: tuple[str, ...] = (
    "append_json",
    "append_parquet",
    "append_kafka",
    "freshness",
    "appends",
    "idle",
    "epochs",
    "recovery",
    "ads",
    "ads_kafka",
    "sliding",
    "totals",
    "sessions",
    "stream_join",
    "states",
    "nexmark",
    "killed_executor",
    "steady",
)
"""Modules of the package, each with `measure(runs: int, scale: float) -> list[Figure]`; its docstring describes the
comparison. The scale shortens what is measured: 0.05 takes seconds.
"""
LIBRARIES = ("duckdb", "pyspark", "chdb", "confluent-kafka")
"""Libraries whose versions are noted, if they are installed."""
