"""Views and the clicks within 10 seconds of them: a join of two streams."""

from __future__ import annotations

from bench.figure import Figure
from bench.streaming.kept import kept_figures


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return kept_figures("stream_join", runs, scale)
