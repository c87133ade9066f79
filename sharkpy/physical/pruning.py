"""Pruning of scans: predicates in the form of block statistics, and the blocks and ranges that statistics leave.

A part of a predicate that statistics cannot decide becomes Unknown, which prunes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.columnar import pruning
from sharkpy.columnar.bounds import NumberBounds
from sharkpy.columnar.domain import Domain, domain_of
from sharkpy.columnar.pruning import Mapped, Not, Operator, Predicate, prune
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsTable
from sharkpy.physical.column_bounds import MOST_STRINGS, ColumnRange
from sharkpy.plan.arrow_data import ConstantSet
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, InSet, Literal
from sharkpy.plan.logical import Scan
from sharkpy.plan.references import column_ids
from sharkpy.values.types import is_string

if TYPE_CHECKING:
    from sharkpy.columnar.version import TableVersion

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


# Blocks that statistics leave, and their ranges


Indexes = np.ndarray[Any, np.dtype[np.int64]]


def kept_blocks(scan: Scan, version: TableVersion) -> Indexes | None:
    """Return the indexes of blocks that may have rows for the scan's predicate, or None if all may."""
    predicate = _predicate(scan)
    if predicate is None:
        return None
    mask = prune(version.statistics, predicate)
    return None if mask.all() else np.flatnonzero(mask)


def keeps_whole_blocks(scan: Scan, version: TableVersion) -> bool:
    """Whether statistics prove the scan's predicate TRUE for each row of each block that it keeps."""
    predicate = _predicate(scan)
    if predicate is None:
        return True
    names = _names(scan)
    used = {names[column_id] for column_id in column_ids(scan.predicate)} if scan.predicate else set()
    kept = prune(version.statistics, predicate)
    columns = version.statistics.columns
    if any((columns[name].null_counts[kept] > 0).any() for name in used):
        return False
    return not prune(version.statistics, Not(predicate))[kept].any()


def column_ranges(scan: Scan, version: TableVersion, kept: Indexes | None) -> tuple[tuple[str, ColumnRange], ...]:
    """Return the ranges, over the kept blocks, of the scan's columns whose values are stored as integers."""
    found = []
    for name in dict.fromkeys(scan.names):
        known = _column_range(version.statistics, name, kept)
        if known is not None:
            found.append((name, known))
    return tuple(found)


def distinct_strings(
    scan: Scan, version: TableVersion, kept: Indexes | None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the values of the scan's string columns over the kept blocks, if each block has few."""
    found = []
    for column, name in zip(scan.columns, scan.names, strict=True):
        values = _strings(version.statistics.columns[name], kept) if is_string(column.dtype) else None
        if values is not None:
            found.append((name, values))
    return tuple(found)


def _strings(column: ColumnTable, kept: Indexes | None) -> tuple[str, ...] | None:
    chosen = slice(None) if kept is None else kept
    live = column.valid_counts[chosen] > 0
    set_ids = np.unique(column.sets.set_ids[chosen][live])
    if len(set_ids) == 0 or set_ids[0] < 0:
        return None
    offsets, codes = column.sets.offsets, column.sets.codes
    used = np.unique(np.concatenate([codes[offsets[set_id] : offsets[set_id + 1]] for set_id in set_ids]))
    if len(used) > MOST_STRINGS:
        return None
    values = sorted(column.sets.values[int(code)] for code in used)
    return tuple(value.decode("utf-8", "surrogatepass") for value in values if isinstance(value, bytes))


def _column_range(statistics: StatisticsTable, name: str, kept: Indexes | None) -> ColumnRange | None:
    column = statistics.columns[name]
    if domain_of(column.dtype) is not Domain.INTEGER or not isinstance(column.bounds, NumberBounds):
        return None
    chosen = slice(None) if kept is None else kept
    live = column.valid_counts[chosen] > 0
    if (column.bounds.unknown[chosen] & live).any():
        return None
    if not live.any():
        return ColumnRange(0, 0)
    return ColumnRange(int(column.bounds.low[chosen][live].min()), int(column.bounds.high[chosen][live].max()))


def _predicate(scan: Scan) -> Predicate | None:
    return None if scan.predicate is None else pruning_predicate(scan.predicate, _names(scan))


def _names(scan: Scan) -> dict[int, str]:
    return {column.column_id: name for column, name in zip(scan.columns, scan.names, strict=True)}
