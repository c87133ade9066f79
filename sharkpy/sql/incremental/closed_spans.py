"""Closed windows, as the rows of a stream FROM a table of windows that a watermark closes.

Each row of the stream's files is a span: the watermark before and after a move.
"""

from __future__ import annotations

from sharkpy.catalog.stream_kinds import SPANS
from sharkpy.plan.expr import Call, ColumnRef, Expr, string_literal
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, LogicalPlan, Scan
from sharkpy.values.types import BOOLEAN, TIMESTAMP


def closed_within(rows: LogicalPlan, window: Expr, seen: ColumnRef, spans: LogicalPlan) -> LogicalPlan:
    """Rows of windows that end within one of the spans. `seen`: see `came_in_time`."""
    after, until = spans.output
    end = end_of(window)
    is_within = Call("and", (Call("gt", (end, after), BOOLEAN), Call("le", (end, until), BOOLEAN)), BOOLEAN)
    return Filter(Join(rows, spans, JoinKind.CROSS), Call("and", (is_within, came_in_time(window, seen)), BOOLEAN))


def gives_closed_windows(node: LogicalPlan) -> bool:
    """Return whether `node` is an Aggregate over rows of `closed_within`.

    All rows of a window then arrive in one epoch, with its span.
    """
    match node:
        case Aggregate(Filter(Join(_, Scan() as spans))):
            return spans.table.is_stream and spans.names == SPANS.names
    return False


def end_of(window: Expr) -> Expr:
    return Call("field", (window, string_literal("end")), TIMESTAMP)


def came_in_time(window: Expr, seen: ColumnRef) -> Expr:
    """Condition that a row arrived before its window was closed. `seen` is its column of `Closing.seen`."""
    return Call("or", (Call("is_null", (seen,), BOOLEAN), Call("gt", (end_of(window), seen), BOOLEAN)), BOOLEAN)
