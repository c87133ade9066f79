"""Arithmetic with intervals, and long chains of arithmetic as trees of few levels.

A chain of integers, `a + b - c + …`, becomes a balanced tree if that gives the same value. Integers wrap, so the terms
of a sum, the factors of a product and the operands of a bit operator may be grouped in any way. Sums of other numbers
keep their written order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sharkpy.plan.expr import Call, Cast, Expr, Literal
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.expressions.literals import interval_of, shifted
from sharkpy.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    TIMESTAMP,
    DataType,
    is_interval,
    is_numeric,
    is_string,
)

_DAY = 86_400_000_000


def interval_arithmetic(function: str, left: Expr, right: Expr) -> Expr | None:
    """Bind an arithmetic operator with an interval on one side; None if it is not defined.

    DATE plus months or whole days is a DATE. With a time of day it becomes a TIMESTAMP.
    """
    if is_interval(left.dtype) and is_interval(right.dtype):
        return _combine(function, left, right)
    if is_interval(left.dtype):
        if function in ("multiply", "divide"):
            return _scale(function, left, right)
        return interval_arithmetic(function, right, left) if function == "add" else None
    if function == "multiply":
        return _scale(function, right, left)
    if function not in ("add", "subtract"):
        return None
    return _shift(function, left, right)


def day_arithmetic(function: str, left: Expr, right: Expr) -> Expr | None:
    """Bind DATE plus or minus a whole number of days, as in Spark SQL; None for other operands."""
    if left.dtype in INTEGER_TYPES and right.dtype == DATE and function == "add":
        left, right = right, left
    if left.dtype != DATE or right.dtype not in INTEGER_TYPES or function not in ("add", "subtract"):
        return None
    return Call("date_add" if function == "add" else "date_sub", (left, cast(right, INT)), DATE)


def _shift(function: str, moment: Expr, interval: Expr) -> Expr | None:
    if is_string(moment.dtype):
        moment = cast(moment, DATE if interval.dtype == INTERVAL_YEAR_MONTH else TIMESTAMP)
    if moment.dtype not in (DATE, TIMESTAMP):
        return None
    if isinstance(moment, Literal) and isinstance(interval, Literal):
        sign = 1 if function == "add" else -1
        if folded := shifted(moment, interval, sign):
            return folded
    if moment.dtype == DATE and interval.dtype == INTERVAL_DAY_TIME:
        if isinstance(interval, Literal) and isinstance(interval.value, int) and interval.value % _DAY == 0:
            days = Literal(interval.value // _DAY, INT)
            return Call("date_add" if function == "add" else "date_sub", (moment, days), DATE)
        match interval:
            case Call("multiply", (Literal(value), count)) if value == _DAY and count.dtype == BIGINT:
                # INTERVAL (n) DAYS
                return Call("date_add" if function == "add" else "date_sub", (moment, cast(count, INT)), DATE)
        moment = cast(moment, TIMESTAMP)
    return Call(function, (moment, interval), moment.dtype)


def _combine(function: str, left: Expr, right: Expr) -> Expr | None:
    """Sum or difference of two intervals of the same type."""
    match left, right:
        case Literal(int() as one, left_type), Literal(int() as other, right_type) if left_type == right_type:
            if function == "add":
                return interval_of(one + other, left_type)
            if function == "subtract":
                return interval_of(one - other, left_type)
    if function in ("add", "subtract") and left.dtype == right.dtype:
        return Call(function, (left, right), left.dtype)
    return None


def _scale(function: str, interval: Expr, factor: Expr) -> Expr | None:
    """Product or quotient of an interval and a number."""
    if function == "multiply" and factor.dtype in INTEGER_TYPES:
        match interval, factor:
            case Literal(int() as amount), Literal(int() as times):
                return interval_of(amount * times, interval.dtype)
        return Call("multiply", (interval, cast(factor, BIGINT)), interval.dtype)
    if not is_numeric(factor.dtype) and not is_string(factor.dtype):
        return None
    return Call(function, (interval, cast(factor, DOUBLE)), interval.dtype)


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


def balance_chains(whole: Expr) -> tuple[Expr, int]:
    """Replace chains of integers by balanced trees. Return the expression, of the same value, and its levels."""
    links: list[Call | Cast] = []
    made = whole
    while isinstance(made, Cast) or (isinstance(made, Call) and made.function in _CHAINED):
        links.append(made)
        made = made.expr if isinstance(made, Cast) else made.args[0]
    levels = 0
    for way, grouped in itertools.groupby(reversed(links), _grouping):
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


def _grouping(link: Expr) -> tuple[str, DataType] | None:
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
