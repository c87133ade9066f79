"""Merge adjacent inputs of a union that are constant rows into one Values."""

from __future__ import annotations

import itertools

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import Alias, ColumnRef, Expr, Literal
from sharkpy.plan.logical import LogicalPlan, Project, Union, Values


def merge_constant_rows(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Merge constant inputs of unions: `SELECT 1 UNION ALL SELECT 2` becomes VALUES 1, 2."""
    return plan.transform_up(lambda node: _merged(node, context) if isinstance(node, Union) else node)


def _merged(union: Union, context: Context) -> LogicalPlan:
    inputs: list[LogicalPlan] = []
    for is_constant, group in itertools.groupby(union.inputs, lambda child: _constants(child) is not None):
        members = list(group)
        rows = tuple(row for member in members for row in _constants(member) or ())
        if not is_constant or len(members) == 1:
            inputs += members
        elif len(members) == len(union.inputs):
            return Values(union.columns, rows)
        else:
            columns = tuple(ColumnRef(context.fresh_id(), c.name, c.dtype) for c in members[0].output)
            inputs.append(Values(columns, rows))
    return union if len(inputs) == len(union.inputs) else Union(tuple(inputs), union.columns)


def _constants(plan: LogicalPlan) -> tuple[tuple[Expr, ...], ...] | None:
    """Return the rows of `plan` if it has only constants, in at least one column."""
    match plan:
        case Values(columns, rows) if columns:
            return rows if all(isinstance(value, Literal) for row in rows for value in row) else None
        case Project(Values((), rows), items):
            values = tuple(item.expr if isinstance(item, Alias) else item for item in items)
            return (values,) * len(rows) if all(isinstance(value, Literal) for value in values) else None
    return None
