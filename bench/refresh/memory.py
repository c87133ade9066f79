"""Tables of Parquet files that are also kept in memory, as are the dimensions."""

from __future__ import annotations

from bench.figure import Figure
from bench.refresh.maintenance import measured

CLAUSE = "STORED AS PARQUET TBLPROPERTIES ('shark.cache'='MEMORY')"


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return measured(CLAUSE, runs, scale, in_memory=True)
