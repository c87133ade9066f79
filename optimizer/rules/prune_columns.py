"""Produce only the columns that nodes above use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Step,
    Union,
    Values,
    Window,
)
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
    is_nested,
)

Ids = frozenset[int]

_WIDTH: dict[DataType, int] = {
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


def prune_columns(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Prune unused columns. A relation keeps at least one column to carry its rows; a scan keeps its narrowest."""
    return _prune(plan, context.output_ids(plan), context)


def _prune(plan: LogicalPlan, needed: Ids, context: Context) -> LogicalPlan:
    """Return `plan` with at least the columns `needed`, which it has, and few other columns."""
    match plan:
        case Scan():
            return _prune_scan(plan, needed, context)
        case Values():
            return _prune_values(plan, needed)
        case Project(child, items):
            kept = _needed(items, needed) or items[:1]
            child = _prune(child, _used(kept, context), context)
            return plan if child is plan.child and len(kept) == len(items) else Project(child, kept)
        case Filter(child, predicate):
            return plan.with_children(_prune(child, needed | context.ids(predicate), context))
        case Aggregate():
            return _prune_aggregate(plan, needed, context)
        case Join():
            return _prune_join(plan, needed, context)
        case Union():
            return _prune_union(plan, needed, context)
        case Window():
            return _prune_window(plan, needed, context)
        case Sort(child, keys) | Distribute(child, keys):
            return plan.with_children(_prune(child, needed | _used(keys, context), context))
        case Limit(child):
            return plan.with_children(_prune(child, needed, context))
        case Generate(child, generator):
            below = (needed | context.ids(generator)) & context.output_ids(child)
            return plan.with_children(_prune(child, below, context))
        case Step():
            return _prune_step(plan, needed, context)
        case Expand():
            return _prune_expand(plan, needed, context)
    return plan


def _needed(items: Sequence[Alias | ColumnRef], needed: Ids) -> tuple[Alias | ColumnRef, ...]:
    return tuple(item for item in items if item.column_id in needed)


def _used(exprs: Sequence[Expr], context: Context) -> Ids:
    return frozenset().union(*(context.ids(expr) for expr in exprs))


def _width(dtype: DataType) -> int:
    if isinstance(dtype, DecimalType):
        return 8 if dtype.precision <= 18 else 16
    return 100 if is_nested(dtype) else _WIDTH.get(dtype, 24)


def _prune_scan(plan: Scan, needed: Ids, context: Context) -> Scan:
    if plan.predicate is not None:
        needed = needed | context.ids(plan.predicate)
    kept = [i for i, column in enumerate(plan.columns) if column.column_id in needed]
    if len(kept) == len(plan.columns):
        return plan
    if not kept:
        kept = [min(range(len(plan.columns)), key=lambda i: _width(plan.columns[i].dtype))]
        if len(plan.columns) == 1:
            return plan
    columns, names = tuple(plan.columns[i] for i in kept), tuple(plan.names[i] for i in kept)
    return replace(plan, columns=columns, names=names)


def _prune_values(plan: Values, needed: Ids) -> Values:
    kept = [i for i, column in enumerate(plan.columns) if column.column_id in needed] or [0]
    if len(kept) >= len(plan.columns):
        return plan
    return Values(tuple(plan.columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in plan.rows))


def _prune_aggregate(plan: Aggregate, needed: Ids, context: Context) -> Aggregate:
    aggregates = tuple(item for item in plan.aggregates if item.column_id in needed)
    if not aggregates and not plan.groups:
        aggregates = plan.aggregates[:1]
    child = _prune(plan.child, _used((*plan.groups, *aggregates), context), context)
    if child is plan.child and len(aggregates) == len(plan.aggregates):
        return plan
    return Aggregate(child, plan.groups, aggregates)


def _prune_join(plan: Join, needed: Ids, context: Context) -> Join:
    below = needed if plan.condition is None else needed | context.ids(plan.condition)
    left = _exactly(plan.left, below & context.output_ids(plan.left), context)
    right = _exactly(plan.right, below & context.output_ids(plan.right), context)
    if left is plan.left and right is plan.right:
        return plan
    return Join(left, right, plan.kind, plan.condition, plan.hint)


def _exactly(plan: LogicalPlan, needed: Ids, context: Context) -> LogicalPlan:
    """Return the pruned `plan` with exactly the columns `needed`."""
    pruned = _prune(plan, needed, context)
    if context.output_ids(pruned) == needed or isinstance(pruned, Values):
        return pruned
    kept = tuple(column for column in pruned.output if column.column_id in needed) or pruned.output[:1]
    return pruned if len(kept) == len(pruned.output) else Project(pruned, kept)


def _prune_union(plan: Union, needed: Ids, context: Context) -> Union:
    kept = [i for i, column in enumerate(plan.columns) if column.column_id in needed] or [0]
    inputs = []
    for child in plan.inputs:
        output = child.output
        columns = tuple(output[i] for i in kept)
        pruned = _prune(child, frozenset(column.column_id for column in columns), context)
        same = [c.column_id for c in pruned.output] == [c.column_id for c in columns]
        inputs.append(pruned if same else Project(pruned, columns))
    unchanged = all(new is old for new, old in zip(inputs, plan.inputs, strict=True))
    if unchanged and len(kept) == len(plan.columns):
        return plan
    return Union(tuple(inputs), tuple(plan.columns[i] for i in kept))


def _prune_window(plan: Window, needed: Ids, context: Context) -> LogicalPlan:
    windows = tuple(item for item in plan.windows if item.column_id in needed)
    below = (needed | _used(windows, context)) & context.output_ids(plan.child)
    child = _prune(plan.child, below, context)
    if not windows:
        return child
    if child is plan.child and len(windows) == len(plan.windows):
        return plan
    return Window(child, windows)


def _prune_step(plan: Step, needed: Ids, context: Context) -> Step:
    """A step reads all its arguments and makes all its columns. Only passed-on columns can be pruned."""
    passed = tuple(column for column in plan.passed if column.column_id in needed)
    child = _prune(plan.child, _used((*plan.arguments, *passed), context), context)
    if child is plan.child and len(passed) == len(plan.passed):
        return plan
    return Step(child, plan.step, plan.arguments, plan.columns, passed)


def _prune_expand(plan: Expand, needed: Ids, context: Context) -> Expand:
    kept = [i for i, column in enumerate(plan.columns) if column.column_id in needed] or [0]
    used = _used([row[i] for row in plan.projections for i in kept], context)
    child = _prune(plan.child, used, context)
    if len(kept) == len(plan.columns) and child is plan.child:
        return plan
    rows = tuple(tuple(row[i] for i in kept) for row in plan.projections)
    return Expand(child, tuple(plan.columns[i] for i in kept), rows)
