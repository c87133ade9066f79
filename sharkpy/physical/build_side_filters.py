"""Build sides whose keys filter the other side of a join before it is read or moved.

A small build side runs before the rest of the plan if its keys may prune the probe side's blocks. If a side is too
large to broadcast, its distinct keys filter the rows that the other side would move. `learned_filters` applies the keys
of finished build sides to scans.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar.bounds import NumberBounds
from sharkpy.columnar.pruning import InSet, prune
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.estimate import estimated_bytes, estimated_rows, row_bytes
from sharkpy.physical.learned_filters import JoinEdge, build_source, join_edges, targets
from sharkpy.physical.lowering.key_edges import key_column, key_origin
from sharkpy.physical.operators import (
    AggregateMode,
    BlockScan,
    Exchange,
    ExchangeRead,
    FileScan,
    Filter,
    HashAggregate,
    HashJoin,
    LimitOperator,
    NestedLoopJoin,
    TopN,
    ValuesScan,
)
from sharkpy.physical.plan import (
    Broadcast,
    BroadcastPartitioning,
    HashPartitioning,
    PhysicalPlan,
    Single,
    SinglePartitioning,
)
from sharkpy.plan.expr import Cast, ColumnRef, Expr
from sharkpy.plan.logical import JoinKind

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
                if _prunes_enough(edge):
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


def _prunes_enough(edge: JoinEdge) -> bool:
    if not isinstance(edge.build.distribution, (Single, Broadcast)):
        return False
    scans = [target for target in _reached_scans(edge) if _is_large(target.scan)]
    if key_origin(edge.build, edge.build_key) is not None:
        # The stage itself leaves out the rows, and their blocks.
        scans = [target for target in scans if key_column(target.scan, target.key) is None]
    if not scans or not _is_filtered(edge.build) or estimated_rows(edge.build) > _MOST_BUILD_ROWS:
        return False
    build_rows = sum(estimated_rows(node) for node in edge.build.walk() if isinstance(node, (BlockScan, FileScan)))
    return any(build_rows <= target.scan.blocks.num_rows / 2 and _separates(target) for target in scans)


def _reached_scans(edge: JoinEdge) -> list[_BlockTarget]:
    found = targets(edge.probe, edge.probe_key)
    return [_BlockTarget(target.scan, target.key) for target in found if isinstance(target.scan, BlockScan)]


@dataclass(frozen=True, slots=True)
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


# Keys of sides that are too large to broadcast


MOST_SHARE = 0.5
"""Largest share of the waiting side's keys that the filter may keep to be worth its stage."""
MIN_BYTES = 16 << 20
"""Least estimated bytes that the filter must keep from moving."""
MIN_RATIO = 2
"""Least ratio of those bytes to the bytes of the measured side, which is read again for its keys."""


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Filter by keys: `keys[i]`, columns of `read`, are all values of `edges[i].probe_key` in rows that matter."""

    edges: tuple[JoinEdge, ...]
    read: ExchangeRead
    keys: tuple[ColumnRef, ...]

    @property
    def rows(self) -> int:
        return self.read.observed.rows if self.read.observed else 0

    @property
    def share(self) -> float:
        """Upper bound of the share of the waiting side's keys that it keeps; 1 if they are not counted."""
        return min(_kept_share(edge, self.rows) for edge in self.edges)

    def distinct(self) -> HashAggregate:
        return HashAggregate(self.read, tuple(dict.fromkeys(self.keys)), (), AggregateMode.COMPLETE)

    def applied(self, plan: PhysicalPlan, keys: Exchange) -> HashJoin:
        """Return the rows of `plan` with one of the `keys`."""
        probe_keys = tuple(edge.probe_key for edge in self.edges)
        null_safe = tuple(edge.null_safe for edge in self.edges)
        return HashJoin(plan, keys, JoinKind.SEMI, probe_keys, self.keys, null_safe)


