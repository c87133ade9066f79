"""Planning of joins: equalities are split from the other conditions, and the sides are brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base import settings
from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context, NoStatistics
from sharkpy.optimizer.decisions import JoinDistribution, JoinLimits, choose_join
from sharkpy.optimizer.estimate import estimate_rows, repeats
from sharkpy.physical import enforce
from sharkpy.physical.co_partition import is_aligned, key_positions
from sharkpy.physical.enforce import replicated
from sharkpy.physical.estimate import estimated_bytes, row_bytes
from sharkpy.physical.operators import (
    LEFT_PRESERVED,
    RIGHT_PRESERVED,
    AggregateMode,
    Exchange,
    Filter,
    HashAggregate,
    HashJoin,
    NestedLoopJoin,
    Project,
    SortOperator,
)
from sharkpy.physical.plan import Broadcast, Hashed, PhysicalPlan, Single
from sharkpy.physical.plan_context import FreshIds, PlanContext
from sharkpy.physical.replan.use_small_sides import is_reducible
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, conjunction, conjuncts
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan
from sharkpy.plan.references import column_ids
from sharkpy.values.common_types import comparison_type


@dataclass(frozen=True, slots=True)
class Equalities:
    """Join condition: pairs of keys that must be equal, and the remaining condition."""

    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    null_safe: tuple[bool, ...]
    residual: Expr | None


def split_condition(condition: Expr | None, left: PhysicalPlan, right: PhysicalPlan) -> Equalities:
    left_ids = {column.column_id for column in left.output}
    right_ids = {column.column_id for column in right.output}
    pairs: list[tuple[Expr, Expr, bool]] = []
    rest: list[Expr] = []
    for term in conjuncts(condition):
        match term:
            case Call("eq" | "eq_null_safe" as function, (one, other)):
                one_ids, other_ids = column_ids(one), column_ids(other)
                if not one_ids or not other_ids:
                    rest.append(term)
                elif one_ids <= left_ids and other_ids <= right_ids:
                    pairs.append((*_one_type(one, other), function == "eq_null_safe"))
                elif one_ids <= right_ids and other_ids <= left_ids:
                    pairs.append((*_one_type(other, one), function == "eq_null_safe"))
                else:
                    rest.append(term)
            case _:
                rest.append(term)
    left_keys, right_keys = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    return Equalities(left_keys, right_keys, tuple(pair[2] for pair in pairs), conjunction(rest))


def _one_type(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Cast both sides to one type, since equal keys must have equal hashes."""
    if left.dtype == right.dtype:
        return left, right
    common = comparison_type(left.dtype, right.dtype) or left.dtype
    return _cast(left, common), _cast(right, common)


def _cast(expr: Expr, dtype: object) -> Expr:
    return expr if expr.dtype == dtype else Cast(expr, dtype)  # type: ignore[arg-type]


