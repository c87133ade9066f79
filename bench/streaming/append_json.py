"""A backlog of JSON lines into a continuous table."""

from __future__ import annotations

from bench.figure import Figure
from bench.streaming.append import append_figures


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return append_figures("json", runs, scale)
