"""Blocks in order of promise: a TopN or Limit first opens the blocks that may hold its rows.

At plan time, `cut_blocks` removes blocks that row counts and bounds prove needless. At run time, `Waves` deals out the
rest; blocks that cannot beat the n-th row found so far are not opened.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar.block_ranges import BlockOrder, block_order
from sharkpy.columnar.bounds import Mask
from sharkpy.columnar.pruning import Not, prune
from sharkpy.physical.learned_filters import through_project
from sharkpy.physical.operators import (
    BlockScan,
    BlockSet,
    ExchangeRead,
    Filter,
    Generate,
    LimitOperator,
    Project,
    TopN,
    UnionAll,
)
from sharkpy.physical.plan import PhysicalPlan, Single
from sharkpy.physical.pruning import pruning_predicate, pruning_target
from sharkpy.physical.replan import Decision
from sharkpy.plan.expr import ColumnRef, Expr, PythonValue, SortKey
from sharkpy.plan.references import column_ids

FirstRows = TopN | LimitOperator
MOST_ROWS = 100_000
"""Number of rows up to which they are gathered in the driver, so that no task runs in vain."""
_GROWTH = 4
"""Growth of the number of blocks from one wave to the next."""
_LEAST_SINGLE_ROWS = 500_000
"""Rows of one task's blocks below which opening all is faster than checking after each wave."""


@dataclass(frozen=True, slots=True)
class Source:
    """Scan below a TopN or Limit, with its sort key; `is_whole` if all its rows reach the top."""

    scan: BlockScan
    key: Expr | None
    is_whole: bool

    def order(self, sort: SortKey) -> BlockOrder | None:
        """Return the order of the scan's blocks by the sort key, or None if nothing is known."""
        statistics = self.scan.blocks.statistics
        target = None if self.key is None else pruning_target(self.key, self.scan.names_by_id)
        if statistics is None or target is None:
            return None
        return block_order(statistics, target, ascending=sort.ascending, nulls_first=sort.nulls_first)


def sources(plan: PhysicalPlan, key: Expr | None, is_whole: bool = True) -> list[Source] | None:
    """Return the scans of `plan` if rows of each block pass independently of other blocks, else None."""
    match plan:
        case BlockScan(is_replicated=False):
            return [Source(plan, key, is_whole and plan.predicate is None and plan.sample is None)]
        case Project():
            return sources(plan.child, None if key is None else through_project(plan, key), is_whole)
        case Filter():
            return sources(plan.child, key, False)
        case Generate():
            known = {column.column_id for column in plan.child.output}
            return sources(plan.child, key if key is not None and column_ids(key) <= known else None, False)
        case UnionAll():
            found = [sources(*branch, is_whole) for branch in _branches(plan, key)]
            return None if None in found else [one for some in found for one in some or ()]
    return None


def _branches(plan: UnionAll, key: Expr | None) -> Iterator[tuple[PhysicalPlan, Expr | None]]:
    for child in plan.inputs:
        own = dict(zip((column.column_id for column in plan.columns), child.output, strict=True))
        yield child, own.get(key.column_id) if isinstance(key, ColumnRef) else None


def with_blocks(plan: PhysicalPlan, blocks: Iterator[BlockSet]) -> PhysicalPlan:
    """Return `plan` with the blocks of its scans replaced, in the order of `sources`."""
    if isinstance(plan, BlockScan):
        # No aggregate is lowered across a TopN or Limit, so the bounds of all blocks may stay.
        return dataclasses.replace(plan, blocks=next(blocks))
    return plan.map_children(lambda child: with_blocks(child, blocks))


# At plan time


def cut_blocks(child: PhysicalPlan, keys: Sequence[SortKey], count: int) -> PhysicalPlan:
    """Return `child` without blocks that row counts prove to have none of its first `count` rows.

    Without keys, any rows are the first.
    """
    found = sources(child, keys[0].expr if keys else None)
    if not found or count <= 0:
        return child
    cut = [_cut(source, keys, count) if source.is_whole else source.scan.blocks for source in found]
    if all(new is source.scan.blocks for new, source in zip(cut, found, strict=True)):
        return child
    return with_blocks(child, iter(cut))