class JoinPlanner:
    """Planner of joins, which broadcasts one side or hashes both."""

    def __init__(self, context: PlanContext, root: LogicalPlan, num_buckets: int, ids: FreshIds) -> None:
        values = context.conf
        self._estimates = Context(root, context.statistics, values)
        # Each task can read all blocks only if all tasks share the machine's memory.
        self._replicated_rows = values.value(settings.REPLICATED_ROWS) if context.is_local else 0
        self._forced = values.value(settings.FORCE_JOIN)
        self._limit = values.value(settings.BROADCAST_BYTES)
        self._num_buckets = num_buckets
        self._parallelism = context.default_parallelism
        self._ids = ids

    def plan(self, node: Join, left: PhysicalPlan, right: PhysicalPlan) -> PhysicalPlan:
        terms = split_condition(node.condition, left, right)
        checks = node.kind is JoinKind.SINGLE and not _matches_once(right, terms)
        joined = self._planned(node, left, right, terms, checks)
        if isinstance(joined, HashJoin) and node.kind in _MULTIPLYING:
            return replace(joined, repeats=self._repeats(node, terms))
        return joined

    def _repeats(self, node: Join, terms: Equalities) -> tuple[bool, bool]:
        left, right = repeats(terms.left, node.left, self._estimates), repeats(terms.right, node.right, self._estimates)
        return left, right

    def _planned(
        self, node: Join, left: PhysicalPlan, right: PhysicalPlan, terms: Equalities, checks: bool
    ) -> PhysicalPlan:
        if isinstance(left.distribution, Single) and isinstance(right.distribution, Single):
            return _join(left, right, node.kind, terms, checks)
        if self._is_co_partitioned(node, left, right, terms):
            return _join(left, right, node.kind, terms, checks)
        match self._broadcast_side(node, left, right, terms):
            case "right":
                return _join(left, enforce.broadcast(right, self._ids, self._replicated_rows), node.kind, terms, checks)
            case "left":
                return _join(enforce.broadcast(left, self._ids, self._replicated_rows), right, node.kind, terms, checks)
        if node.kind is JoinKind.NULL_AWARE_ANTI or not terms.left:
            left, right = enforce.single(left, self._ids), enforce.single(right, self._ids)
            return _join(left, right, node.kind, terms, checks)
        return self._shuffled(node, left, right, terms, checks)

    def _is_co_partitioned(self, node: Join, left: PhysicalPlan, right: PhysicalPlan, terms: Equalities) -> bool:
        if node.kind is JoinKind.NULL_AWARE_ANTI or node.hint or self._forced == "broadcast":
            return False
        return is_aligned(left, right, terms.left, terms.right)

    def _broadcast_side(self, node: Join, left: PhysicalPlan, right: PhysicalPlan, terms: Equalities) -> str | None:
        can_right, can_left = node.kind in LEFT_PRESERVED, node.kind in RIGHT_PRESERVED
        if self._forced == "shuffle" and terms.left:
            return None
        if node.hint == "broadcast_right" and can_right:
            return "right"
        if node.hint == "broadcast_left" and can_left:
            return "left"
        forced = self._forced if terms.left else "broadcast"
        sizes = (self._bytes(node.left, left), self._bytes(node.right, right))
        if not forced:
            if self._is_better_reduced(node, left, right, sizes):
                return None
            if free := self._side_without_stage(node, left, right, sizes):
                return free
        return _SIDES[choose_join(*sizes, node.kind, JoinLimits(self._limit), forced).distribution]

    def _side_without_stage(
        self, node: Join, left: PhysicalPlan, right: PhysicalPlan, sizes: tuple[int, int]
    ) -> str | None:
        """Return the smaller of the sides that each task can compute itself, or None."""
        sides = ((sizes[1], "right", right, LEFT_PRESERVED), (sizes[0], "left", left, RIGHT_PRESERVED))
        free = [
            (size, name)
            for size, name, side, kinds in sides
            if node.kind in kinds and size <= self._limit and replicated(side, self._replicated_rows) is not None
        ]
        return min(free)[1] if free else None

    def _is_better_reduced(self, node: Join, left: PhysicalPlan, right: PhysicalPlan, sizes: tuple[int, int]) -> bool:
        """Whether few rows of the right side can match, so that it moves only after the left side is known."""
        if isinstance(left.distribution, Single) or isinstance(right.distribution, (Single, Broadcast)):
            return False
        return sizes[0] <= self._limit and is_reducible(node.kind, *sizes)

    def _bytes(self, logical: LogicalPlan, plan: PhysicalPlan) -> int:
        """Estimate the bytes of a side in Arrow form, from column statistics if there are any."""
        if isinstance(self._estimates.statistics, NoStatistics):
            return estimated_bytes(plan)
        return int(estimate_rows(logical, self._estimates)) * row_bytes(plan)

    def _shuffled(
        self, node: Join, left: PhysicalPlan, right: PhysicalPlan, terms: Equalities, checks: bool
    ) -> PhysicalPlan:
        output = left.output if node.kind not in _TWO_SIDED else left.output + right.output
        keyed_left, left_keys = enforce.with_columns(left, terms.left, self._ids)
        keyed_right, right_keys = enforce.with_columns(right, terms.right, self._ids)
        keys = Equalities(left_keys, right_keys, terms.null_safe, terms.residual)
        positions, num_buckets = self._buckets(node, (keyed_left, left_keys), (keyed_right, right_keys))
        by_left, by_right = tuple(left_keys[i] for i in positions), tuple(right_keys[i] for i in positions)
        moved_left = enforce.hashed(keyed_left, by_left, num_buckets, self._ids)
        moved_right = enforce.hashed(keyed_right, by_right, num_buckets, self._ids)
        joined = _join(moved_left, moved_right, node.kind, keys, checks)
        return joined if joined.output == output else Project(joined, output)

    def _buckets(self, node: Join, left: _Keyed, right: _Keyed) -> tuple[Sequence[int], int]:
        """Return the positions of the keys by which both sides are hashed, and the number of buckets.

        If a side is in buckets already, these are used.
        """
        sizes = {0: self._bytes(node.left, left[0]), 1: self._bytes(node.right, right[0])}
        for index in sorted(sizes, key=lambda index: -sizes[index]):
            side, keys = (left, right)[index]
            positions = key_positions(side, keys)
            if positions is not None and isinstance(side.distribution, Hashed):
                num_buckets = side.distribution.num_buckets
                if num_buckets * 2 >= self._parallelism or sizes[index] >= sizes[1 - index]:
                    return positions, num_buckets
        return range(len(left[1])), self._num_buckets


_Keyed = tuple[PhysicalPlan, tuple[ColumnRef, ...]]
_SIDES = {
    JoinDistribution.BROADCAST_LEFT: "left",
    JoinDistribution.BROADCAST_RIGHT: "right",
    JoinDistribution.SHUFFLE: None,
}
_MULTIPLYING = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
_TWO_SIDED = frozenset(JoinKind) - {JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI}


def _join(left: PhysicalPlan, right: PhysicalPlan, kind: JoinKind, terms: Equalities, checks: bool) -> PhysicalPlan:
    if not terms.left:
        return NestedLoopJoin(left, right, kind, residual=terms.residual, checks_single=checks)
    return HashJoin(left, right, kind, terms.left, terms.right, terms.null_safe, terms.residual, checks)


def _matches_once(right: PhysicalPlan, terms: Equalities) -> bool:
    """Whether each left row matches at most one right row, for any data."""
    unique = _unique_key(right)
    return unique is not None and unique <= {key.column_id for key in terms.right if isinstance(key, ColumnRef)}


def _unique_key(plan: PhysicalPlan) -> frozenset[int] | None:
    """Return columns that identify a row; the empty set for at most one row, None if unknown."""
    match plan:
        case HashAggregate(mode=AggregateMode.COMPLETE | AggregateMode.FINAL):
            return frozenset(column.column_id for column in plan.group_columns)
        case Filter() | SortOperator() | Exchange():
            return _unique_key(plan.child)
        case Project():
            below = _unique_key(plan.child)
            if below is None:
                return None
            renamed = {
                item.expr.column_id: item.column_id
                for item in plan.items
                if not isinstance(item, ColumnRef) and isinstance(item.expr, ColumnRef)
            }
            kept = {item.column_id for item in plan.items if isinstance(item, ColumnRef)}
            if all(key in kept or key in renamed for key in below):
                return frozenset(key if key in kept else renamed[key] for key in below)
    return None
