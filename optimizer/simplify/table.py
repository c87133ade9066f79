"""The table of simplifications: function name -> simplification of a call with simple arguments."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.optimizer.simplify.boolean import simplify_and, simplify_not, simplify_or
from sharkpy.optimizer.simplify.comparison import (
    simplify_between,
    simplify_comparison,
    simplify_in,
    simplify_is_not_null,
    simplify_is_null,
    simplify_like,
)
from sharkpy.optimizer.simplify.conditional import simplify_case_when, simplify_coalesce, simplify_if
from sharkpy.plan.expr import Call, Expr

SIMPLIFICATIONS: dict[str, Callable[[Call], Expr]] = {
    "and": simplify_and,
    "or": simplify_or,
    "not": simplify_not,
    "eq": simplify_comparison,
    "ne": simplify_comparison,
    "lt": simplify_comparison,
    "le": simplify_comparison,
    "gt": simplify_comparison,
    "ge": simplify_comparison,
    "eq_null_safe": simplify_comparison,
    "in": simplify_in,
    "between": simplify_between,
    "is_null": simplify_is_null,
    "is_not_null": simplify_is_not_null,
    "like": simplify_like,
    "case_when": simplify_case_when,
    "if": simplify_if,
    "coalesce": simplify_coalesce,
}
"""Every row preserves the value of the call for all arguments, including NULL. Rows may change how often an argument is
evaluated: they are applied only to deterministic calls.
"""