def filter_by_keys(
    plan: PhysicalPlan, limit: int, new_exchange_id: Callable[[], int]
) -> tuple[PhysicalPlan, tuple[Decision, ...]]:
    """Filter the sides that wait to be moved by the keys of the sides that have run.

    `limit` bounds the bytes of keys that may be broadcast. Return the same object if nothing changes.
    """
    decisions: list[Decision] = []

    def filtered(moved: PhysicalPlan, edges: tuple[JoinEdge, ...]) -> PhysicalPlan:
        found = key_filter(edges)
        if not isinstance(moved, Exchange) or found is None or not _saves_enough(found, moved, limit):
            return moved
        decisions.append(_decision(found, moved))
        distinct = found.distinct()
        keys = Exchange(new_exchange_id(), distinct, BroadcastPartitioning(), estimated_bytes(distinct))
        return dataclasses.replace(moved, child=found.applied(moved.child, keys))

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        if not isinstance(node, HashJoin):
            return node
        edges = join_edges(node)
        left = filtered(node.left, tuple(edge for edge in edges if edge.probe_side == "left"))
        right = filtered(node.right, tuple(edge for edge in edges if edge.probe_side == "right"))
        is_same = left is node.left and right is node.right
        return node if is_same else dataclasses.replace(node, left=left, right=right)

    return plan.transform_up(visit), tuple(decisions)


def key_filter(edges: tuple[JoinEdge, ...]) -> KeyFilter | None:
    """Return the filter of a join's waiting side by the measured side's keys.

    Return None if the keys are not plain columns.
    """
    found = [build_source(edge.build, edge.build_key) for edge in edges]
    reads = [source[0] for source in found if source is not None]
    keys = tuple(source[1] for source in found if source is not None and isinstance(source[1], ColumnRef))
    if not keys or len(keys) != len(edges) or any(read.exchange_id != reads[0].exchange_id for read in reads):
        return None
    partitioning = reads[0].partitioning
    # Spread rows are in further buckets, which only the tasks of the join know.
    is_plain = isinstance(partitioning, HashPartitioning) and partitioning.spread is None and reads[0].dealt is None
    return KeyFilter(edges, reads[0], keys) if is_plain and reads[0].observed is not None else None


def _saves_enough(found: KeyFilter, moved: Exchange, limit: int) -> bool:
    if not isinstance(moved.partitioning, HashPartitioning) or _is_cut(moved.child):
        return False
    spared = int((moved.estimated_bytes or 0) * (1.0 - found.share))
    read_again = found.read.observed.size_bytes if found.read.observed else 0
    is_small = found.rows * row_bytes(found.distinct()) <= limit
    return is_small and found.share <= MOST_SHARE and spared >= max(MIN_BYTES, MIN_RATIO * read_again)


def _is_cut(plan: PhysicalPlan) -> bool:
    """Whether a semi join with a finished or broadcast side is already below the move."""
    return (
        isinstance(plan, HashJoin) and plan.kind is JoinKind.SEMI and isinstance(plan.right, (Exchange, ExchangeRead))
    )


def _kept_share(edge: JoinEdge, rows: int) -> float:
    shares = [1.0] if not (found := targets(edge.probe, edge.probe_key)) else []
    for target in found:
        statistics = target.scan.blocks.statistics if isinstance(target.scan, BlockScan) else None
        bare = target.key.expr if isinstance(target.key, Cast) else target.key
        if statistics is None or not isinstance(target.scan, BlockScan) or not isinstance(bare, ColumnRef):
            return 1.0
        name = target.scan.names_by_id[bare.column_id]
        shares.append(min(1.0, rows / max(statistics.num_distinct(name), 1)))
    return max(shares)


def _decision(found: KeyFilter, moved: Exchange) -> Decision:
    names = ", ".join(str(edge.probe_key) for edge in found.edges)
    text = f"exchange {moved.exchange_id} moves only rows with a key of exchange {found.read.exchange_id}: {names}"
    percent = round(100 * found.share)
    size = moved.estimated_bytes or 0
    figures = (("rows with keys", found.rows), ("at most % of all keys", percent), ("bytes without", size))
    return Decision("key_filter", text, figures)
