"""Measurements of the HiveServer2, beside Spark's own: one file each, in the table below."""

from __future__ import annotations

NAMES: tuple[str, ...] = ("latency", "fetch", "connections", "sessions", "ready")
"""Modules here, each with `measure(runs: int) -> list[Figure]`; its docstring says what is compared with what."""
