"""GROUP BY: grouping expressions by name, alias, position or value, GROUPING SETS, CUBE and ROLLUP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from sqlglot import exp

from sharkpy.base import settings
from sharkpy.base.errors import BindError
from sharkpy.plan.expr import AggregateCall, ColumnRef, Expr, WindowCall
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.sql.object_names import registry_name
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


Sets = list[list[exp.Expr]]
MOST_SETS = 4_096


def grouping_sets(group: exp.Expr) -> tuple[list[exp.Expr], Sets | None]:
    """Return the grouping expressions in order, and the grouping sets; None if there is only one set.

    Several constructs in one GROUP BY multiply: each set of one is combined with each set of every other. Raise
    BindError 54000 if there are more than MOST_SETS.
    """
    number = math.prod(map(_num_sets, group.expressions))
    if group.args.get("cube"):
        number = 1 << len(group.expressions)
    if number > MOST_SETS:
        message = f"GROUP BY has more than {MOST_SETS:,} grouping sets"
        raise BindError(message, hint="a CUBE of n columns has two to the power of n", sqlstate="54000")
    factors = [_sets_of(item) for item in group.expressions]
    plain = [item for item in group.expressions if not isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets))]
    suffixes = [item for key in ("grouping_sets", "rollup", "cube") for item in group.args.get(key) or []]
    if suffixes:
        # In GROUP BY a, b WITH ROLLUP and GROUP BY a, b GROUPING SETS (…), the list only names the columns.
        suffix = suffixes[0]
        if isinstance(suffix, exp.Rollup):
            return plain, _prefixes([[item] for item in plain])
        if isinstance(suffix, exp.Cube):
            return plain, _subsets([[item] for item in plain])
        return plain, _sets_of(suffix)
    if len(plain) == len(group.expressions):
        return plain, None
    sets: Sets = [list(itertools.chain(*choice)) for choice in itertools.product(*factors)]
    return list(itertools.chain(*map(_members, group.expressions))), sets


def _num_sets(node: exp.Expr) -> int:
    match node:
        case exp.Rollup():
            return len(node.expressions) + 1
        case exp.Cube():
            return 1 << len(node.expressions)
        case exp.GroupingSets():
            return sum(map(_num_sets, node.expressions))
    return 1


def _members(node: exp.Expr) -> list[exp.Expr]:
    """Expressions in a construct, in order. Repeated ones are dropped when they are bound."""
    if isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)):
        return [member for item in node.expressions for member in _members(item)]
    return [node.this if isinstance(node, exp.Paren) else node]


def _sets_of(node: exp.Expr) -> Sets:
    match node:
        case exp.Rollup():
            return _prefixes([_members(item) for item in node.expressions])
        case exp.Cube():
            return _subsets([_members(item) for item in node.expressions])
        case exp.GroupingSets():
            return [chosen for item in node.expressions for chosen in _sets_of(item)]
    return [_members(node)]


def _prefixes(items: Sequence[list[exp.Expr]]) -> Sets:
    return [list(itertools.chain(*items[:count])) for count in range(len(items), -1, -1)]


def _subsets(items: Sequence[list[exp.Expr]]) -> Sets:
    return [
        list(itertools.chain(*chosen))
        for count in range(len(items), -1, -1)
        for chosen in itertools.combinations(items, count)
    ]
