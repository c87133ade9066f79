"""Filters learned from joins: the keys of a finished build side restrict the probe side's scans.

A probe row whose key is not among the build side's keys cannot contribute. The keys prune the blocks of the scans
below. If the rows would be moved or grouped before the join, the keys filter them too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar.pruning import prune
from sharkpy.columnar.value_sets import KeyBits
from sharkpy.physical.operators import (
    BlockScan,
    BlockSet,
    Exchange,
    ExchangeRead,
    FileScan,
    Filter,
    Generate,
    HashAggregate,
    HashJoin,
    NestedLoopJoin,
    Project,
    SortOperator,
    SplitSet,
    UnionAll,
)
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.pruning import pruning_predicate
from sharkpy.physical.replan import Decision
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Literal, PythonValue, conjunction, conjuncts
from sharkpy.plan.logical import JoinKind
from sharkpy.plan.references import column_ids
from sharkpy.plan.references import substitute as substituted
from sharkpy.values.types import BOOLEAN, DOUBLE, FLOAT, INTEGER_TYPES

LEFT_RESTRICTED = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.RIGHT})
"""Kinds of join in which a left row without a match is in no result row."""
RIGHT_RESTRICTED = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.SINGLE})
"""Kinds of join in which a right row without a match is in no result row and decides nothing.

The NULL-aware anti join is not among them: a NULL on the right decides there, and so does the presence of any row.
"""
_LEFT_PASSES = frozenset(JoinKind) - {JoinKind.RIGHT, JoinKind.FULL}
_RIGHT_PASSES = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT})
_MOST_FILTER_VALUES = 1000
"""Number of keys up to which rows are tested against each; above, against the least and the greatest."""
_MIN_FILTERED_ROWS = 1_000_000
"""Least rows of a scan for which rows without a partner are removed before the query."""
_MOST_KEPT = 0.3
"""Largest share of the numbers between the least and greatest key for which that is worthwhile."""


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Values of a build side's key: all in `values` if they are few, else None. NULL is separate."""

    values: tuple[PythonValue, ...] | None
    low: PythonValue
    high: PythonValue
    has_null: bool
    bits: KeyBits | None = field(default=None, compare=False, repr=False)
    """All values as bits, if they are integers close to each other."""

    @property
    def is_empty(self) -> bool:
        return self.values == ()

    def predicate(self, key: Expr, most_values: int | None = None) -> Expr:
        """Return a predicate that `key` may be one of the values; never FALSE or NULL for one of them."""
        if self.values is not None and (most_values is None or len(self.values) <= most_values):
            return Call("in", (key, *(Literal(value, key.dtype) for value in self.values)), BOOLEAN)
        low = Call("ge", (key, Literal(self.low, key.dtype)), BOOLEAN)
        return Call("and", (low, Call("le", (key, Literal(self.high, key.dtype)), BOOLEAN)), BOOLEAN)

    def __str__(self) -> str:
        return f"between {self.low!r} and {self.high!r}" if self.values is None else f"of {len(self.values)} keys"


KeySource = Callable[[ExchangeRead, Expr], KeyValues | None]
"""Function that returns an expression's values over an exchange's rows, or None if not available."""


@dataclass(frozen=True, slots=True)
class Target:
    """Scan whose rows a key reaches, and the key over the scan's columns; `is_moved` if not within one stage."""

    scan: BlockScan | FileScan
    key: Expr
    is_moved: bool


@dataclass(frozen=True, slots=True)
class JoinEdge:
    """Equality of a join, from its finished `build` side to the side that can be restricted."""

    build: PhysicalPlan
    build_key: Expr
    probe: PhysicalPlan
    probe_key: Expr
    probe_side: str
    null_safe: bool


def join_edges(join: HashJoin) -> list[JoinEdge]:
    """Return the ways in which one side of `join` may restrict the other."""
    edges = []
    for left_key, right_key, null_safe in zip(join.left_keys, join.right_keys, join.null_safe, strict=True):
        if join.kind in LEFT_RESTRICTED:
            edges.append(JoinEdge(join.right, right_key, join.left, left_key, "left", null_safe))
        if join.kind in RIGHT_RESTRICTED:
            edges.append(JoinEdge(join.left, left_key, join.right, right_key, "right", null_safe))
    return edges


