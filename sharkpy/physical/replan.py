"""What is changed in the rest of a plan after a map stage has been measured (SPEC P2, P5).

First rule: a side of a shuffled join that turned out small is broadcast, and the other side is not moved
at all where its Exchange has not run. Second: what turned out tiny is read by one task.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from sharkpy import conf
from sharkpy.errors import InternalError
from sharkpy.optimizer.replan.choose_join import JoinDistribution, JoinLimits, choose_join
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
from sharkpy.physical.reduce_side import reduce_sides


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
        plan = reduce_sides(plan, limit, lambda text, size: decisions.append(_reduced(text, size, limit)))
    if limit := settings.value(conf.SINGLE_TASK_BYTES):
        plan = _single_fragments(plan, limit, decisions)
    return plan, tuple(decisions)


def _reduced(text: str, size: int, limit: int) -> Decision:
    return Decision("reduce_side", text, (("bytes", size), ("limit", limit)))


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
    left_bytes, right_bytes = _measured_bytes(node.left, node.right), _measured_bytes(node.right, node.left)
    match choose_join(left_bytes, right_bytes, node.kind, JoinLimits(limit)).distribution:
        case JoinDistribution.BROADCAST_LEFT:
            kept, moved = _broadcast(node, node.left, node.right, limit, decisions)
            return dataclasses.replace(node, left=kept, right=moved)
        case JoinDistribution.BROADCAST_RIGHT:
            kept, moved = _broadcast(node, node.right, node.left, limit, decisions)
            return dataclasses.replace(node, left=moved, right=kept)
    return node


def _measured_bytes(side: PhysicalPlan, other: PhysicalPlan) -> int | None:
    """Bytes of a side that has run, where the other one has not been moved yet."""
    read = _hash_read(side)
    waits = isinstance(other, Exchange) and isinstance(other.partitioning, HashPartitioning)
    return read.observed.size_bytes if waits and read is not None and read.observed is not None else None


def _broadcast(
    join: HashJoin, small: PhysicalPlan, other: PhysicalPlan, limit: int, decisions: list[Decision]
) -> tuple[PhysicalPlan, PhysicalPlan]:
    """The side read whole by every task, and the other one where it is."""
    read = _hash_read(small)
    if read is None or read.observed is None or not isinstance(other, Exchange):
        raise InternalError(f"no side of {join.label} has been measured")
    text = f"exchange {read.exchange_id} is broadcast, exchange {other.exchange_id} is not run: {join.label}"
    decisions.append(Decision("broadcast_small_side", text, (("bytes", read.observed.size_bytes), ("limit", limit))))
    whole = dataclasses.replace(read, partitioning=BroadcastPartitioning())
    return _replace_read(small, whole), other.child


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


def _single_fragments(plan: PhysicalPlan, limit: int, decisions: list[Decision]) -> PhysicalPlan:
    """Each fragment that reads only tiny exchanges is read by one task; moves that are then idle go."""

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, Exchange):
            child = _single_fragment(node.child, limit, decisions)
            if isinstance(child.distribution, Single) and isinstance(
                node.partitioning, (SinglePartitioning, RangePartitioning)
            ):
                return child
            return node if child is node.child else dataclasses.replace(node, child=child)
        return node

    return _single_fragment(plan.transform_up(visit), limit, decisions)


def _single_fragment(fragment: PhysicalPlan, limit: int, decisions: list[Decision]) -> PhysicalPlan:
    leaves = list(_fragment_leaves(fragment))
    reads = [leaf for leaf in leaves if isinstance(leaf, ExchangeRead) and leaf.observed is not None]
    several = [read for read in reads if isinstance(read.partitioning, (HashPartitioning, RangePartitioning))]
    if not several or any(_is_dealt(leaf) or isinstance(leaf, Exchange) for leaf in leaves):
        return fragment
    size = sum(read.observed.size_bytes for read in several if read.observed)
    if size > limit or len(reads) != sum(isinstance(leaf, ExchangeRead) for leaf in leaves):
        return fragment
    ids = {read.exchange_id for read in several}

    def to_single(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, ExchangeRead) and node.exchange_id in ids:
            return dataclasses.replace(node, partitioning=SinglePartitioning())
        return node

    names = ", ".join(map(str, sorted(ids)))
    decisions.append(
        Decision("single_task", f"exchange {names} is read by one task", (("bytes", size), ("limit", limit)))
    )
    return fragment.transform_up(to_single)  # type: ignore[no-any-return]


def _is_dealt(leaf: PhysicalPlan) -> bool:
    """Whether the leaf's rows are read by several tasks."""
    return isinstance(leaf, FileScan) or (isinstance(leaf, BlockScan) and not leaf.is_replicated)


def _fragment_leaves(plan: PhysicalPlan) -> list[PhysicalPlan]:
    if isinstance(plan, Exchange) or not plan.children:
        return [plan]
    return [leaf for child in plan.children for leaf in _fragment_leaves(child)]
