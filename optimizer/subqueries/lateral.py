"""Turn a lateral join, whose right side is computed for each left row, into joins of independent sides."""

from __future__ import annotations

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.subqueries.domain import Domain, is_one_empty_row, same
from sharkpy.optimizer.subqueries.pull_up import Pulled, pull_up
from sharkpy.plan.expr import Alias, ColumnRef, Expr, conjunction
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project
from sharkpy.plan.references import free_column_ids, substitute


def plain_join(plan: Join, context: Context) -> LogicalPlan:
    """Return an equivalent join, on the conditions in the right side, or else on the left values used there.

    The ON condition of an inner join becomes a filter above it.
    """
    if plan.kind is JoinKind.LATERAL and plan.condition is not None:
        return Filter(plain_join(Join(plan.left, plan.right, plan.kind), context), plan.condition)
    free = free_column_ids(plan.right)
    kind = JoinKind.INNER if plan.kind is JoinKind.LATERAL else JoinKind.LEFT
    if not free & context.output_ids(plan.left):
        return _joined(plan.left, plan.right, kind, plan.condition)
    pulled = pull_up(plan.right, free, context)
    if pulled is None or pulled.empty is not None or (pulled.deferred and kind is JoinKind.LEFT):
        pulled = _over_domain(plan, free, context)
    condition = conjunction((*pulled.conditions, *(() if plan.condition is None else (plan.condition,))))
    joined = _joined(plan.left, pulled.plan, kind, condition)
    right = (_column(column, pulled.deferred) for column in plan.right.output)
    return Project(joined, (*plan.left.output, *right))


def _over_domain(plan: Join, free: frozenset[int], context: Context) -> Pulled:
    """Compute the right side for each distinct combination of the left values that it uses."""
    columns = [column for column in plan.left.output if column.column_id in free]
    domain = Domain(plan.left, columns, context)
    right, refs = domain.push(plan.right)
    return Pulled(right, tuple(same(column, refs[column.column_id]) for column in columns))


def _joined(left: LogicalPlan, right: LogicalPlan, kind: JoinKind, condition: Expr | None) -> LogicalPlan:
    if kind is JoinKind.LEFT or condition is not None:
        return Join(left, right, kind, condition)
    return left if is_one_empty_row(right) else Join(left, right, JoinKind.CROSS)


def _column(column: ColumnRef, deferred: dict[int, Expr]) -> Alias | ColumnRef:
    """Return a column of the right side. A column that could not be computed there is computed above the join."""
    value = deferred.get(column.column_id)
    return column if value is None else Alias(substitute(value, deferred), column.column_id, column.name)
