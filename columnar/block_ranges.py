"""Ranges of one column over the blocks: which blocks may hold its first rows, and the share of rows in a range."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar.bounds import Array, ByteBounds, Mask, NumberBounds, successor, words_of
from sharkpy.columnar.domain import DomainValue, to_domain
from sharkpy.columnar.pruning import Mapped, operand_bounds
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsTable
from sharkpy.values import types as t

_SAMPLED_BLOCKS = 8
_MOST_OVERLAP = 0.5
"""Share of blocks that contain an average value. Above it, the first rows would rule out few blocks."""
_WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """The blocks of a table version under ORDER BY a column, or by a monotone function of a column."""

    column: ColumnTable
    dtype: t.DataType
    bounds: NumberBounds | ByteBounds
    is_mapped: bool
    ascending: bool
    nulls_first: bool

    def most_promising_first(self) -> Array:
        """Return the numbers of all blocks, ordered so that the first ones may hold the first rows. Ties keep the
        table's order.
        """
        has_values, has_nulls = self.column.valid_counts > 0, self.column.null_counts > 0
        known = has_values & ~self.bounds.unknown
        least_first = [*_words(self.bounds.low if self.ascending else self.bounds.high)]
        words = [np.where(known, word if self.ascending else ~word, 0) for word in least_first]
        first = has_nulls if self.nulls_first else np.zeros(len(has_nulls), np.bool_)
        return np.lexsort((*reversed(words), known, ~has_values, ~first))

    def may_come_before(self, value: object, *, or_tie: bool) -> Mask:
        """Return the blocks that may have a row before `value` (None is NULL), or equal to it if `or_tie`."""
        has_values, has_nulls = self.column.valid_counts > 0, self.column.null_counts > 0
        if value is None:
            ties = has_nulls if or_tie else np.zeros(len(has_nulls), np.bool_)
            return ties if self.nulls_first else has_values | ties
        bound = to_domain(value, self.dtype)
        if bound is None or (isinstance(bound, float) and math.isnan(bound)):
            return np.ones(len(has_values), np.bool_)
        return self._before(bound, or_tie)

    def _before(self, bound: DomainValue | Fraction, or_tie: bool) -> Mask:
        match self.ascending, or_tie:
            case True, True:
                found = self.bounds.may_le(bound)  # type: ignore[arg-type]
            case True, False:
                found = self.bounds.may_lt(bound)  # type: ignore[arg-type]
            case False, True:
                found = self.bounds.may_ge(bound)  # type: ignore[arg-type]
            case _:
                found = self.bounds.may_gt(bound)  # type: ignore[arg-type]
        found = found & (self.column.valid_counts > 0)
        return found | (self.column.null_counts > 0) if self.nulls_first else found

    def separates(self, chosen: Array, *, or_tie: bool) -> bool:
        """Return whether a value in the first blocks of `chosen` is likely to rule out most other blocks."""
        if not or_tie and (self.column.sets.set_ids[chosen] >= 0).all():
            return True
        known = chosen[(self.column.valid_counts > 0)[chosen] & ~self.bounds.unknown[chosen]]
        if len(known) < len(chosen) / 2:
            return False
        sampled = known[:: max(1, len(known) // _SAMPLED_BLOCKS)]
        return float(np.mean([self._share_with(int(index), chosen) for index in sampled])) <= _MOST_OVERLAP

    def _share_with(self, block: int, chosen: Array) -> float:
        """Return the share of blocks whose range contains the middle of the range of `block`."""
        if isinstance(self.bounds, ByteBounds):
            low, high = (_number(bound[:, block]) for bound in (self.bounds.low, self.bounds.high))
            middle: DomainValue = ((low + high) // 2).to_bytes(2 * _WORD_BYTES, "big")
        else:
            low, high = self.bounds.low[block].item(), self.bounds.high[block].item()
            middle = low + (high - low) / 2 if isinstance(low, float) else (low + high) // 2
        return float(self.bounds.may_eq(middle)[chosen].mean())  # type: ignore[arg-type]

    def needed(self, chosen: Array, count: int, *, or_tie: bool) -> Mask | None:
        """Return a mask over `chosen` of the blocks that may have one of the first `count` rows, or None if statistics
        rule out no block.

        All rows of the blocks `chosen` qualify for the result.
        """
        if self.nulls_first and int(self.column.null_counts[chosen].sum()) >= count:
            return (self.column.null_counts > 0)[chosen]
        if self.is_mapped:
            return None
        certain = chosen[(self.column.valid_counts > 0)[chosen] & ~self.bounds.unknown[chosen]]
        worst = self.bounds.high if self.ascending else self.bounds.low
        keys = [word[certain] if self.ascending else ~word[certain] for word in _words(worst)]
        ranked = certain[np.lexsort(tuple(reversed(keys)))]
        totals = np.cumsum(self.column.valid_counts[ranked])
        if len(ranked) == 0 or totals[-1] < count:
            return None
        guarantors = ranked[: int(np.searchsorted(totals, count)) + 1]
        found = self._before(self._worst_value(guarantors), or_tie)
        found[guarantors] = True
        return found[chosen]

    def _worst_value(self, blocks: Array) -> DomainValue:
        """Return a bound that no valid value of `blocks` comes after."""
        if self.column.whole_bounds is not None:
            pairs = [self.column.whole_bounds[int(index)] for index in blocks]
            return max(high for _, high in pairs) if self.ascending else min(low for low, _ in pairs)
        found = self.bounds.high[blocks].max() if self.ascending else self.bounds.low[blocks].min()
        return found.item()  # type: ignore[no-any-return]


def block_order(
    statistics: StatisticsTable, target: str | Mapped, *, ascending: bool, nulls_first: bool
) -> BlockOrder | None:
    """Return the order, or None if the statistics do not describe the target's order."""
    is_mapped = isinstance(target, Mapped)
    # A function may give NULL for a value: the blocks with NULL results are unknown.
    found = None if is_mapped and nulls_first else operand_bounds(statistics, target)
    if found is None:
        return None
    column, dtype, bounds = found
    return BlockOrder(column, dtype, bounds, is_mapped, ascending, nulls_first)


def _number(words: Array) -> int:
    return int(words[0]) << (8 * _WORD_BYTES) | int(words[1])


def _words(bound: Array) -> list[Array]:
    """Map bounds to unsigned integers in the same order, most significant word first."""
    if bound.ndim == 2:
        return [bound[0], bound[1]]
    if bound.dtype == np.float64:
        bits = (bound + 0.0).view(np.int64)
        return [np.where(bits < 0, ~bits, bits ^ np.int64(-(1 << 63))).view(np.uint64)]
    return [bound.view(np.uint64) ^ np.uint64(1 << 63)]


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
        limit = _number_of_value(value)
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


def _number_of_value(value: DomainValue | object) -> float:
    if isinstance(value, bytes):
        first, second = words_of(value)
        return float(first) + float(second) / 2.0**64
    return float(value)  # type: ignore[arg-type]
