"""GROUP BY: grouping expressions by name, alias, position or value, and grouping sets of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sharkpy.base import settings
from sharkpy.plan.expr import AggregateCall, ColumnRef, Expr, WindowCall
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.sql.expressions.function_names import registry_name
from sharkpy.sql.queries.grouping_sets import grouping_sets
from sharkpy.sql.queries.ordering import position_item
from sharkpy.udf import registry


def bind_groups(
    group: exp.Expr | None, binder: ExprBinder, items: Sequence[tuple[str, Expr]]
) -> tuple[list[tuple[str, Expr]], list[frozenset[int]] | None]:
    """Bind GROUP BY.

    Return the distinct grouping expressions with their display names, and the grouping sets of their indexes.
    """
    if group is None:
        return [], None
    binder.context.only(group, "expressions", "grouping_sets", "rollup", "cube", "all")
    if group.args.get("all"):
        return _all_groups(items), None
    nodes, sets = grouping_sets(group)
    groups: list[tuple[str, Expr]] = []
    indexes: dict[Expr, int] = {}
    outputs = [expr for _, expr in items]
    names = {expr: name for name, expr in reversed(items)}

    def index_of(node: exp.Expr) -> int:
        expr = position_item(binder, node, outputs, settings.GROUP_POSITIONS) or binder.bind(node)
        if any(isinstance(inner, (AggregateCall, WindowCall)) for inner in expr.walk()):
            raise binder.context.error("GROUP BY cannot use the result of an aggregate", node, sqlstate="42803")
        if (known := indexes.get(expr)) is not None:
            return known
        name = expr.name if isinstance(expr, ColumnRef) else names.get(expr, f"group{len(groups)}")
        groups.append((name, expr))
        return indexes.setdefault(expr, len(groups) - 1)

    for node in nodes:
        index_of(node)
    if sets is None:
        return groups, None
    # A repeated set counts once, as in Hive.
    return groups, list(dict.fromkeys(frozenset(index_of(node) for node in members) for members in sets))


def _all_groups(items: Sequence[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """Grouping expressions of GROUP BY ALL: the distinct select items without aggregates."""
    groups: dict[Expr, str] = {}
    for name, expr in items:
        if not any(isinstance(inner, (AggregateCall, WindowCall)) for inner in expr.walk()):
            groups.setdefault(expr, name)
    return [(name, expr) for expr, name in groups.items()]


def is_argument(context: Context, node: exp.Expr, select: exp.Expr, relations: set[str]) -> bool:
    """Return whether a column is inside an aggregate, GROUP BY, WHERE or FROM.

    In a subquery, this is also true for columns that are not qualified by one of the outer `relations`.
    """
    if node.find_ancestor(exp.Select) is not select and (node.text("table").lower() not in relations):
        return True
    current = node.parent
    while current is not None and current is not select:
        if current.parent is select and isinstance(current, (exp.Group, exp.Where, exp.From, exp.Join)):
            return True
        if isinstance(current, exp.Anonymous) and registry.aggregate(registry_name(context, current)):
            return True
        current = current.parent
    return False
