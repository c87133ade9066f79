"""Windows of time in a query: rows repeated for each of their windows, and sessions of adjacent rows.

WINDOWING is the clause for windows over the times of a stream.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from sqlglot import exp

from sharkpy.base.errors import ColumnNotFoundError
from sharkpy.plan.expr import AggregateCall, Call, ColumnRef, Expr, Literal, WindowCall, string_literal
from sharkpy.plan.logical import Filter, Generate, LogicalPlan, Project, Window
from sharkpy.plan.session_windows import in_session_windows, time_after
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_time_window import ROW_WINDOW, ROW_WINDOW_TYPE, SESSION_WINDOW, SLIDING_WINDOW
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.sql.object_names import function_name
from sharkpy.sql.queries.bind_table import watermark_column
from sharkpy.sql.scope import Scope
from sharkpy.udf.time_window_functions import ROW_OF_TIME, TIME_OF_ROW, WINDOW, WINDOW_TYPE, WINDOWS_OF
from sharkpy.values.types import BIGINT, BOOLEAN, TIMESTAMP

_NAMES = ("window", "session_window", ROW_WINDOW)
Groups = list[tuple[str, Expr]]


def grouped_windows(select: exp.Expr, binder: ExprBinder) -> dict[str, Expr | None]:
    """Return the windows of GROUP BY, by the function names that other clauses use for them."""
    group = select.args.get("group")
    if group is None:
        return {}
    found: dict[str, Expr | None] = {}
    for node in group.find_all(exp.Anonymous):
        if (name := function_name(node)) in _NAMES and node.find_ancestor(exp.Select) is select:
            # A window over names of select items is bound when these are known.
            with contextlib.suppress(ColumnNotFoundError):
                found[name] = None if name in found else binder.bind(node)
    return found


def with_windows(
    context: Context, plan: LogicalPlan, exprs: Sequence[Expr], node: exp.Expr
) -> tuple[LogicalPlan, list[Expr]]:
    """Expand windows of time in `exprs`.

    Rows without a time are left out, and each row is repeated for each of its windows.
    """
    found = dict.fromkeys(_calls(exprs, (WINDOW, SLIDING_WINDOW)))
    if not found:
        return plan, list(exprs)
    for time in dict.fromkeys(call.args[0] for call in found):
        plan = Filter(plan, Call("is_not_null", (time,), BOOLEAN))
    sliding = [call for call in found if call.function == SLIDING_WINDOW]
    if not sliding:
        return plan, list(exprs)
    if len(found) > 1:
        raise context.unsupported("several windows of time in one query, with a slide", node)
    column = context.column("window", WINDOW_TYPE)
    plan = Generate(plan, Call(WINDOWS_OF, sliding[0].args, WINDOW_TYPE), (column,), False)
    return plan, [_replaced(expr, {sliding[0]: column}) for expr in exprs]


def with_row_windows(
    context: Context, plan: LogicalPlan, groups: Groups, exprs: Sequence[Expr], node: exp.Expr
) -> tuple[LogicalPlan, Groups, list[Expr]]:
    """Replace a row_window in GROUP BY by a window over row numbers.

    Rows are numbered as they arrive. The numbers are treated as microseconds.
    """
    found = dict.fromkeys(_calls([*(expr for _, expr in groups), *exprs], (ROW_WINDOW,)))
    if not found:
        return plan, groups, list(exprs)
    (call, *more) = found
    if more or call not in [expr for _, expr in groups]:
        raise context.unsupported("row_window that is not one whole expression of GROUP BY", node)
    number, place = context.column("number", BIGINT), context.column("place", TIMESTAMP)
    numbered = Window(plan, (number.holding(WindowCall("row_number", (), (), (), None, BIGINT)),))
    before = Call("subtract", (number, Literal(1, BIGINT)), BIGINT)
    placed = Project(numbered, (*plan.output, place.holding(Call(TIME_OF_ROW, (before,), TIMESTAMP))))
    size, slide = call.args
    kind, lengths = (WINDOW, (size,)) if size == slide else (SLIDING_WINDOW, (size, slide))
    window = Call(kind, (place, *lengths, Literal(0, BIGINT)), WINDOW_TYPE)
    new_groups: Groups = [(name, window if expr == call else expr) for name, expr in groups]
    return placed, new_groups, [_replaced(expr, {call: _of_rows(window)}) for expr in exprs]


def _of_rows(window: Expr) -> Expr:
    """Convert a window of microseconds to a window of row numbers, which start from 0."""
    start, end = (
        Call(ROW_OF_TIME, (Call("field", (window, string_literal(name)), TIMESTAMP),), BIGINT)
        for name in WINDOW_TYPE.names
    )
    first = Call("greatest", (start, Literal(0, BIGINT)), BIGINT)
    names = map(string_literal, ROW_WINDOW_TYPE.names)
    pairs = zip(names, (first, end), strict=True)
    return Call("named_struct", tuple(part for pair in pairs for part in pair), ROW_WINDOW_TYPE)


def with_sessions(
    context: Context, plan: LogicalPlan, groups: Groups, exprs: Sequence[Expr], node: exp.Expr
) -> tuple[LogicalPlan, Groups, list[Expr]]:
    """Replace a session_window in GROUP BY by a session number, computed within each group.

    Rows belong to one session if the time between them is at most the gap. The start and end of a session are computed
    from its rows.
    """
    found = dict.fromkeys(_calls([*(expr for _, expr in groups), *exprs], (SESSION_WINDOW,)))
    if not found:
        return plan, groups, list(exprs)
    (session, *more) = found
    if more or session not in [expr for _, expr in groups]:
        raise context.unsupported("session_window that is not one whole expression of GROUP BY", node)
    time = session.args[0]
    others = [(name, expr) for name, expr in groups if expr != session]
    plan, keys = _with_columns(context, Filter(plan, Call("is_not_null", (time,), BOOLEAN)), [time, *_exprs(others)])
    moment, (_, gap) = keys[0], session.args
    assert isinstance(gap, Literal)  # as it was bound
    assert isinstance(gap.value, int)
    sessions = in_session_windows(plan, (moment, moment), tuple(keys[1:]), gap.value, context.column)
    replaced = dict(zip(_exprs(others), keys[1:], strict=True))
    new_groups: Groups = [(name, replaced.get(expr, sessions.number)) for name, expr in groups]
    bounds = _bounds(moment, gap.value)
    return sessions.plan, new_groups, [_replaced(expr, {**replaced, session: bounds}) for expr in exprs]


def _bounds(time: Expr, gap: int) -> Expr:
    first, last = (AggregateCall(name, (time,), TIMESTAMP) for name in ("min", "max"))
    start, end = map(string_literal, WINDOW_TYPE.names)
    return Call("named_struct", (start, first, end, time_after(last, gap)), WINDOW_TYPE)


def _with_columns(context: Context, plan: LogicalPlan, exprs: Sequence[Expr]) -> tuple[LogicalPlan, list[ColumnRef]]:
    """Add a column for each expression to the plan. Return the plan and the columns."""
    columns = [
        expr if isinstance(expr, ColumnRef) and expr.column_id in plan.output_ids else context.column("key", expr.dtype)
        for expr in exprs
    ]
    pairs = zip(columns, exprs, strict=True)
    made = [column.holding(expr) for column, expr in pairs if column is not expr]
    return (Project(plan, (*plan.output, *made)) if made else plan), columns


def _exprs(groups: Groups) -> list[Expr]:
    return [expr for _, expr in groups]


def _calls(exprs: Sequence[Expr], names: Sequence[str]) -> Iterator[Call]:
    for expr in exprs:
        for part in expr.walk():
            if isinstance(part, Call) and part.function in names:
                yield part


def _replaced(expr: Expr, replacements: dict[Expr, Expr]) -> Expr:
    known = replacements.get(expr)
    return expr.map_children(lambda child: _replaced(child, replacements)) if known is None else known


def with_windowing(select: exp.Expr, context: Context, plan: LogicalPlan, scope: Scope) -> exp.Expr:
    """Rewrite WINDOWING as a group, `window`, `session_window` or `row_window`, or with SINCE as a condition.

    The group is added to the result, unless an item uses it. `plan` and `scope` are the ones of FROM.
    """
    clause = select.args.get("windowing")
    if clause is None:
        return select
    # A CTE with several uses is bound once for each use.
    select = select.copy()
    clause = select.args["windowing"]
    select.set("windowing", None)
    call = clause.this
    is_by_rows = call is not None and call.name == ROW_WINDOW
    time = None if is_by_rows else clause.args.get("on") or _time(clause, context, plan, scope)
    if (since := clause.args.get("since")) is not None:
        where = select.args.get("where")
        condition = exp.GTE(this=time, expression=since)
        both = condition if where is None else exp.And(this=exp.Paren(this=where.this), expression=condition)
        select.set("where", exp.Where(this=both))
        return select
    if time is not None:
        call.set("expressions", [time, *call.expressions])
    group = select.args.get("group") or exp.Group()
    group.set("expressions", [*group.expressions, call])
    select.set("group", group)
    if not any(column.parts[0].name.lower() == call.name for column in _columns_of(select)):
        select.append("expressions", exp.column(call.name))
    return select


def _columns_of(select: exp.Expr) -> list[exp.Column]:
    return [column for item in select.expressions for column in item.find_all(exp.Column)]


def _time(clause: exp.Expr, context: Context, plan: LogicalPlan, scope: Scope) -> exp.Expr:
    """Column with the time of the streams that are read."""
    times = set[int]()
    for node in plan.walk():
        if (time := watermark_column(node)) is not None:
            times.add(time.column_id)
    found = [one for one in scope.columns if isinstance(one.expr, ColumnRef) and one.expr.column_id in times]
    if not found:
        message = "WINDOWING needs a time"
        hint = "WINDOWING … ON column, or WATERMARK FOR column in the columns of the stream"
        raise context.error(message, clause, hint=hint, sqlstate="42601")
    return exp.column(found[0].name, table=found[0].relation)
