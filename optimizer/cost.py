"""What a join costs, in rows touched: enough to compare two orders of the same joins."""

from __future__ import annotations

BUILD_FACTOR = 1.5
"""A row put into a hash table against a row looked up in one."""
PAIR_FACTOR = 0.1
"""A pair of rows compared where no equality leads to a hash table."""


def join_cost(probe_rows: float, build_rows: float, output_rows: float, has_equality: bool) -> float:
    """Cost of one join, the costs of its inputs not included."""
    if not has_equality:
        return probe_rows + build_rows + PAIR_FACTOR * probe_rows * build_rows + output_rows
    return probe_rows + BUILD_FACTOR * build_rows + output_rows
