"""Traits of functions that rules rely on: comparisons, null propagation, determinism."""

from __future__ import annotations

from functools import cache

from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, InSet

MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq_null_safe": "eq_null_safe"}
"""The equivalent comparison with its sides exchanged."""
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
"""The comparison that is true if the other is false (and NULL if it is NULL)."""
COMPARISONS = frozenset(NEGATED)

_STRICT = COMPARISONS | {
    "add",
    "subtract",
    "multiply",
    "divide",
    "mod",
    "div",
    "negate",
    "not",
    "like",
    "rlike",
}
_NOT_STRICT = frozenset(("and", "or", "in", "is_null", "is_not_null", "eq_null_safe", "case_when", "if", "coalesce"))
_FIRST_STRICT = frozenset(("in", "between"))
"""Functions that are NULL if the first argument is NULL, whatever the other arguments are."""

ORDER_SENSITIVE_AGGREGATES = frozenset(
    ("collect_list", "first", "first_value", "last", "last_value", "group_concat", "listagg", "string_agg")
)
"""Aggregates whose value depends on the order of their input, so that a Sort below them must stay."""

EMPTY_GROUP_VALUES: dict[str, object] = {
    "count": 0,
    "regr_count": 0,
    "approx_count_distinct": 0,
    "collect_list": [],
    "collect_set": [],
}
"""Values of aggregates over no rows, except NULL."""


def empty_group_value(function: str) -> object:
    """Return the value of the aggregate over no rows, or None for NULL."""
    from sharkpy.udf.user.function import find

    users = find(function)
    return EMPTY_GROUP_VALUES.get(function) if users is None else getattr(users, "empty_value", None)


@cache
def is_deterministic_function(name: str) -> bool:
    from sharkpy.udf import registry

    row = registry.scalar(name)
    return row is None or row.is_deterministic


@cache
def is_strict_function(name: str) -> bool:
    """Return whether the function is NULL if any argument is NULL."""
    if name in _STRICT:
        return True
    from sharkpy.udf import registry
    from sharkpy.udf.function import NullPolicy

    row = registry.scalar(name)
    return row is not None and row.nulls is NullPolicy.PROPAGATE and name not in _NOT_STRICT


def strict_columns(expr: Expr) -> frozenset[int]:
    """Return the columns that make `expr` NULL if they are NULL."""
    match expr:
        case ColumnRef(column_id):
            return frozenset((column_id,))
        case Cast(inner) | InSet(inner):
            return strict_columns(inner)
        case Call(function, args) if function in _FIRST_STRICT:
            return strict_columns(args[0])
        case Call(function, args) if is_strict_function(function):
            return frozenset().union(*map(strict_columns, args))
    return frozenset()


def rejected_columns(predicate: Expr) -> frozenset[int]:
    """Return the columns that make `predicate` not TRUE if they are NULL."""
    match predicate:
        case Call("and", args):
            return frozenset().union(*map(rejected_columns, args))
        case Call("or", args):
            return frozenset.intersection(*map(rejected_columns, args))
        case Call("between", args):
            return frozenset().union(*map(strict_columns, args))
        case Call("is_not_null", (value,)) | Call("not", (Call("is_null", (value,)),)):
            return strict_columns(value)
    return strict_columns(predicate)
