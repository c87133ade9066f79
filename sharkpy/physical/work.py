"""Work of a plan estimated before it runs, which decides whether a query is short."""

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
"""Looking at a row of a block, beside taking it into a join or an aggregate."""
_PARSED_VALUE = 0.25
"""Making a value from a file."""


def work_rows(plan: PhysicalPlan) -> int:
    """Rows that `plan`'s operators take in, roughly; 0 where all that it needs is in the plan."""
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
