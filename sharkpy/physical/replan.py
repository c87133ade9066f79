"""What is changed in the rest of a plan after a map stage has been measured (SPEC P2, P5).

First rule: a side of a shuffled join that turned out small is broadcast, and the other side is not moved
at all where its Exchange has not run. Second: what turned out tiny is read by one task.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from sharkpy import conf
from sharkpy.physical.distribution import (
    Broadcast,
    BroadcastPartitioning,
    ExchangeStatistics,
    HashPartitioning,
    RangePartitioning,
    Single,
    SinglePartitioning,
)
from sharkpy.physical.operators import (
    LEFT_PRESERVED,
    RIGHT_PRESERVED,
    AggregateMode,
    BlockScan,
    Exchange,
    ExchangeRead,
    Expand,
    FileScan,
    Filter,
    Generate,
    HashAggregate,
    HashJoin,
    NestedLoopJoin,
    Project,
    UnionAll,
)
from sharkpy.physical.plan import PhysicalPlan

TINY_BYTES = 1 << 20
"""Observed bytes up to which one task is faster than several."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided at run time, and the figures behind it."""

    rule: str
    text: str
    figures: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.figures)
        return f"{self.text} ({figures})"


def replan(
    plan: PhysicalPlan, observed: Mapping[int, ExchangeStatistics], settings: conf.Conf
) -> tuple[PhysicalPlan, tuple[Decision, ...]]:
    """The rest of the plan for what was `observed`, by exchange id; the same object where nothing changes."""
    decisions: list[Decision] = []
    plan = _with_observed(plan, observed)
    if settings.value(conf.FORCE_JOIN) != "shuffle":
        limit = settings.value(conf.BROADCAST_BYTES)
        plan = _broadcast_small_sides(plan, limit, decisions, free=True)
    if settings.value(conf.DRIVER_PLACEMENT):
        plan = _single_fragments(plan, decisions)
    return plan, tuple(decisions)


def _with_observed(plan: PhysicalPlan, observed: Mapping[int, ExchangeStatistics]) -> PhysicalPlan:
    def fill(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, ExchangeRead) and node.observed is None and node.exchange_id in observed:
            return dataclasses.replace(node, observed=observed[node.exchange_id])
        return node

    return plan.transform_up(fill)  # type: ignore[no-any-return]


def _broadcast_small_sides(plan: PhysicalPlan, limit: int, decisions: list[Decision], *, free: bool) -> PhysicalPlan:
    """`free`: nothing above, up to the next Exchange, relies on where the rows of `plan` are."""
    if free:
        plan = _broadcast_small_side(plan, limit, decisions)
    below = isinstance(plan, Exchange) or (free and _leaves_rows_anywhere(plan))
    return plan.map_children(lambda child: _broadcast_small_sides(child, limit, decisions, free=below))


def _leaves_rows_anywhere(plan: PhysicalPlan) -> bool:
    """Whether an operator gives the same rows in all, however its input's rows lie."""
    match plan:
        case Project() | Filter() | Generate() | Expand() | UnionAll():
            return True
        case HashAggregate(mode=mode):
            return mode is AggregateMode.PARTIAL
        case HashJoin(left=left, right=right) | NestedLoopJoin(left=left, right=right):
            return isinstance(left.distribution, Broadcast) or isinstance(right.distribution, Broadcast)
    return False


def _broadcast_small_side(node: PhysicalPlan, limit: int, decisions: list[Decision]) -> PhysicalPlan:
    if not isinstance(node, HashJoin):
        return node
    for small, other, kinds in (("right", "left", LEFT_PRESERVED), ("left", "right", RIGHT_PRESERVED)):
        side = _hash_read(getattr(node, small))
        moved = getattr(node, other)
        if node.kind not in kinds or side is None or side.observed is None or not isinstance(moved, Exchange):
            continue
        size = side.observed.size_bytes
        if size > limit or not isinstance(moved.partitioning, HashPartitioning):
            continue
        read = dataclasses.replace(side, partitioning=BroadcastPartitioning())
        text = f"exchange {side.exchange_id} is broadcast, exchange {moved.exchange_id} is not run: {node.label}"
        decisions.append(Decision("broadcast_small_side", text, (("bytes", size), ("limit", limit))))
        kept = _replace_read(getattr(node, small), read)
        left, right = (moved.child, kept) if small == "right" else (kept, moved.child)
        return dataclasses.replace(node, left=left, right=right)
    return node


def _hash_read(plan: PhysicalPlan) -> ExchangeRead | None:
    """The read at the bottom of a chain of Projects and Filters, where its buckets are by hash."""
    while isinstance(plan, (Project, Filter)):
        plan = plan.child
    if isinstance(plan, ExchangeRead) and isinstance(plan.partitioning, HashPartitioning):
        return plan
    return None


def _replace_read(plan: PhysicalPlan, read: ExchangeRead) -> PhysicalPlan:
    if isinstance(plan, (Project, Filter)):
        return dataclasses.replace(plan, child=_replace_read(plan.child, read))
    return read


def _single_fragments(plan: PhysicalPlan, decisions: list[Decision]) -> PhysicalPlan:
    """Each fragment that reads only tiny exchanges is read by one task; moves that are then idle go."""

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, Exchange):
            child = _single_fragment(node.child, decisions)
            if isinstance(child.distribution, Single) and isinstance(
                node.partitioning, (SinglePartitioning, RangePartitioning)
            ):
                return child
            return node if child is node.child else dataclasses.replace(node, child=child)
        return node

    return _single_fragment(plan.transform_up(visit), decisions)


def _single_fragment(fragment: PhysicalPlan, decisions: list[Decision]) -> PhysicalPlan:
    leaves = list(_fragment_leaves(fragment))
    reads = [leaf for leaf in leaves if isinstance(leaf, ExchangeRead) and leaf.observed is not None]
    several = [read for read in reads if isinstance(read.partitioning, (HashPartitioning, RangePartitioning))]
    if not several or any(isinstance(leaf, (BlockScan, FileScan, Exchange)) for leaf in leaves):
        return fragment
    size = sum(read.observed.size_bytes for read in several if read.observed)
    if size > TINY_BYTES or len(reads) != sum(isinstance(leaf, ExchangeRead) for leaf in leaves):
        return fragment
    ids = {read.exchange_id for read in several}

    def to_single(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, ExchangeRead) and node.exchange_id in ids:
            return dataclasses.replace(node, partitioning=SinglePartitioning())
        return node

    names = ", ".join(map(str, sorted(ids)))
    decisions.append(
        Decision("single_task", f"exchange {names} is read by one task", (("bytes", size), ("limit", TINY_BYTES)))
    )
    return fragment.transform_up(to_single)  # type: ignore[no-any-return]


def _fragment_leaves(plan: PhysicalPlan) -> list[PhysicalPlan]:
    if isinstance(plan, Exchange) or not plan.children:
        return [plan]
    return [leaf for child in plan.children for leaf in _fragment_leaves(child)]
