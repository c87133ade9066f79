"""LIMIT n, LIMIT offset, n and OFFSET."""

from __future__ import annotations

from sqlglot import exp

from sharkpy.base.parse_limits import whole_number
from sharkpy.plan.logical import Limit, LogicalPlan
from sharkpy.sql.context import Context

MOST_ROWS = (1 << 63) - 1
"""Maximum number of rows of a query. A larger LIMIT has no effect."""


def bind_limit(query: exp.Expr, context: Context, plan: LogicalPlan) -> LogicalPlan:
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if limit is None and offset is None:
        return plan
    for node in (limit, offset):
        if node is not None:
            context.only(node, "expression")
    count = _number(context, limit.args["expression"], "LIMIT") if limit is not None and not _is_all(limit) else None
    skipped = _number(context, offset.args["expression"], "OFFSET") if offset is not None else 0
    return plan if count is None and not skipped else Limit(plan, count, skipped)


def _is_all(limit: exp.Expr) -> bool:
    """Return whether the clause is LIMIT ALL, which means all rows."""
    value = limit.args["expression"]
    return isinstance(value, exp.Column) and value.sql().upper() == "ALL"


def _number(context: Context, node: exp.Expr, clause: str) -> int:
    number = whole_number(node.this) if isinstance(node, exp.Literal) and not node.args.get("is_string") else None
    if number is None:
        raise context.error(f"{clause} takes a whole number, not an expression", node, sqlstate="2201W")
    return min(number, MOST_ROWS)
