"""make_interval(years, months, weeks, days, hours, minutes, seconds), as one of Hive's two interval types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError, UnsupportedError
from sharkpy.plan.expr import Expr, Literal
from sharkpy.values.types import INT

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
_ZERO = Literal(0, INT)


def bind_make_interval(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind make_interval as an interval of months, or of days and time.

    The parts that are not the constant 0 decide. Raise UnsupportedError for parts of both.
    """
    from sharkpy.sql.expressions.bind_function import call_scalar

    if len(node.expressions) > len(_UNITS):
        message = f"make_interval takes {', '.join(_UNITS)}, not {len(node.expressions)} values"
        raise binder.context.error(message, node, TypeMismatchError)
    given = [binder.bind(argument) for argument in node.expressions]
    parts = [*given, *[_ZERO] * (len(_UNITS) - len(given))]
    months, clock = parts[:2], parts[2:]
    if all(map(_is_zero, clock)) and (not all(map(_is_zero, months)) or 0 < len(given) <= len(months)):
        return call_scalar(binder, "make_ym_interval", months, node)
    if not all(map(_is_zero, months)):
        hint = "add make_ym_interval(…) and make_dt_interval(…) to the time one after the other"
        raise binder.context.error("an interval of months and of days is not supported", node, UnsupportedError, hint)
    weeks, days, *time = clock
    if not _is_zero(weeks):
        week_days = call_scalar(binder, "multiply", (weeks, Literal(7, INT)), node)
        days = week_days if _is_zero(days) else call_scalar(binder, "add", (week_days, days), node)
    return call_scalar(binder, "make_dt_interval", (days, *time), node)


def _is_zero(part: Expr) -> bool:
    return isinstance(part, Literal) and part.value == 0
