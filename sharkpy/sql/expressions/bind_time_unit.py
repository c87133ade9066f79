"""Calls whose first argument is a unit of time, written as a word without quotes: TIMESTAMPADD(MONTH, 1, t)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import BindError, did_you_mean
from sharkpy.plan.expr import Expr, string_literal
from sharkpy.udf.time_units import UNITS

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def _unit(binder: ExprBinder, node: exp.Expr) -> str:
    """Name of the unit in the singular. Raise BindError if it is not a unit."""
    is_word = isinstance(node, exp.Column) and not node.table
    word = node.name.lower() if is_word or (isinstance(node, exp.Literal) and node.is_string) else ""
    unit = word.removesuffix("s")
    if unit not in UNITS:
        hint = did_you_mean(unit, UNITS)
        raise binder.context.error(f"a unit of time expected, not {node.sql()}", node, BindError, hint)
    return unit


def with_unit(function: str, *, counted: int = 0) -> Callable[[ExprBinder, exp.Expr], Expr]:
    """Return a binder of `function` that passes the unit as a string.

    With `counted`, only calls with that number of arguments have a unit.
    """

    def bind(binder: ExprBinder, node: exp.Expr) -> Expr:
        from sharkpy.sql.expressions.bind_function import call_scalar
        from sharkpy.sql.expressions.function_names import function_name

        arguments = node.expressions
        if not arguments or (counted and len(arguments) != counted):
            return call_scalar(binder, function_name(node), tuple(map(binder.bind, arguments)), node)
        rest = tuple(map(binder.bind, arguments[1:]))
        return call_scalar(binder, function, (string_literal(_unit(binder, arguments[0])), *rest), node)

    return bind


UNIT_CALLS: dict[str, Callable[[ExprBinder, exp.Expr], Expr]] = {
    "timestampadd": with_unit("timestampadd"),
    "timestampdiff": with_unit("timestampdiff"),
    "date_add": with_unit("timestampadd", counted=3),
    "dateadd": with_unit("timestampadd", counted=3),
    "date_diff": with_unit("timestampdiff", counted=3),
    "datediff": with_unit("timestampdiff", counted=3),
}
"""Function -> its binder. Functions that also take two times, or a time and days, have a unit with three arguments
only.
"""
