"""Rule against skew: the rows of a heavy key are dealt over several tasks of a shuffled join.

1. Before a side runs, its exchange is allowed to spread: each map task deals the rows of keys that it finds heavy over
   spread buckets, which follow the ordinary ones. Keys that the other side has spread stay together.
2. When both sides have run, a task that reads a spread bucket of one side also reads the other side's ordinary buckets
   of the keys dealt to it. Each pair of rows meets exactly once: rows in ordinary buckets in the task of their bucket,
   a spread row in the one task that has it, which has all rows that it can meet.
3. Rows that are read again must not be output as unmatched. So a side may spread if the other one may be broadcast, and
   neither side of a full join may.
"""

from __future__ import annotations

import dataclasses

from sharkpy.base import settings
from sharkpy.base.errors import InternalError
from sharkpy.physical.operators import (
    LEFT_PRESERVED,
    RIGHT_PRESERVED,
    Exchange,
    ExchangeRead,
    Filter,
    HashJoin,
    Project,
)
from sharkpy.physical.plan import (
    DealtBuckets,
    ExchangeStatistics,
    HashPartitioning,
    PhysicalPlan,
    SpreadKey,
    spread_buckets,
)
from sharkpy.physical.replan.replan_rule import ReplanContext, map_free_joins
from sharkpy.physical.stage_program import Spread

MIN_BYTES = 8 << 20
"""Least estimated bytes of an exchange for its map tasks to look for heavy keys."""


def spread_heavy_keys(plan: PhysicalPlan, context: ReplanContext) -> PhysicalPlan:
    if not context.settings.value(settings.SKEW):
        return plan
    return map_free_joins(plan, lambda join: _spread_join(join, context), context.is_free)


def _spread_join(join: HashJoin, context: ReplanContext) -> HashJoin:
    left, right = _moved(join.left), _moved(join.right)
    if left is None or right is None:
        return join
    if isinstance(left, ExchangeRead) and isinstance(right, ExchangeRead):
        return _dealt_join(join, left, right, context)
    if join.kind in LEFT_PRESERVED and isinstance(left, Exchange):
        join = dataclasses.replace(join, left=_with_moved(join.left, _spreading(left, right, context)))
    if join.kind in RIGHT_PRESERVED and isinstance(right, Exchange):
        join = dataclasses.replace(join, right=_with_moved(join.right, _spreading(right, left, context)))
    return join


def _spreading(side: Exchange, other: Exchange | ExchangeRead, context: ReplanContext) -> Exchange:
    """Return the side with permission to spread heavy keys, except for keys that the other side has spread."""
    is_forced = context.settings.value(settings.FORCE_SKEW)
    size = side.estimated_bytes
    if not is_forced and size is not None and size < MIN_BYTES:
        return side
    known = other.observed.spread_keys if isinstance(other, ExchangeRead) and other.observed else ()
    partitioning = _hashed(side)
    kept = frozenset(key.key_hash for key in known)
    spread = Spread(partitioning.num_buckets, context.settings.value(settings.SKEW_ROWS), is_forced, kept)
    return dataclasses.replace(side, partitioning=dataclasses.replace(partitioning, spread=spread))


def _dealt_join(join: HashJoin, left: ExchangeRead, right: ExchangeRead, context: ReplanContext) -> HashJoin:
    """Return the join of two finished sides, with each piece of a heavy key read together with its possible matches."""
    if left.observed is None or right.observed is None or left.dealt or right.dealt:
        return join
    if not left.observed.spread_keys and not right.observed.spread_keys:
        return join
    ordinary = _hashed(left).num_buckets
    left_pieces, right_pieces = _pieces(left), _pieces(right)
    plain = tuple((bucket,) for bucket in range(ordinary))
    behind, end = ordinary + len(left_pieces), ordinary + len(left_pieces) + len(right_pieces)
    of_left = (*plain, *((own,) for own, _ in left_pieces), *(other for _, other in right_pieces))
    of_right = (*plain, *(other for _, other in left_pieces), *((own,) for own, _ in right_pieces))
    for read, observed, pieces in ((left, left.observed, left_pieces), (right, right.observed, right_pieces)):
        if pieces:
            _note(read, observed, len(pieces), join, context)
    is_apart = context.settings.value(settings.FORCE_SKEW)
    dealt_left = DealtBuckets(of_left, range(behind, end), is_apart)
    dealt_right = DealtBuckets(of_right, range(ordinary, behind), is_apart)
    return dataclasses.replace(
        join,
        left=_with_moved(join.left, dataclasses.replace(left, dealt=dealt_left)),
        right=_with_moved(join.right, dataclasses.replace(right, dealt=dealt_right)),
    )


def _pieces(read: ExchangeRead) -> list[tuple[int, tuple[int, ...]]]:
    """Return the spread buckets with rows, each with the ordinary buckets in which the other side has these keys."""
    partitioning = _hashed(read)
    if partitioning.spread is None or read.observed is None:
        return []
    ordinary = partitioning.num_buckets
    keys: dict[int, set[int]] = {}
    for key in read.observed.spread_keys:
        for bucket in spread_buckets(key.key_hash, key.pieces, partitioning.spread.num_buckets):
            keys.setdefault(bucket, set()).add(key.key_hash % ordinary)
    return [(ordinary + bucket, tuple(sorted(met))) for bucket, met in sorted(keys.items())]


def _note(
    read: ExchangeRead, observed: ExchangeStatistics, num_pieces: int, join: HashJoin, context: ReplanContext
) -> None:
    ordinary = _hashed(read).num_buckets
    keys: tuple[SpreadKey, ...] = observed.spread_keys
    text = f"rows of heavy keys of exchange {read.exchange_id} are dealt over {num_pieces} more buckets: {join.label}"
    context.decide(
        "spread_heavy_keys",
        text,
        keys=len(keys),
        rows=sum(observed.rows_per_bucket[ordinary:]),
        rows_in_all=observed.rows,
        bytes=sum(observed.bytes_per_bucket[ordinary:]),
        buckets_before=ordinary,
        buckets_after=ordinary + num_pieces,
    )


def _moved(plan: PhysicalPlan) -> Exchange | ExchangeRead | None:
    """Return the hash-partitioned exchange or read below a side's Projects and Filters, or None."""
    while isinstance(plan, (Project, Filter)):
        plan = plan.child
    is_moved = isinstance(plan, (Exchange, ExchangeRead)) and isinstance(plan.partitioning, HashPartitioning)
    return plan if is_moved else None  # type: ignore[return-value]


def _with_moved(plan: PhysicalPlan, moved: PhysicalPlan) -> PhysicalPlan:
    if isinstance(plan, (Project, Filter)):
        return dataclasses.replace(plan, child=_with_moved(plan.child, moved))
    return moved


def _hashed(moved: Exchange | ExchangeRead) -> HashPartitioning:
    if not isinstance(moved.partitioning, HashPartitioning):
        raise InternalError(f"{moved.label} has no hashed buckets")
    return moved.partitioning
