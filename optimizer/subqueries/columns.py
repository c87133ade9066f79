"""Columns of plans and expressions for unnesting: references by id, copies under new ids."""

from __future__ import annotations

from collections.abc import Iterable

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.plan.references import renumbered
from sharkpy.plan.subqueries import SUBQUERIES


def has_subquery(expr: Expr) -> bool:
    return any(isinstance(node, SUBQUERIES) for node in expr.walk())


def node_has_subquery(plan: LogicalPlan) -> bool:
    return any(has_subquery(expr) for expr in plan.expressions)


def references(exprs: Iterable[Expr]) -> dict[int, ColumnRef]:
    """Return the columns used in `exprs`, in order of appearance."""
    found: dict[int, ColumnRef] = {}
    for expr in exprs:
        for node in expr.walk():
            if isinstance(node, ColumnRef):
                found.setdefault(node.column_id, node)
    return found


def keep_columns(plan: LogicalPlan, columns: tuple[ColumnRef, ...]) -> LogicalPlan:
    """Return `plan` with only `columns`."""
    return plan if plan.output == columns else Project(plan, columns)


def produced_ids(plan: LogicalPlan) -> set[int]:
    """Return every column id that a node of `plan` introduces."""
    found: set[int] = set()
    for node in plan.walk():
        found.update(column.column_id for column in node.new_columns)
        found.update(expr.column_id for expr in node.expressions if isinstance(expr, Alias))
    return found


def fresh_copy(plan: LogicalPlan, context: Context) -> tuple[LogicalPlan, dict[int, int]]:
    """Copy `plan`, which has no subqueries, with a new id for every column that it introduces. Return also old id ->
    new id.
    """
    mapping = {column_id: context.fresh_id() for column_id in sorted(produced_ids(plan))}
    return renumbered(plan, lambda column_id: mapping.get(column_id, column_id)), mapping
