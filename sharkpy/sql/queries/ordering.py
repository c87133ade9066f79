"""ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY: their keys and operators. LIMIT and OFFSET."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sharkpy.base import settings
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.records import dataclass
from sharkpy.plan.expr import Expr, Literal, SortKey
from sharkpy.plan.logical import Distribute, Limit, LogicalPlan, Sort
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_name import name_parts
from sharkpy.sql.expressions.bind_window import bind_sort_key
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.values.types import MapType


@dataclass(frozen=True, slots=True)
class Ordering:
    """Bound keys of the clauses that order and distribute the result."""

    sort: tuple[SortKey, ...] = ()
    is_global: bool = True
    distribute: tuple[Expr, ...] = ()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (*(key.expr for key in self.sort), *self.distribute)


def bind_ordering(select: exp.Expr, binder: ExprBinder, outputs: Sequence[Expr]) -> Ordering:
    parts = {
        key: select.args[key].expressions for key in ("order", "sort", "cluster", "distribute") if select.args.get(key)
    }
    if len(parts) > 1 and set(parts) != {"sort", "distribute"}:
        words = " and ".join(f"{key.upper()} BY" for key in parts)
        raise binder.context.error(f"{words} cannot be combined", select.args[next(iter(parts))])
    distribute = [node.this for node in parts.get("distribute") or parts.get("cluster") or ()]
    sort = parts.get("order") or parts.get("sort") or parts.get("cluster") or ()
    return Ordering(
        tuple(key for node in sort for key in _bind_order_keys(binder, node, outputs)),
        "order" in parts,
        tuple(
            position_item(binder, node, outputs, settings.ORDER_POSITIONS) or binder.bind(node) for node in distribute
        ),
    )


def _bind_order_keys(binder: ExprBinder, node: exp.Expr, outputs: Sequence[Expr]) -> list[SortKey]:
    """Bind a sort key, or all items of the select list for ORDER BY ALL."""
    if not _is_all(binder, node.this):
        return [_bind_order_key(binder, node, outputs)]
    ascending, nulls_first = not node.args.get("desc"), bool(node.args.get("nulls_first"))
    return [SortKey(expr, ascending, nulls_first) for expr in outputs]


def _is_all(binder: ExprBinder, node: exp.Expr) -> bool:
    """Return whether `node` is the word ALL, and not the name of a column."""
    if not isinstance(node, exp.Column) or name_parts(node) != ["all"] or node.this.args.get("quoted"):
        return False
    return binder.scope.find(["all"]) is None and "all" not in binder.aliases


def _bind_order_key(binder: ExprBinder, node: exp.Expr, outputs: Sequence[Expr]) -> SortKey:
    if (expr := position_item(binder, node.this, outputs, settings.ORDER_POSITIONS)) is not None:
        key = SortKey(expr, not node.args.get("desc"), bool(node.args.get("nulls_first")))
    else:
        key = bind_sort_key(binder, node)
    if isinstance(key.expr.dtype, MapType):
        raise binder.context.error(f"{key.expr.dtype} has no order", node)
    return key


def position_item(
    binder: ExprBinder, node: exp.Expr, outputs: Sequence[Expr], setting: settings.Setting[bool]
) -> Expr | None:
    """Return the select item at a position written as a number.

    None if `node` is not a number, or if `setting` is off.
    """
    position = whole_number(node.this) if isinstance(node, exp.Literal) and not node.args.get("is_string") else None
    if position is None or not binder.context.conf.value(setting):
        return None
    if not 1 <= position <= len(outputs):
        message = f"{binder.clause.name} position {position} is not in the select list of {len(outputs)} columns"
        raise binder.context.error(message, node)
    return outputs[position - 1]


def order(plan: LogicalPlan, ordering: Ordering, keys: Sequence[Expr]) -> LogicalPlan:
    """Put Distribute and Sort by `keys` over `plan`. The keys refer to its columns."""
    count = len(ordering.sort)
    if ordering.distribute:
        plan = Distribute(plan, tuple(keys[count:]))
    sort = tuple(replace(key, expr=expr) for key, expr in zip(ordering.sort, keys[:count], strict=True))
    # Sorting by a constant has no effect.
    sort = tuple(key for key in sort if not isinstance(key.expr, Literal))
    return Sort(plan, sort, ordering.is_global) if sort else plan


MOST_ROWS = (1 << 63) - 1
"""Maximum number of rows of a query. A larger LIMIT has no effect."""


def bind_limit(query: exp.Expr, context: Context, plan: LogicalPlan) -> LogicalPlan:
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if limit is None and offset is None:
        return plan
    for node in (limit, offset):
        if node is not None:
            context.only(node, "expression")
    count = (
        _number(context, limit.args["expression"], "LIMIT") if limit is not None and not _is_limit_all(limit) else None
    )
    skipped = _number(context, offset.args["expression"], "OFFSET") if offset is not None else 0
    return plan if count is None and not skipped else Limit(plan, count, skipped)


def _is_limit_all(limit: exp.Expr) -> bool:
    """Return whether the clause is LIMIT ALL, which means all rows."""
    value = limit.args["expression"]
    return isinstance(value, exp.Column) and value.sql().upper() == "ALL"


def _number(context: Context, node: exp.Expr, clause: str) -> int:
    number = whole_number(node.this) if isinstance(node, exp.Literal) and not node.args.get("is_string") else None
    if number is None:
        raise context.error(f"{clause} takes a whole number, not an expression", node, sqlstate="2201W")
    return min(number, MOST_ROWS)
