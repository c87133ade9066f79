"""Measurements of decisions at run time: one file each, in the table below."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value against its aim: `wanted` as text ("at least 3"), and whether it is `met`."""

    what: str
    value: str
    wanted: str = ""
    met: bool | None = None


NAMES: tuple[str, ...] = (
    "skew",
    "skewed_distinct",
    "copartition",
    "sessions",
    "rebuild",
    "join_choice",
    "top_n",
    "long_texts",
)
"""Modules of the package, each with `measure(runs: int) -> list[Figure]`; its docstring describes the comparison."""
