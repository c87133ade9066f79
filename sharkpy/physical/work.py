"""Estimate of a plan's work before it runs, which decides whether a query is short."""

from __future__ import annotations

from sharkpy.physical.estimate import estimated_rows
from sharkpy.physical.operators import (
    BlockScan,
    Exchange,
    FileScan,
    Filter,
    Generate,
    GivenScan,
    LimitOperator,
    NestedLoopJoin,
    Project,
    SortOperator,
    TopN,
    ValuesScan,
)
from sharkpy.physical.plan import PhysicalPlan

_EFFORTLESS = (ValuesScan, Project, Filter, SortOperator, TopN, LimitOperator)
_SCANNED_ROW = 0.1
"""Cost of reading a row of a block, relative to taking it into a join or an aggregate."""
_PARSED_VALUE = 0.25
"""Cost of reading a value from a file."""


def work_rows(plan: PhysicalPlan) -> int:
    """Estimate the rows that `plan`'s operators read; 0 if the plan itself has all its data."""
    nodes = list(plan.walk())
    if all(isinstance(node, _EFFORTLESS) for node in nodes):
        return 0
    return max(1, int(sum(map(_work, nodes))))


def _work(node: PhysicalPlan) -> float:
    match node:
        case BlockScan():
            return _SCANNED_ROW * node.blocks.num_rows
        case FileScan():
            return _PARSED_VALUE * estimated_rows(node) * len(node.columns)
        case NestedLoopJoin(left=left, right=right):
            return estimated_rows(left) * estimated_rows(right)
        case Generate() | GivenScan():
            return estimated_rows(node)
        case Exchange() | Project() | LimitOperator():
            return 0
    return sum(map(estimated_rows, node.children))
