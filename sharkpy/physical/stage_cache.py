"""Cache of stages of bound queries that are planned repeatedly, because their tables' rows change.

A stage is cached as a template without rows. Each run fills in the current rows, if they are within the template's
bounds. With `shark.test.stages`, each filled stage is compared with a newly planned one.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from sharkpy.base import settings
from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.column_bounds import ColumnBounds
from sharkpy.physical.first_rows import cut_blocks
from sharkpy.physical.lowering.lower_fragment import lower_fragment
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import (
    BlockScan,
    BlockSet,
    Exchange,
    Expand,
    FileScan,
    GroupingSets,
    HashJoin,
    LimitOperator,
    SplitSet,
    StepOperator,
    TopN,
    ValuesScan,
)
from sharkpy.physical.placement import PlacedPlan, place_query
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.plan_context import FreshIds, PlanContext
from sharkpy.physical.plan_scan import PlannedScan, plan_scan, scanned_bytes
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage import Stage, divide_among_tasks
from sharkpy.physical.stage_program import ResultSink, StageProgram
from sharkpy.physical.statistics_answers import answer_from_statistics, may_be_answered
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.plan.subqueries import QueryTable


@dataclass(slots=True)
class _CachedStage:
    query: weakref.ref[LogicalPlan]
    optimized: weakref.ref[LogicalPlan]
    template: StageTemplate | None = None
    misses: int = 0
    """Number of consecutive times that the template could not be filled, or was missing."""

    @property
    def is_due(self) -> bool:
        """True if another template is worth trying; ever more rarely while none can be filled."""
        return self.misses & (self.misses - 1) == 0


class StageCache:
    """Templates of stages, each cached while its bound query exists. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Hashable], _CachedStage] = {}

    def __len__(self) -> int:
        return len(self._known)

    def plan(
        self, query: LogicalPlan, changes: Hashable, optimized: LogicalPlan, context: PlanContext
    ) -> tuple[PlacedPlan, Stage | None]:
        """Return a bound query's physical plan, and its stage if one is cached.

        `optimized` is its known optimised plan, made under the same `changes` of settings. The stage may have been made
        for other rows, or be valid for other rows too.
        """
        kept = self._of(query, changes, optimized)
        known = kept.template
        filled = None if known is None else known.filled(optimized, context)
        if filled is not None:
            kept.misses = 0
            return _checked(filled, optimized, context)
        plan = plan_physical(optimized, context)
        kept.misses += 1
        if not kept.is_due:
            return plan, None
        made = template_of(optimized, plan, context, known)
        if made is not None and any(scan is query for scan in made.sources):
            # The template would keep the query alive forever.
            made = None
        kept.template = made
        filled = None if made is None else made.filled(optimized, context)
        return (plan, None) if filled is None else _checked(filled, optimized, context)

    def _of(self, query: LogicalPlan, changes: Hashable, optimized: LogicalPlan) -> _CachedStage:
        key = (id(query), changes)
        known = self._known.get(key)
        if known is None or known.query() is not query or known.optimized() is not optimized:
            forget = self._known.pop
            known = _CachedStage(weakref.ref(query, lambda _: forget(key, None)), weakref.ref(optimized))
            self._known[key] = known
        return known


def _checked(filled: FilledStage, optimized: LogicalPlan, context: PlanContext) -> FilledStage:
    if context.conf.value(settings.CHECK_STAGES):
        check_stage(*filled, optimized, context)
    return filled


FilledStage = tuple[PlacedPlan, Stage]
"""Plan, and its only stage."""
TableScan = BlockScan | FileScan


