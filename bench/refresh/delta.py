"""Tables of Delta Lake."""

from __future__ import annotations

from bench.figure import Figure
from bench.refresh.maintenance import measured

CLAUSE = "USING delta"


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return measured(CLAUSE, runs, scale)
