"""Share of a column's rows in a range. The bounds of the blocks serve as a histogram."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from sharkpy.columnar.bounds import Array, ByteBounds, successor, words_of
from sharkpy.columnar.domain import DomainValue, to_domain
from sharkpy.columnar.statistics_table import ColumnTable

_LEAST_IN_BLOCK = 0.02
Comparison = Literal["lt", "le", "gt", "ge"]
Limit = tuple[Comparison, Any]
_OPERATORS: dict[Comparison, Callable[[Any, Any], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def range_share(column: ColumnTable, limits: Sequence[Limit]) -> float | None:
    """Return the share of valid rows that meet all `limits`, or None if it is unknown. Values are taken as uniform
    within a block.
    """
    values = [(sign, to_domain(value, column.dtype)) for sign, value in limits]
    return None if any(value is None for _, value in values) else _share(column, values)


def prefix_share(column: ColumnTable, prefix: str) -> float | None:
    """Return the share of valid strings that start with `prefix`.

    Texts use few of the possible bytes. So a block that may hold the prefix counts with a minimum share.
    """
    start = prefix.encode("utf-8", "surrogatepass")
    above = successor(start)
    share = _share(column, [("ge", start), *([("lt", above)] if above is not None else [])])  # type: ignore[list-item]
    if share is None or not isinstance(column.bounds, ByteBounds) or (column.sets.set_ids >= 0).all():
        return share
    holders = float(column.valid_counts[column.bounds.may_start_with(start)].sum() / column.valid_counts.sum())
    return max(share, _LEAST_IN_BLOCK * holders)


def _share(column: ColumnTable, values: Sequence[tuple[Comparison, Any]]) -> float | None:
    live = np.flatnonzero(column.valid_counts > 0)
    bounds = column.bounds
    if bounds is None or len(live) == 0 or bounds.unknown[live].any():
        return None
    low, high = _numbers(bounds.low[..., live]), _numbers(bounds.high[..., live])
    start, end = low, high
    for sign, value in values:
        limit = _number(value)
        start, end = (np.maximum(start, limit), end) if sign in ("gt", "ge") else (start, np.minimum(end, limit))
    width = high - low
    shares = np.where(width > 0, (end - start) / np.where(width > 0, width, 1.0), end >= start).clip(0.0, 1.0)
    shares = _by_sets(column, live, values, shares)
    return float(shares @ column.valid_counts[live] / column.valid_counts[live].sum())


def _by_sets(column: ColumnTable, live: Array, values: Sequence[tuple[Comparison, Any]], shares: Array) -> Array:
    """Replace `shares` by counts for blocks with known distinct values."""
    sets = column.sets
    if not sets.values or len(sets.offsets) < 2:
        return shares
    inside = [all(_OPERATORS[sign](one, value) for sign, value in values) for one in sets.values]
    sums = np.concatenate([[0], np.cumsum(np.array(inside, np.float64)[sets.codes])])
    sizes = np.maximum(np.diff(sets.offsets), 1)
    counted = (sums[sets.offsets[1:]] - sums[sets.offsets[:-1]]) / sizes
    ids = sets.set_ids[live]
    found: Array = np.where(ids >= 0, counted[np.maximum(ids, 0)], shares)
    return found


def _numbers(bound: Array) -> Array:
    """Map bounds to numbers in their order. Strings are mapped by their first 16 bytes."""
    if bound.ndim == 2:
        numbers: Array = bound[0].astype(np.float64) + bound[1].astype(np.float64) / 2.0**64
        return numbers
    return bound.astype(np.float64)


def _number(value: DomainValue | object) -> float:
    if isinstance(value, bytes):
        first, second = words_of(value)
        return float(first) + float(second) / 2.0**64
    return float(value)  # type: ignore[arg-type]