@dataclass(frozen=True, slots=True)
class StageTemplate:
    """Stage of an optimised plan in the driver, without rows.

    1. In the driver, the operators above the scans do not depend on rows. `program` was made from `root`, whose scans
       have bounds and no rows, so it is valid for all rows within the bounds.
    2. It holds no split, block or table version.
    """

    root: PhysicalPlan
    program: StageProgram
    leaves: tuple[tuple[str, PhysicalPlan], ...]
    """Scans of `root` for the program's relations, by name."""
    sources: tuple[Scan, ...]
    """Logical scan of each scan of `root`, in the order of `scans_of`."""
    kernels: tuple[Decision, ...]
    may_be_answered: bool
    """True if statistics may answer a part of the plan."""

    def filled(self, optimized: LogicalPlan, context: PlanContext) -> FilledStage | None:
        """Return the stage with the current rows, or None if `optimized` must be planned again for them."""
        if self.may_be_answered and answer_from_statistics(optimized, context) is not optimized:
            return None
        planned = {id(scan): plan_scan(scan, context, FreshIds(scan)) for scan in _each_once(self.sources)}
        placement = place_query(optimized, sum(map(scanned_bytes, planned.values())), context)
        if not placement.is_driver:
            return None
        empty, filled = scans_of(self.root), dict[int, TableScan]()
        for mine, source in zip(empty, self.sources, strict=True):
            scan = _filled(mine, planned[id(source)])
            if scan is None:
                return None
            filled[id(mine)] = scan
        root = _with_scans(self.root, filled, is_cut=context.conf.value(settings.PRUNING))
        scans = dict(zip(map(id, empty), scans_of(root), strict=True))
        leaves = tuple((relation, scans[id(leaf)]) for relation, leaf in self.leaves)
        tasks = divide_among_tasks(dict(leaves), 1, context.default_parallelism)
        about = Stage(self.program, tasks, root.label, placement=placement, fragment=root, leaves=leaves)
        stage = replace(about, kernels=self.kernels)
        return PlacedPlan(root, placement), stage


def template_of(
    optimized: LogicalPlan, plan: PlacedPlan, context: PlanContext, known: StageTemplate | None
) -> StageTemplate | None:
    """Return the template of the plan's only stage, or None if other rows may need another plan.

    Its bounds are wider than the bounds of the plan's rows, and include the bounds of the `known` template.
    """
    sources = _sources(optimized, plan)
    is_asked = may_be_answered(optimized)
    if not sources or (is_asked and answer_from_statistics(optimized, context) is not optimized):
        return None
    scans = scans_of(plan.root)
    before = [_bounds(scan) for scan in scans_of(known.root)] if known is not None else [None] * len(scans)
    empty = {id(scan): _emptied(scan, held) for scan, held in zip(scans, before, strict=True)}
    root = _with_scans(plan.root, empty)
    lowered = lower_fragment(root)
    program = lowered.program(root.schema, ResultSink())
    return StageTemplate(root, program, lowered.leaves, sources, lowered.kernels, is_asked)


def scans_of(plan: PhysicalPlan) -> list[TableScan]:
    """Return the scans of a plan, in the order of its operators."""
    return [node for node in plan.walk() if isinstance(node, (BlockScan, FileScan))]


def _each_once(scans: Sequence[Scan]) -> Iterator[Scan]:
    return iter({id(scan): scan for scan in scans}.values())


def _with_scans(plan: PhysicalPlan, scans: dict[int, TableScan], is_cut: bool = False) -> PhysicalPlan:
    """Replace scans by id(); with `is_cut`, blocks that no Limit needs are removed."""

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        match node:
            case BlockScan() | FileScan():
                return scans[id(node)]
            case TopN(child, keys, count, offset) if is_cut:
                return node.with_children(cut_blocks(child, keys, count + offset))
            case LimitOperator(child, count, offset) if is_cut and count is not None:
                return node.with_children(cut_blocks(child, (), count + offset))
        return node

    return plan.transform_up(visit)


# Conditions for a template


def _sources(optimized: LogicalPlan, plan: PlacedPlan) -> tuple[Scan, ...]:
    """Return the logical scan of each scan of a plan in the driver.

    Return an empty tuple if rows affect more than the scans.
    """
    waiting = [node for node in optimized.walk() if isinstance(node, Scan)]
    if not plan.placement.is_driver or not _have_names(waiting) or not _is_kept(plan.root):
        return ()
    found: list[Scan] = []
    for scan in scans_of(plan.root):
        place = next((place for place, one in enumerate(waiting) if _carries_out(scan, one)), None)
        if place is None:
            return ()
        found.append(waiting.pop(place))
    return () if waiting else tuple(found)


def _have_names(scans: Sequence[Scan]) -> bool:
    """True if scans of equally named tables read the same rows: without rows, only the names distinguish scans."""
    tables = {scan.table.qualified_name: scan for scan in scans}
    named = ((scan, tables[scan.table.qualified_name]) for scan in scans)
    return all(one.table is other.table and one.is_of_files == other.is_of_files for one, other in named)


