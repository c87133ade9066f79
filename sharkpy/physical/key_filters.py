"""Semi-join filters from sides too large to broadcast: their distinct keys filter the other side before it moves.

The keys filter exactly the rows that the other side would move. Like the keys of any finished build side, they also
prune the blocks of its scans (`learned_filters`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.optimizer.replan.decision import Decision
from sharkpy.physical.distribution import BroadcastPartitioning, HashPartitioning
from sharkpy.physical.estimate import estimated_bytes, row_bytes
from sharkpy.physical.learned_filters import JoinEdge, build_source, join_edges, targets
from sharkpy.physical.operators import AggregateMode, BlockScan, Exchange, ExchangeRead, HashAggregate, HashJoin
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Cast, ColumnRef
from sharkpy.plan.logical import JoinKind

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
        if not isinstance(moved, Exchange) or found is None or not _is_worth_it(found, moved, limit):
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


def _is_worth_it(found: KeyFilter, moved: Exchange, limit: int) -> bool:
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
