"""Long chains of arithmetic, `a + b - c + …`, as trees of few levels.

A chain of integers becomes a balanced tree if that gives the same value. Integers wrap, so the terms of a sum, the
factors of a product and the operands of a bit operator may be grouped in any way. Sums of other numbers keep their
written order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sharkpy.plan.expr import Call, Cast, Expr
from sharkpy.values.types import INTEGER_TYPES, DataType

_GROUPED_AS = {
    "add": "add",
    "subtract": "add",
    **{name: name for name in ("multiply", "bit_and", "bit_or", "bit_xor")},
}
"""Functions of integers whose chains may be grouped in any way -> the one that joins their operands."""
BALANCED_FROM = 16
"""Number of operands from which on a chain becomes a balanced tree, so that later phases do not recurse for each."""
_CHAINED = frozenset((*_GROUPED_AS, "divide", "div", "mod"))
MOST_OPERATORS = 5_000
MOST_LEVELS = 2_500
"""Maximum number of levels of a chain. Every later phase recurses at each level."""


def regrouped(whole: Expr) -> tuple[Expr, int]:
    """Replace chains of integers by balanced trees. Return the expression, of the same value, and its levels."""
    links: list[Call | Cast] = []
    made = whole
    while isinstance(made, Cast) or (isinstance(made, Call) and made.function in _CHAINED):
        links.append(made)
        made = made.expr if isinstance(made, Cast) else made.args[0]
    levels = 0
    for way, grouped in itertools.groupby(reversed(links), _way):
        run = list(grouped)
        if way is None or len(run) < BALANCED_FROM:
            for link in run:
                made = (
                    replace(link, expr=made) if isinstance(link, Cast) else replace(link, args=(made, *link.args[1:]))
                )
            levels += len(run)
        else:
            made = _balanced(*way, made, run)
            levels += len(run).bit_length() + 1
    return made, levels


def _way(link: Expr) -> tuple[str, DataType] | None:
    """Function that may join the operands of a chain in any order, and its type; None if there is none."""
    if isinstance(link, Call) and link.function in _GROUPED_AS and link.dtype in INTEGER_TYPES:
        return _GROUPED_AS[link.function], link.dtype
    return None


def _balanced(function: str, dtype: DataType, first: Expr, links: Sequence[Expr]) -> Expr:
    calls = [link for link in links if isinstance(link, Call)]
    joined = [first, *(call.args[1] for call in calls if call.function != "subtract")]
    taken = [call.args[1] for call in calls if call.function == "subtract"]
    whole = _tree(function, dtype, joined)
    return Call("subtract", (whole, _tree(function, dtype, taken)), dtype) if taken else whole


def _tree(function: str, dtype: DataType, operands: Sequence[Expr]) -> Expr:
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    sides = (_tree(function, dtype, operands[:middle]), _tree(function, dtype, operands[middle:]))
    return Call(function, sides, dtype)
