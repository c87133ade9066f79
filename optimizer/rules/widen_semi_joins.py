"""Turn a semi join with unique keys into an inner join, so that joins can be reordered with it."""

from __future__ import annotations

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.rules.eliminate_distinct import unique_key
from sharkpy.optimizer.subqueries.columns import keep_columns
from sharkpy.plan.expr import Call, ColumnRef, conjuncts
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan


def widen_semi_joins(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Widen if the equalities determine a unique key of the right side: then no left row matches twice."""
    return plan.transform_up(lambda node: _widen(node, context))


def _widen(plan: LogicalPlan, context: Context) -> LogicalPlan:
    if not isinstance(plan, Join) or plan.kind is not JoinKind.SEMI or plan.hint is not None:
        return plan
    key = unique_key(plan.right)
    if key is None:
        return plan
    left_ids, right_ids = context.output_ids(plan.left), context.output_ids(plan.right)
    fixed: set[int] = set()
    for term in conjuncts(plan.condition):
        match term:
            case Call("eq", (ColumnRef(column_id), other)) if column_id in right_ids:
                fixed.update((column_id,) if context.ids(other) <= left_ids else ())
            case Call("eq", (other, ColumnRef(column_id))) if column_id in right_ids:
                fixed.update((column_id,) if context.ids(other) <= left_ids else ())
    if not key <= fixed:
        return plan
    joined = Join(plan.left, plan.right, JoinKind.INNER, plan.condition)
    return keep_columns(joined, plan.left.output)
