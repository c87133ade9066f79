"""Rough estimates of the rows, bytes and work of physical plans, before anything is measured."""

from __future__ import annotations

from sharkpy.physical.operators import (
    BlockScan,
    Exchange,
    ExchangeRead,
    Expand,
    FileScan,
    Filter,
    Generate,
    GivenScan,
    GroupingSets,
    HashAggregate,
    HashJoin,
    LimitOperator,
    NestedLoopJoin,
    Project,
    SortOperator,
    TopN,
    UnionAll,
    ValuesScan,
)
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Call, Expr, conjuncts
from sharkpy.plan.logical import JoinKind
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    DataType,
    DecimalType,
)

_WIDTHS: dict[DataType, int] = {
    BOOLEAN: 1,
    TINYINT: 1,
    SMALLINT: 2,
    INT: 4,
    FLOAT: 4,
    DATE: 4,
    BIGINT: 8,
    DOUBLE: 8,
    TIMESTAMP: 8,
}
_VARIABLE_WIDTH = 24
_SELECTIVITY = {"eq": 0.1, "in": 0.2, "like": 0.1, "ne": 0.9, "is_not_null": 0.95}
_FILE_ROW_BYTES = 8
"""Least bytes of a compressed file per value."""


def estimated_bytes(plan: PhysicalPlan) -> int:
    """Return the bytes of `plan`'s rows in Arrow form."""
    return int(estimated_rows(plan)) * row_bytes(plan)


def row_bytes(plan: PhysicalPlan) -> int:
    return sum(_width(column.dtype) for column in plan.output) or 1


def _width(dtype: DataType) -> int:
    return 16 if isinstance(dtype, DecimalType) else _WIDTHS.get(dtype, _VARIABLE_WIDTH)


def estimated_rows(plan: PhysicalPlan) -> float:
    match plan:
        case BlockScan():
            return plan.blocks.num_rows * _share(plan)
        case FileScan():
            return _file_rows(plan) * _share(plan)
        case ValuesScan():
            return len(plan.rows)
        case GivenScan(rows=given) if given.num_rows is not None:
            return given.num_rows
        case ExchangeRead(observed=observed) if observed is not None:
            return observed.rows
        case Exchange():
            return estimated_rows(plan.child)
        case Filter():
            return estimated_rows(plan.child) * selectivity(plan.predicate)
        case HashAggregate():
            return estimated_rows(plan.child) * 0.3 if plan.groups else 1
        case HashJoin() | NestedLoopJoin():
            return _join_rows(plan)
        case TopN() | LimitOperator():
            below = estimated_rows(plan.child)
            return below if plan.count is None else min(below, plan.count)
        case UnionAll():
            return sum(map(estimated_rows, plan.inputs))
        case Expand() | GroupingSets():
            return estimated_rows(plan.child) * len(plan.projections)
        case Generate():
            return estimated_rows(plan.child) * 4
    return max((estimated_rows(child) for child in plan.children), default=1_000_000)


def _share(plan: BlockScan | FileScan) -> float:
    """Return the share of the rows of blocks or files that a scan returns."""
    return selectivity(plan.predicate) * (1.0 if plan.sample is None else plan.sample.fraction)


def _file_rows(plan: FileScan) -> float:
    known = [split.num_rows for split in plan.splits.splits]
    if all(rows is not None for rows in known):
        return sum(rows or 0 for rows in known)
    return plan.splits.size_bytes / (_FILE_ROW_BYTES * max(len(plan.table_schema), 1))


def _join_rows(plan: HashJoin | NestedLoopJoin) -> float:
    left, right = estimated_rows(plan.left), estimated_rows(plan.right)
    match plan.kind:
        case JoinKind.SEMI | JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI:
            return left * 0.5
        case JoinKind.LEFT | JoinKind.SINGLE if plan.left_keys:
            return left
        case JoinKind.FULL if plan.left_keys:
            return left + right
    return max(left, right) if plan.left_keys else left * max(right, 1)


def selectivity(predicate: Expr | None) -> float:
    share = 1.0
    for term in conjuncts(predicate):
        share *= _SELECTIVITY.get(term.function, 0.4) if isinstance(term, Call) else 0.5
    return max(share, 0.001)


# Work before a query runs, which decides whether it is short


_EFFORTLESS = (ValuesScan, Project, Filter, SortOperator, TopN, LimitOperator)
_SCANNED_ROW = 0.1
"""Cost of reading a row of a block, relative to taking it into a join or an aggregate."""
_PARSED_VALUE = 0.25
"""Cost of reading a value from a file."""


def estimated_work(plan: PhysicalPlan) -> int:
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
