"""Measurements of this checkout beside another one, in turn: what a change costs. One file each, in the table below."""

from __future__ import annotations

NAMES: tuple[str, ...] = ("start", "statements", "tpch")
"""Modules here, each with `measure(runs: int, scale: float, checkout: Path) -> list[Figure]`."""