def _is_kept(root: PhysicalPlan) -> bool:
    """False if rows may replace an operator, or an operator cannot be in a cached stage."""
    for node in root.walk():
        match node:
            case ValuesScan(reason=reason) if reason:
                # A table without rows.
                return False
            case Expand() | GroupingSets() | StepOperator() | Exchange():
                # The choice of how rows are repeated depends on statistics; steps and exchanges need several programs.
                return False
            case _ if not node.children and not isinstance(node, (BlockScan, FileScan, ValuesScan)):
                return False
    return True


def _carries_out(leaf: TableScan, scan: Scan) -> bool:
    """True if the leaf reads all rows of a scan, not some from blocks and others from files."""
    table = scan.table
    is_whole = leaf.is_single and scan.sample is None and table.buckets is None and not isinstance(table, QueryTable)
    is_same = leaf.table_name == table.qualified_name and leaf.predicate is scan.predicate
    return is_whole and is_same and (leaf.columns, leaf.names) == (scan.columns, scan.names)


# Removing and filling in rows


def _bounds(scan: TableScan) -> ColumnBounds | None:
    return scan.bounds if isinstance(scan, BlockScan) else None


def _emptied(scan: TableScan, held: ColumnBounds | None) -> TableScan:
    """Return the scan without rows, with wider bounds that include `held`."""
    if isinstance(scan, FileScan):
        return replace(scan, splits=SplitSet(()), partitions=None)
    bounds = scan.bounds.widened()
    none = BlockSet(scan.blocks.table_id, 0, 0, 0, ())
    return replace(scan, blocks=none, bounds=bounds if held is None else bounds.joined(held), partitions=None)


def _filled(empty: TableScan, planned: PlannedScan) -> TableScan | None:
    """Return the scan with the `planned` rows, or None if its program may not fit them."""
    match planned:
        case ValuesScan():
            return empty
        case FileScan() if isinstance(empty, FileScan) and planned.is_plain == empty.is_plain:
            return replace(empty, splits=planned.splits, partitions=planned.partitions)
        case BlockScan() if isinstance(empty, BlockScan) and planned.table_schema == empty.table_schema:
            is_held = empty.bounds.holds(planned.bounds)
            return replace(empty, blocks=planned.blocks, partitions=planned.partitions) if is_held else None
    return None


# Check of cached stages, for tests


def check_stage(plan: PlacedPlan, stage: Stage, optimized: LogicalPlan, context: PlanContext) -> None:
    """Raise InternalError if planning `optimized` again gives another plan or stage.

    The stages are compared under the cached bounds.
    """
    if not all(map(_num_pieces, scans_of(plan.root))):
        # A new plan would not have that scan.
        return
    anew = plan_physical(optimized, context)
    if anew != plan:
        raise InternalError(f"a kept plan is not that of its rows:\n{plan.root.explain()}\n{anew.root.explain()}")
    bounded = _with_bounds_of(anew.root, plan.root)
    expected = lower_stage(bounded, ResultSink(), context.default_parallelism, placement=anew.placement)
    if expected != stage:
        raise InternalError(f"a kept stage is not that of its plan:\n{stage.program.sql}\n{expected.program.sql}")


def _num_pieces(scan: BlockScan | FileScan) -> int:
    return len(scan.blocks.blocks) if isinstance(scan, BlockScan) else len(scan.splits.splits)


def _with_bounds_of(anew: PhysicalPlan, kept: PhysicalPlan) -> PhysicalPlan:
    """Return the new plan with the bounds of the cached one's scans and the estimates of its joins.

    It is otherwise equal.
    """
    pairs = {id(mine): theirs for mine, theirs in zip(scans_of(anew), scans_of(kept), strict=True)}
    repeats = {(join.left_keys, join.right_keys): join.repeats for join in kept.walk() if isinstance(join, HashJoin)}

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, HashJoin):
            return replace(node, repeats=repeats[node.left_keys, node.right_keys])
        theirs = pairs.get(id(node))
        if not isinstance(node, BlockScan) or not isinstance(theirs, BlockScan):
            return node
        if not theirs.bounds.holds(node.bounds):
            raise InternalError(f"rows are not within kept bounds: {node.label}: {node.bounds}, {theirs.bounds}")
        return replace(node, bounds=theirs.bounds)

    return anew.transform_up(visit)