def _cut(source: Source, keys: Sequence[SortKey], count: int) -> BlockSet:
    blocks = source.scan.blocks
    if not keys:
        totals = np.cumsum([block.num_rows for block in blocks.blocks])
        return blocks.at(np.arange(min(len(totals), int(np.searchsorted(totals, count)) + 1)))
    order = source.order(keys[0])
    needed = None if order is None else order.needed(blocks.numbers(), count, or_tie=len(keys) > 1)
    return blocks if needed is None else blocks.at(np.flatnonzero(needed))


# At run time


@dataclass(frozen=True, slots=True)
class Waves:
    """Blocks still to be opened, most promising first, one set for each source of `plan`."""

    plan: FirstRows
    rest: tuple[BlockSet, ...]
    orders: tuple[BlockOrder | None, ...]
    size: int
    """Number of blocks of the next wave."""

    @property
    def num_blocks(self) -> int:
        return sum(len(blocks.blocks) for blocks in self.rest)

    @property
    def key(self) -> ColumnRef | None:
        """Column of the first sort key, or None."""
        expr = self.plan.keys[0].expr if isinstance(self.plan, TopN) else None
        return expr if isinstance(expr, ColumnRef) else None

    @property
    def wanted(self) -> int:
        return (self.plan.count or 0) + self.plan.offset

    def next_wave(self) -> tuple[FirstRows, Waves]:
        """Return the plan over the next blocks, and the waves after them."""
        taken, rest, left = [], [], self.size
        for blocks in self.rest:
            places = np.arange(len(blocks.blocks))
            taken.append(blocks.at(places[:left]))
            rest.append(blocks.at(places[left:]))
            left -= min(left, len(places))
        plan = dataclasses.replace(self.plan, count=self.wanted, offset=0)
        waves = dataclasses.replace(self, rest=tuple(rest), size=self.size * _GROWTH)
        return with_blocks(plan, iter(taken)), waves  # type: ignore[return-value]

    def after(self, num_rows: int, values: Sequence[PythonValue] | None) -> Waves:
        """Return the blocks left after finding `num_rows` rows, with first sort keys `values` (None if unknown)."""
        if num_rows < self.wanted:
            return self
        if isinstance(self.plan, LimitOperator):
            return dataclasses.replace(self, rest=tuple(blocks.at(np.arange(0)) for blocks in self.rest))
        if values is None or any(isinstance(value, float) and math.isnan(value) for value in values):
            return self
        value, or_tie = nth_value(values, self.plan.keys[0], self.wanted), len(self.plan.keys) > 1
        rest = tuple(
            blocks if order is None else _unbeaten(blocks, order.may_come_before(value, or_tie=or_tie))
            for blocks, order in zip(self.rest, self.orders, strict=True)
        )
        return dataclasses.replace(self, rest=rest)

    def decision(self, opened: int, number: int) -> Decision:
        scans = [node for node in self.plan.walk() if isinstance(node, BlockScan)]
        tables = ", ".join(dict.fromkeys(scan.table_name for scan in scans))
        total = sum(scan.blocks.num_blocks for scan in scans)
        text = f"{self.plan.label} opens blocks of {tables} in order of promise"
        return Decision("first_rows", text, (("blocks", total), ("opened", opened), ("waves", number)))


