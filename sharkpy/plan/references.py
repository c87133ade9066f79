"""Columns to which expressions and plans refer, also in subqueries, and replacement of these references."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.plan.subqueries import SUBQUERIES, Exists, InSubquery, ScalarSubquery


def column_ids(expr: Expr) -> frozenset[int]:
    """Return the ids of all columns used in `expr`, including outer references of its subqueries."""
    if isinstance(expr, ColumnRef):
        return frozenset((expr.column_id,))
    found: set[int] = set()
    for node in expr.walk():
        if isinstance(node, ColumnRef):
            found.add(node.column_id)
        elif isinstance(node, SUBQUERIES):
            found |= free_column_ids(node.plan)
    return frozenset(found)


def is_deep(expr: Expr, levels: int) -> bool:
    """Return whether `expr` has a node `levels` levels below it."""
    nodes = [expr]
    for _ in range(levels):
        nodes = [child for node in nodes for child in node.held(Expr)]
        if not nodes:
            return False
    return True


def free_column_ids(plan: LogicalPlan) -> frozenset[int]:
    """Return the columns that `plan` uses but does not produce: its outer references."""
    used: set[int] = set()
    produced: set[int] = set()
    for node in plan.walk():
        produced.update(column.column_id for column in node.new_columns)
        for expr in node.expressions:
            for inner in (expr,) if isinstance(expr, ColumnRef) else expr.walk():
                if isinstance(inner, ColumnRef):
                    used.add(inner.column_id)
                elif isinstance(inner, SUBQUERIES):
                    used |= free_column_ids(inner.plan)
                elif isinstance(inner, Alias):
                    produced.add(inner.column_id)
    return frozenset(used - produced)


def substitute(expr: Expr, replacements: dict[int, Expr]) -> Expr:
    """Replace each column of `expr` whose id is in `replacements`, also in outer references of subqueries."""

    def replace(node: Expr) -> Expr:
        match node:
            case ColumnRef(column_id):
                return replacements.get(column_id, node)
            case ScalarSubquery() | Exists() | InSubquery():
                plan = substitute_plan(node.plan, replacements)
                return node if plan is node.plan else dataclasses.replace(node, plan=plan)
        return node

    return expr.transform_up(replace)


def substitute_plan(plan: LogicalPlan, replacements: dict[int, Expr]) -> LogicalPlan:
    """Replace the outer references of `plan`. (Columns that it produces have other ids.)"""

    def replace(expr: Expr) -> Expr:
        changed = substitute(expr, replacements)
        if isinstance(expr, ColumnRef) and not isinstance(changed, (ColumnRef, Alias)):
            return Alias(changed, expr.column_id, expr.name)
        return changed

    def visit(node: LogicalPlan) -> LogicalPlan:
        if isinstance(node, Project):
            return node.map_expressions(replace)
        return node.map_expressions(lambda expr: substitute(expr, replacements))

    return plan.transform_up(visit)


def renumbered(plan: LogicalPlan, new_id: Callable[[int], int]) -> LogicalPlan:
    """Replace the column ids of `plan`, also in subqueries, by the results of `new_id`."""

    def renamed(expr: Expr) -> Expr:
        if isinstance(expr, SUBQUERIES):
            inner = renumbered(expr.plan, new_id)
            return expr if inner is expr.plan else dataclasses.replace(expr, plan=inner)
        if not isinstance(expr, (ColumnRef, Alias)) or (column_id := new_id(expr.column_id)) == expr.column_id:
            return expr
        return dataclasses.replace(expr, column_id=column_id)

    return plan.transform_up(lambda node: node.map_held(Expr, lambda expr: expr.transform_up(renamed)))
