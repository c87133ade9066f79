"""Sums over a minute, each second."""

from __future__ import annotations

from bench.figure import Figure
from bench.streaming.kept import kept_figures


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    return kept_figures("sliding", runs, scale)
