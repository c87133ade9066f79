"""Bounds on the time between two matching rows, from the condition of a join of streams."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.optimizer.function_traits import MIRRORED
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, conjuncts
from sharkpy.plan.logical import Join
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.values.types import INTERVAL_DAY_TIME


def time_bounds(join: Join) -> tuple[int | None, int | None]:
    """Least and most microseconds by which the right row of a match is later than the left one.

    The times are the columns with watermarks. A bound is None if the condition does not set it.
    """
    least, most = list[int](), list[int]()
    for term in conjuncts(join.condition):
        for function, one, other in _comparisons(term):
            if (bound := _bound(function, one, other, join)) is not None:
                turned, gap = bound
                least += [gap] if turned in ("ge", "gt", "eq") else []
                most += [gap] if turned in ("le", "lt", "eq") else []
    return max(least, default=None), min(most, default=None)


def _comparisons(term: Expr) -> Iterator[tuple[str, Expr, Expr]]:
    match term:
        case Call("between", (value, low, high)):
            yield "ge", value, low
            yield "le", value, high
        case Call(function, (one, other)) if function in MIRRORED:
            yield function, one, other


def _bound(function: str, one: Expr, other: Expr, join: Join) -> tuple[str, int] | None:
    """Comparison of the right time minus the left time with a number of microseconds; None for other terms."""
    moved, other_moved = _moved(one), _moved(other)
    if moved is None or other_moved is None:
        return None
    (first, first_gap), (second, second_gap) = moved, other_moved
    if has_watermark(first, join.right) and has_watermark(second, join.left):
        return function, second_gap - first_gap
    if has_watermark(first, join.left) and has_watermark(second, join.right):
        return MIRRORED[function], first_gap - second_gap
    return None


def _moved(expr: Expr) -> tuple[ColumnRef, int] | None:
    """A column, and the number of microseconds added to it; None for other expressions."""
    match expr:
        case ColumnRef():
            return expr, 0
        case Call("add", (ColumnRef() as column, Literal(int() as gap, dtype))) if dtype == INTERVAL_DAY_TIME:
            return column, gap
        case Call("subtract", (ColumnRef() as column, Literal(int() as gap, dtype))) if dtype == INTERVAL_DAY_TIME:
            return column, -gap
    return None
