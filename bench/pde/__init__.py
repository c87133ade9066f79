"""Measurements of what changes while a plan runs: one file each, in the table below."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value against its aim: `wanted` as text ("at least 3"), `met` whether it holds."""

    what: str
    value: str
    wanted: str = ""
    met: bool | None = None


NAMES: tuple[str, ...] = ("skew", "skewed_distinct", "copartition", "sessions", "rebuild", "join_choice", "top_n")
"""Modules here, each with `measure(runs: int) -> list[Figure]`; its docstring says what is compared with what."""
