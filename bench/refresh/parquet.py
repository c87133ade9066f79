"""Tables of Parquet files: a DELETE rewrites the files from which it removes rows."""

from __future__ import annotations

from bench.figure import Figure
from bench.refresh.maintenance import measured

CLAUSE = "STORED AS PARQUET"


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return measured(CLAUSE, runs, scale)
