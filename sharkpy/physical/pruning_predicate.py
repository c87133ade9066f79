"""Predicates of scans in the form of block statistics; anything else becomes Unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sharkpy.columnar import pruning
from sharkpy.columnar.pruning import Mapped, Operator, Predicate
from sharkpy.plan.arrow_data import ConstantSet
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, InSet, Literal

_COMPARISONS: dict[str, Operator] = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MONOTONE = frozenset({"year", "to_date"})

Target = str | Mapped


def pruning_predicate(predicate: Expr, names: Mapping[int, str]) -> Predicate:
    """Return `predicate` over the table's columns `names[column_id]`."""
    match predicate:
        case Call("and", args):
            return pruning.And(tuple(pruning_predicate(arg, names) for arg in args))
        case Call("or", args):
            return pruning.Or(tuple(pruning_predicate(arg, names) for arg in args))
        case Call("not", (arg,)):
            return pruning.Not(pruning_predicate(arg, names))
        case Call("is_null", (arg,)) if isinstance(target := pruning_target(arg, names), str):
            return pruning.IsNull(target)
        case Call("is_not_null", (arg,)) if isinstance(target := pruning_target(arg, names), str):
            return pruning.IsNotNull(target)
        case Call("between", (value, low, high)):
            bounds = (Call("ge", (value, low), predicate.dtype), Call("le", (value, high), predicate.dtype))
            return pruning.And(tuple(pruning_predicate(bound, names) for bound in bounds))
        case Call("in", (value, *items)):
            return _in_set(value, items, names)
        case InSet(value, constants):
            return _in_bounds(value, constants, names)
        case Call("like", (value, Literal(str() as pattern))):
            return _like(value, pattern, names)
        case Call(function, (left, right)) if function in _COMPARISONS:
            return _comparison(_COMPARISONS[function], left, right, names)
    return pruning.Unknown()


def _comparison(sign: Operator, left: Expr, right: Expr, names: Mapping[int, str]) -> Predicate:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        left, right, sign = right, left, _MIRRORED[sign]
    target = pruning_target(left, names)
    if target is None or not isinstance(right, Literal) or right.value is None:
        return pruning.Unknown()
    return pruning.Compare(target, sign, right.value)


def _in_set(value: Expr, items: Sequence[Expr], names: Mapping[int, str]) -> Predicate:
    target = pruning_target(value, names)
    values = tuple(item.value for item in items if isinstance(item, Literal) and item.value is not None)
    if target is None or len(values) != len(items):
        return pruning.Unknown()
    return pruning.InSet(target, values)


def _in_bounds(value: Expr, constants: ConstantSet, names: Mapping[int, str]) -> Predicate:
    """Return the bounds of many constants. A value within them may still be none of the constants."""
    target = pruning_target(value, names)
    if target is None:
        return pruning.Unknown()
    low, high = constants.bounds()
    return pruning.And((pruning.Compare(target, ">=", low), pruning.Compare(target, "<=", high), pruning.Unknown()))


def _like(value: Expr, pattern: str, names: Mapping[int, str]) -> Predicate:
    """Return a condition on the text before the first wildcard of `pattern`."""
    target = pruning_target(value, names)
    prefix = pattern.split("%", 1)[0].split("_", 1)[0]
    if not isinstance(target, str) or not prefix or "\\" in prefix:
        return pruning.Unknown()
    is_whole = pattern == prefix + "%"
    likes = pruning.LikePrefix(target, prefix)
    return likes if is_whole else pruning.And((likes, pruning.Unknown()))


def pruning_target(expr: Expr, names: Mapping[int, str]) -> Target | None:
    """Return the column, or monotone function of a column, that `expr` is, or None."""
    match expr:
        case ColumnRef(column_id):
            return names.get(column_id)
        case Call(function, (ColumnRef(column_id),)) if function in _MONOTONE and column_id in names:
            return Mapped(function, names[column_id])
        case Call("substr" | "substring", (ColumnRef(column_id), Literal(1), Literal(int() as length))):
            return Mapped("substr", names[column_id], length) if column_id in names and length > 0 else None
        case Cast(ColumnRef(column_id), dtype) if column_id in names:
            return Mapped("cast", names[column_id], dtype)
    return None