def learn_filters(plan: PhysicalPlan, keys_of: KeySource) -> tuple[PhysicalPlan, tuple[Decision, ...]]:
    """Restrict the plan's scans by the exchanges that have run. Return the same object if nothing changes."""
    decisions: list[Decision] = []

    def visit(plan: PhysicalPlan) -> PhysicalPlan:
        if not isinstance(plan, HashJoin):
            return plan
        node = plan
        for edge in join_edges(node):
            if edge.probe_side == "left":
                node = dataclasses.replace(node, left=_restricted(edge, node.left, keys_of, decisions))
            else:
                node = dataclasses.replace(node, right=_restricted(edge, node.right, keys_of, decisions))
        return plan if node.left is plan.left and node.right is plan.right else node

    return plan.transform_up(visit), tuple(decisions)


def _restricted(edge: JoinEdge, probe: PhysicalPlan, keys_of: KeySource, decisions: list[Decision]) -> PhysicalPlan:
    source = build_source(edge.build, edge.build_key)
    if source is None or not targets(probe, edge.probe_key):
        return probe
    read, key = source
    keys = keys_of(read, key)
    if keys is None or (edge.null_safe and keys.has_null):
        return probe
    return map_targets(probe, edge.probe_key, lambda target: _learned(target, keys, read, decisions))


def build_source(plan: PhysicalPlan, key: Expr) -> tuple[ExchangeRead, Expr] | None:
    """Return the exchange read below projections and filters, and `key` over its columns.

    These have a superset of the side's keys.
    """
    while isinstance(plan, (Project, Filter)):
        if isinstance(plan, Project):
            key = through_project(plan, key)
        plan = plan.child
    return (plan, key) if isinstance(plan, ExchangeRead) and column_ids(key) else None


def _learned(target: Target, keys: KeyValues, read: ExchangeRead, decisions: list[Decision]) -> BlockScan | FileScan:
    """Return the scan restricted by `keys`."""
    scan, before = target.scan, _num_pieces(target.scan)
    if keys.is_empty:
        scan = _without_rows(scan)
    elif isinstance(scan, BlockScan):
        scan = scan.with_blocks(_pruned(scan, keys.predicate(target.key)))
    after = _num_pieces(scan)
    if after and isinstance(scan, BlockScan):
        scan = _with_bits(scan, target.key, keys)
    if after and target.is_moved and _can_filter_rows(target.key):
        scan = _with_predicate(scan, keys.predicate(target.key, _MOST_FILTER_VALUES))
    is_same = scan.predicate == target.scan.predicate and not (isinstance(scan, BlockScan) and _is_cut(scan, target))
    if after == before and is_same:
        return target.scan
    rows = "" if is_same else " and filters its rows"
    pieces = "blocks" if isinstance(scan, BlockScan) else "splits"
    text = f"exchange {read.exchange_id} prunes {scan.table_name}{rows}: {target.key} {keys}"
    known = () if keys.values is None else (("keys", len(keys.values)),)
    rows_seen = ("rows of the build side", read.observed.rows if read.observed else 0)
    figures = (rows_seen, *known, (f"{pieces} before", before), ("after", after))
    decisions.append(Decision("learned_filter", text, figures))
    return scan


def _is_cut(scan: BlockScan, target: Target) -> bool:
    return isinstance(target.scan, BlockScan) and scan.keys != target.scan.keys


def _with_bits(scan: BlockScan, key: Expr, keys: KeyValues) -> BlockScan:
    """Return `scan` without rows whose key is not among `keys`, if these are most and not removed yet."""
    column = integer_column(scan, key)
    if keys.bits is None or column is None or scan.blocks.num_rows < _MIN_FILTERED_ROWS:
        return scan
    name = scan.names_by_id[column.column_id]
    if keys.bits.count > _MOST_KEPT * _number_span(scan, name) or (name, keys.bits) in scan.keys:
        return scan
    return dataclasses.replace(scan, keys=(*scan.keys, (name, keys.bits)))


def integer_column(scan: BlockScan, key: Expr) -> ColumnRef | None:
    """Return the scan's integer column with the values of `key`, or None."""
    bare = key.expr if isinstance(key, Cast) else key
    if not isinstance(bare, ColumnRef) or bare.dtype not in INTEGER_TYPES or key.dtype not in INTEGER_TYPES:
        return None
    is_wide = INTEGER_TYPES.index(key.dtype) >= INTEGER_TYPES.index(bare.dtype)
    return bare if is_wide and bare.column_id in scan.names_by_id else None


def _number_span(scan: BlockScan, name: str) -> int:
    """Return the number of integers from the least to the greatest value of a column; 0 if unknown."""
    known = dict(scan.bounds.ranges).get(name)
    return 0 if known is None else known.high - known.low + 1


def _num_pieces(scan: BlockScan | FileScan) -> int:
    return len(scan.blocks.blocks) if isinstance(scan, BlockScan) else len(scan.splits.splits)


