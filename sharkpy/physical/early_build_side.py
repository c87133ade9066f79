"""Build sides worth running before the rest of the plan, because their keys may prune the probe side."""

from __future__ import annotations

import dataclasses

import numpy as np

from sharkpy.columnar.bounds import NumberBounds
from sharkpy.columnar.pruning import InSet, prune
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.physical.distribution import Broadcast, BroadcastPartitioning, Single, SinglePartitioning
from sharkpy.physical.estimate import estimated_bytes, estimated_rows
from sharkpy.physical.learned_filters import JoinEdge, join_edges, targets
from sharkpy.physical.operators import (
    BlockScan,
    Exchange,
    ExchangeRead,
    FileScan,
    Filter,
    HashJoin,
    LimitOperator,
    NestedLoopJoin,
    TopN,
    ValuesScan,
)
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Cast, ColumnRef, Expr

_MOST_BUILD_ROWS = 100_000
_LEAST_PROBE_BLOCKS = 4
_LEAST_PROBE_ROWS = 500_000
"""Rows below which reading the whole scan is faster than a query before it."""
_MOST_OVERLAP = 0.5
"""Share of the blocks that hold an average key, above which no set of keys would skip many."""
_SAMPLED_BLOCKS = 8


def with_early_build_side(plan: PhysicalPlan, exchange_id: int) -> tuple[PhysicalPlan, Exchange] | None:
    """Put an Exchange above a small, filtered build side joined to a large scan in key order.

    Lower joins come first. Return None if there is no such join.
    """
    for node in reversed(list(plan.walk())):
        if isinstance(node, HashJoin):
            for edge in join_edges(node):
                if _is_worth_it(edge):
                    return _wrapped(plan, node, edge, exchange_id)
    return None


def _wrapped(plan: PhysicalPlan, join: HashJoin, edge: JoinEdge, exchange_id: int) -> tuple[PhysicalPlan, Exchange]:
    is_replicated = isinstance(edge.build.distribution, Broadcast)
    partitioning = BroadcastPartitioning() if is_replicated else SinglePartitioning()
    exchange = Exchange(exchange_id, _in_one_task(edge.build), partitioning, estimated_bytes(edge.build))
    sides = {"right" if edge.probe_side == "left" else "left": exchange}
    changed = dataclasses.replace(join, **sides)  # type: ignore[arg-type]
    return plan.transform_up(lambda node: changed if node is join else node), exchange


def _in_one_task(plan: PhysicalPlan) -> PhysicalPlan:
    """Return a build side that each task would compute as one that is computed once."""

    def once(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, BlockScan) and node.is_replicated:
            return dataclasses.replace(node, is_single=True, is_replicated=False)
        return node

    return plan.transform_up(once)


def _is_worth_it(edge: JoinEdge) -> bool:
    if not isinstance(edge.build.distribution, (Single, Broadcast)):
        return False
    scans = [target for target in _reached_scans(edge) if _is_large(target.scan)]
    if not scans or not _is_filtered(edge.build) or estimated_rows(edge.build) > _MOST_BUILD_ROWS:
        return False
    build_rows = sum(estimated_rows(node) for node in edge.build.walk() if isinstance(node, (BlockScan, FileScan)))
    return any(build_rows <= target.scan.blocks.num_rows / 2 and _separates(target) for target in scans)


def _reached_scans(edge: JoinEdge) -> list[_BlockTarget]:
    found = targets(edge.probe, edge.probe_key)
    return [_BlockTarget(target.scan, target.key) for target in found if isinstance(target.scan, BlockScan)]


@dataclasses.dataclass(frozen=True, slots=True)
class _BlockTarget:
    scan: BlockScan
    key: Expr


def _is_large(scan: BlockScan) -> bool:
    return len(scan.blocks.blocks) >= _LEAST_PROBE_BLOCKS and scan.blocks.num_rows >= _LEAST_PROBE_ROWS


def _is_filtered(build: PhysicalPlan) -> bool:
    """Whether the build side may leave out keys, and none of it has run yet."""
    nodes = list(build.walk())
    if any(isinstance(node, (Exchange, ExchangeRead)) for node in nodes):
        return False
    return any(
        isinstance(node, (Filter, HashJoin, NestedLoopJoin, LimitOperator, TopN, ValuesScan))
        or (isinstance(node, (BlockScan, FileScan)) and node.predicate is not None)
        for node in nodes
    )


def _separates(target: _BlockTarget) -> bool:
    """Whether an average value of the key is in few of the scan's blocks, by their bounds."""
    blocks = target.scan.blocks
    bare = target.key.expr if isinstance(target.key, Cast) else target.key
    if blocks.statistics is None or not isinstance(bare, ColumnRef):
        return False
    return _overlap(blocks.statistics, target.scan.names_by_id[bare.column_id], blocks.positions) <= _MOST_OVERLAP


def _overlap(statistics: StatisticsTable, name: str, positions: np.ndarray | None) -> float:
    column = statistics.columns[name]
    chosen = np.arange(len(statistics)) if positions is None else positions
    chosen = chosen[column.valid_counts[chosen] > 0]
    if len(chosen) == 0 or column.bounds is None or column.bounds.unknown[chosen].any():
        return 1.0
    if isinstance(column.bounds, NumberBounds):
        low, high = column.bounds.low[chosen].astype(float), column.bounds.high[chosen].astype(float)
        spread = float(high.max() - low.min())
        return float((high - low).mean()) / spread if spread > 0 else 1.0
    if column.whole_bounds is None:
        return 1.0
    alone = StatisticsTable(statistics.rows, {name: column})
    shares = []
    for index in chosen[:: max(1, len(chosen) // _SAMPLED_BLOCKS)]:
        least = column.whole_bounds[int(index)][0].decode("utf-8", "surrogatepass")
        shares.append(float(prune(alone, InSet(name, (least,)))[chosen].mean()))
    return sum(shares) / len(shares)
