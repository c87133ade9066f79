"""Decisions of a plan between kernels and DuckDB."""

from __future__ import annotations

import sharkpy
from tests.rows import rows


def planned(session: sharkpy.SharkContext, query: str, kernels: str) -> list[str]:
    """Return the decisions about kernels."""
    session.sql(f"SET shark.kernels={kernels}")
    return [line for (line,) in rows(session, f"EXPLAIN {query}") if line.startswith("decided when planning: HashAgg")]