def _without_rows(scan: BlockScan | FileScan) -> BlockScan | FileScan:
    if isinstance(scan, FileScan):
        return dataclasses.replace(scan, splits=SplitSet(()))
    return scan.with_blocks(scan.blocks.at(np.arange(0)))


def _pruned(scan: BlockScan, predicate: Expr) -> BlockSet:
    """Return the scan's blocks that may hold a row for `predicate`."""
    blocks = scan.blocks
    if blocks.statistics is None:
        return blocks
    keep = prune(blocks.statistics, pruning_predicate(predicate, scan.names_by_id))
    return blocks.at(np.flatnonzero(keep[blocks.numbers()]))


def _can_filter_rows(key: Expr) -> bool:
    """Whether rows can be filtered by the key: a column, and no float, since NaN and -0.0 compare differently."""
    bare = key.expr if isinstance(key, Cast) else key
    return isinstance(bare, ColumnRef) and key.dtype not in (FLOAT, DOUBLE)


def _with_predicate(scan: BlockScan | FileScan, predicate: Expr) -> BlockScan | FileScan:
    known = conjuncts(scan.predicate)
    added = [term for term in conjuncts(predicate) if term not in known]
    return dataclasses.replace(scan, predicate=conjunction((*known, *added))) if added else scan


# From the top of a probe side to its scans


def targets(plan: PhysicalPlan, key: Expr) -> list[Target]:
    """Return the scans of `plan` that a restriction of `key`, an expression over its output, reaches."""
    found: list[Target] = []

    def note(target: Target) -> BlockScan | FileScan:
        found.append(target)
        return target.scan

    map_targets(plan, key, note)
    return found


def map_targets(
    plan: PhysicalPlan, key: Expr, change: Callable[[Target], BlockScan | FileScan], is_moved: bool = False
) -> PhysicalPlan:
    """Replace each scan from which rows with a given `key` come. No other rows change."""
    match plan:
        case BlockScan() | FileScan():
            return change(Target(plan, key, is_moved)) if column_ids(key) else plan
        case Filter() | SortOperator():
            return _with_child(plan, map_targets(plan.child, key, change, is_moved))
        case Exchange():
            return _with_child(plan, map_targets(plan.child, key, change, True))
        case Project():
            return _with_child(plan, map_targets(plan.child, through_project(plan, key), change, is_moved))
        case Generate() if _is_over(key, plan.child):
            return _with_child(plan, map_targets(plan.child, key, change, is_moved))
        case HashAggregate() if column_ids(key) <= {column.column_id for column in plan.group_columns}:
            items = {item.column_id: item.expr for item in plan.groups if isinstance(item, Alias)}
            return _with_child(plan, map_targets(plan.child, substituted(key, items), change, True))
        case HashJoin() | NestedLoopJoin():
            return _through_join(plan, key, change, is_moved)
        case UnionAll():
            return _through_union(plan, key, change, is_moved)
    return plan


def through_project(plan: Project, key: Expr) -> Expr:
    """Return `key`, an expression over the output of `plan`, over its child's output."""
    return substituted(key, {item.column_id: item.expr for item in plan.items if isinstance(item, Alias)})


def _through_join(
    plan: HashJoin | NestedLoopJoin, key: Expr, change: Callable[[Target], BlockScan | FileScan], is_moved: bool
) -> PhysicalPlan:
    if plan.kind is JoinKind.SINGLE and plan.checks_single:
        return plan
    if plan.kind in _LEFT_PASSES and _is_over(key, plan.left):
        left = map_targets(plan.left, key, change, is_moved)
        return plan if left is plan.left else dataclasses.replace(plan, left=left)
    if plan.kind in _RIGHT_PASSES and _is_over(key, plan.right):
        right = map_targets(plan.right, key, change, is_moved)
        return plan if right is plan.right else dataclasses.replace(plan, right=right)
    return plan


def _through_union(
    plan: UnionAll, key: Expr, change: Callable[[Target], BlockScan | FileScan], is_moved: bool
) -> PhysicalPlan:
    inputs = []
    for child in plan.inputs:
        columns: dict[int, Expr] = {
            column.column_id: source for column, source in zip(plan.columns, child.output, strict=True)
        }
        inputs.append(map_targets(child, substituted(key, columns), change, is_moved))
    changed = any(new is not old for new, old in zip(inputs, plan.inputs, strict=True))
    return dataclasses.replace(plan, inputs=tuple(inputs)) if changed else plan


def _is_over(key: Expr, plan: PhysicalPlan) -> bool:
    return column_ids(key) <= {column.column_id for column in plan.output}


def _with_child(plan: PhysicalPlan, child: PhysicalPlan) -> PhysicalPlan:
    return plan.map_children(lambda _: child)
