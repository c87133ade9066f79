"""GROUPING SETS, CUBE and ROLLUP as lists of grouping sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from sqlglot import exp

from sharkpy.base.errors import BindError

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
