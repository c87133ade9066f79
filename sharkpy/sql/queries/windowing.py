"""WINDOWING: windows of time as a clause, over the times of a stream."""

from __future__ import annotations

from sqlglot import exp

from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_time_window import ROW_WINDOW
from sharkpy.sql.queries.computed_columns import marked_time
from sharkpy.sql.scope import Scope


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
        if (time := marked_time(node)) is not None:
            times.add(time.column_id)
    found = [one for one in scope.columns if isinstance(one.expr, ColumnRef) and one.expr.column_id in times]
    if not found:
        message = "WINDOWING needs a time"
        hint = "WINDOWING … ON column, or WATERMARK FOR column in the columns of the stream"
        raise context.error(message, clause, hint=hint, sqlstate="42601")
    return exp.column(found[0].name, table=found[0].relation)
