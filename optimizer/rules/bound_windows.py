"""Generate only the windows of a time that a filter above asks for: a time is in as many windows as slides fit their
size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.function_traits import MIRRORED
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, conjunction, conjuncts
from sharkpy.plan.logical import Filter, Generate, LogicalPlan
from sharkpy.plan.session_windows import time_after
from sharkpy.udf.time_window_functions import WINDOWS_BETWEEN, WINDOWS_OF
from sharkpy.values.types import BOOLEAN, TIMESTAMP


def bound_windows(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Bound the starts of windows, and the times of their rows, by terms that compare a window's start or end with a
    value that is the same for all rows. The filter stays.
    """
    return plan.transform_up(lambda node: _bounded(node, context))


def _bounded(plan: LogicalPlan, context: Context) -> LogicalPlan:
    match plan:
        case Filter(Generate(child, Call(function, (time, size, slide, offset)) as call, (column,), False), predicate):
            if function != WINDOWS_OF or not isinstance(size, Literal) or not isinstance(size.value, int):
                return plan
        case _:
            return plan
    length = size.value
    least, most = list[Expr](), list[Expr]()
    for term in conjuncts(predicate):
        for comparison, part, value in _comparisons(term, column, context):
            start = value if part == "start" else time_after(value, -length)
            least += [start] if comparison in ("ge", "gt", "eq") else []
            most += [start] if comparison in ("le", "lt", "eq") else []
    if not least and not most:
        return plan
    first, last = _one(least, "greatest"), _one(most, "least")
    terms: list[Expr] = [] if first is None else [Call("ge", (time, first), BOOLEAN)]
    terms += [] if last is None else [Call("lt", (time, time_after(last, length)), BOOLEAN)]
    none = Literal(None, TIMESTAMP)
    bounds = (none if first is None else first, none if last is None else last)
    windows = Call(WINDOWS_BETWEEN, (time, size, slide, offset, *bounds), call.dtype)
    asked = conjunction(terms)
    assert asked is not None  # there is a bound
    return Filter(Generate(Filter(child, asked), windows, (column,), False), predicate)


def _comparisons(term: Expr, column: ColumnRef, context: Context) -> Iterator[tuple[str, str, Expr]]:
    """Yield the comparisons of a part of the window with a value that a term expresses."""
    match term:
        case Call("between", (Call("field", (one, Literal(str() as part))), low, high)) if one == column:
            found = [("ge", part, low), ("le", part, high)]
        case Call(function, (Call("field", (one, Literal(str() as part))), value)) if one == column:
            found = [(function, part, value)] if function in MIRRORED else []
        case Call(function, (value, Call("field", (one, Literal(str() as part))))) if one == column:
            found = [(MIRRORED[function], part, value)] if function in MIRRORED else []
        case _:
            found = []
    for comparison, part, value in found:
        if value.dtype == TIMESTAMP and not context.ids(value) and context.is_deterministic(value):
            yield comparison, part, value


def _one(values: Sequence[Expr], function: str) -> Expr | None:
    return None if not values else values[0] if len(values) == 1 else Call(function, tuple(values), TIMESTAMP)
