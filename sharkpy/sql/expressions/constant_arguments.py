"""Arguments of aggregates that have to be constants: the same valid value for all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.plan.expr import Call, Cast, Expr, Literal
from sharkpy.plan.references import column_ids
from sharkpy.udf.function import AggregateFunction, WindowFunction

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def check_constants(
    binder: ExprBinder, row: AggregateFunction | WindowFunction, args: Sequence[Expr], node: exp.Expr
) -> None:
    if not isinstance(row, AggregateFunction):
        return
    for position, problem in row.constants:
        if position >= len(args):
            continue
        if column_ids(args[position]):
            message = f"argument {position + 1} of {row.name} must be a constant"
            raise binder.context.error(message, node, sqlstate="42804")
        for value in _values(args[position]):
            if (wrong := problem(value)) is not None:
                raise binder.context.error(f"{row.name}: {wrong}", node, sqlstate="22023")


def _values(expr: Expr) -> Iterator[object]:
    """Values of a constant: its value, or the items of an array."""
    match expr:
        case Literal(list() | tuple() as items):
            yield from items
        case Literal(value):
            yield value
        case Cast(inner):
            yield from _values(inner)
        case Call("array", items):
            for item in items:
                yield from _values(item)