def waves(plan: PhysicalPlan, parallelism: int) -> Waves | None:
    """Return the waves of a TopN or Limit over scans, or None if they would not save anything."""
    if not isinstance(plan, FirstRows) or plan.count is None or plan.count + plan.offset > MOST_ROWS:
        return None
    sort = plan.keys[0] if isinstance(plan, TopN) else None
    if sort is not None and not isinstance(sort.expr, ColumnRef):
        return None
    found = sources(plan.child, None if sort is None else sort.expr)
    if not found or sum(len(source.scan.blocks.blocks) for source in found) <= parallelism:
        return None
    rows = sum(source.scan.blocks.num_rows for source in found)
    if isinstance(plan.distribution, Single) and rows < _LEAST_SINGLE_ROWS:
        return None
    if sort is None:
        return Waves(plan, tuple(map(_certain_first, found)), (None,) * len(found), parallelism)
    orders = tuple(source.order(sort) for source in found)
    or_tie = len(plan.keys) > 1 if isinstance(plan, TopN) else False
    if not any(_separates(source, order, or_tie) for source, order in zip(found, orders, strict=True)):
        return None
    return Waves(plan, tuple(map(_by_promise, found, orders)), orders, parallelism)


def _separates(source: Source, order: BlockOrder | None, or_tie: bool) -> bool:
    return order is not None and order.separates(source.scan.blocks.numbers(), or_tie=or_tie)


def nth_value(values: Sequence[PythonValue], key: SortKey, count: int) -> PythonValue:
    """Return the `count`-th of `values` in the order of `key`. There are at least as many, without NaN."""
    valid = sorted((value for value in values if value is not None), reverse=not key.ascending)  # type: ignore[type-var]
    position = count - 1 - (len(values) - len(valid) if key.nulls_first else 0)
    return valid[position] if 0 <= position < len(valid) else None


def _unbeaten(blocks: BlockSet, may_come_before: Mask) -> BlockSet:
    keep = may_come_before[blocks.numbers()]
    return blocks if keep.all() else blocks.at(np.flatnonzero(keep))


def _by_promise(source: Source, order: BlockOrder | None) -> BlockSet:
    if order is None:
        return source.scan.blocks
    numbers = source.scan.blocks.numbers()
    rank = np.empty(len(order.column.valid_counts), np.int64)
    rank[order.most_promising_first()] = np.arange(len(rank))
    return source.scan.blocks.at(np.argsort(rank[numbers], kind="stable"))


def _certain_first(source: Source) -> BlockSet:
    """Sort the blocks: first the blocks whose rows all satisfy the scan's predicate."""
    scan, statistics = source.scan, source.scan.blocks.statistics
    if scan.predicate is None or statistics is None:
        return scan.blocks
    numbers = scan.blocks.numbers()
    used = [scan.names_by_id[column_id] for column_id in column_ids(scan.predicate)]
    doubtful = prune(statistics, Not(pruning_predicate(scan.predicate, scan.names_by_id)))
    for name in used:
        doubtful = doubtful | (statistics.columns[name].null_counts > 0)
    return scan.blocks.at(np.argsort(doubtful[numbers], kind="stable"))


def satisfied_limits(plan: PhysicalPlan) -> PhysicalPlan:
    """Remove inputs of a union that a Limit does not need because a finished input has enough rows."""

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        if not isinstance(node, LimitOperator) or node.count is None:
            return node
        return node.map_children(lambda child: _sufficient(child, node.count + node.offset))  # type: ignore[operator]

    return plan.transform_up(visit)


def _sufficient(plan: PhysicalPlan, wanted: int) -> PhysicalPlan:
    match plan:
        case Project():
            return plan.map_children(lambda child: _sufficient(child, wanted))
        case UnionAll(inputs, columns):
            enough = next((one for one in inputs if _known_rows(one) >= wanted), None)
            return plan if enough is None or len(inputs) == 1 else UnionAll((enough,), columns)
    return plan


def _known_rows(plan: PhysicalPlan) -> int:
    match plan:
        case ExchangeRead(observed=observed) if observed is not None:
            return observed.rows
        case Project():
            return _known_rows(plan.child)
        case LimitOperator(child, count, 0) if count is not None:
            return min(_known_rows(child), count)
    return 0
