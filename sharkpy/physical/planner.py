"""Planning of logical plans: operators are chosen, and Exchanges are added only if rows must move.

Each kind of operator with choices has a file: joins, aggregates, grouping sets and scans. `planned_decisions` shows the
choices in EXPLAIN ANALYZE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sharkpy.base import settings
from sharkpy.base.errors import ResourceError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.optimizer.buckets import choose_buckets
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical import enforce, operators
from sharkpy.physical.co_partition import release_buckets
from sharkpy.physical.estimate import estimated_rows
from sharkpy.physical.first_rows import cut_blocks
from sharkpy.physical.operators import (
    BlockScan,
    Exchange,
    FileScan,
    GivenScan,
    HashAggregate,
    HashJoin,
    LimitOperator,
    NestedLoopJoin,
    Project,
    SortOperator,
    TopN,
    UnionAll,
    ValuesScan,
)
from sharkpy.physical.placement import PlacedPlan, place_query, placed
from sharkpy.physical.plan import Broadcast, HashPartitioning, PhysicalPlan, RangePartitioning, Single
from sharkpy.physical.plan_aggregate import plan_aggregate
from sharkpy.physical.plan_context import FreshIds, PlanContext
from sharkpy.physical.plan_grouping_sets import find_grouping_sets, plan_grouping_sets
from sharkpy.physical.plan_join import JoinPlanner
from sharkpy.physical.plan_scan import PlannedScan, plan_scan, scanned_bytes
from sharkpy.physical.plan_step import has_step, plan_step, step_input
from sharkpy.physical.statistics_answers import answer_from_statistics
from sharkpy.plan import logical
from sharkpy.plan.expr import Alias, ColumnRef, Expr, SortKey, WindowCall
from sharkpy.plan.logical import LogicalPlan

MOST_INPUTS = 5_000
"""Limit on the queries of a UNION. DuckDB's planning time grows with the square of their number."""
_SINGLE_SCAN_BYTES = 32 << 20
"""Encoded bytes that one task with one core may read even if several could."""
_ALL_CORES_BYTES = 256 << 20
"""Encoded bytes of a query's scans that one task with all cores of the machine may read."""
_ONE_CORE_SHARE = 10
"""Factor by which a task with one core may read fewer rows: several tasks would have as many cores."""
_BUCKET_BYTES = 64 << 20
"""Encoded bytes of a query's scans per bucket of an exchange."""


def plan_physical(plan: LogicalPlan, context: PlanContext) -> PlacedPlan:
    """Return the physical plan of an optimised logical plan. In the driver it has no Exchange."""
    return Planner(plan, context).plan()


class Planner:
    """Planner of one statement: scans first, then the placement, then the operators above."""

    def __init__(self, plan: LogicalPlan, context: PlanContext) -> None:
        self._context = context
        self._root = answer_from_statistics(plan, context)
        self._ids = FreshIds(plan)
        scans = [node for node in self._root.walk() if isinstance(node, logical.Scan)]
        self._scans = {id(node): plan_scan(node, context, self._ids) for node in scans}
        self._scanned_bytes = sum(map(scanned_bytes, self._scans.values()))
        self._placement = place_query(self._root, self._scanned_bytes, context)
        self._is_driver = self._placement.is_driver
        self._is_one_task = self._runs_in_one_task()
        self._num_buckets = choose_buckets(
            context.default_parallelism,
            self._scanned_bytes,
            _BUCKET_BYTES,
            context.conf.value(settings.EXCHANGE_BUCKETS),
        ).num_buckets
        self._joins = JoinPlanner(context, self._root, self._num_buckets, self._ids)

    def plan(self) -> PlacedPlan:
        top = self._root.child if isinstance(self._root, logical.Sort) else self._root
        root = release_buckets(self._plan(self._root), is_free=not isinstance(top, logical.Distribute))
        return placed(root, self._placement)

    def _plan(self, node: LogicalPlan) -> PhysicalPlan:
        match node:
            case logical.Scan():
                return self._scan(self._scans[id(node)])
            case logical.Values() | logical.Given():
                return _rows(node)
            case logical.Project(child, items):
                return Project(self._plan(child), items)
            case logical.Filter(child, predicate):
                return operators.Filter(self._plan(child), predicate)
            case logical.Join(left, right):
                return self._joins.plan(node, self._plan(left), self._plan(right))
            case logical.Aggregate():
                return self._aggregate(node)
            case logical.Expand(child, columns, projections):
                return operators.Expand(self._plan(child), columns, projections)
            case logical.Window(child, windows):
                return self._window(self._plan(child), windows)
            case logical.Generate(child, generator, columns, outer):
                return operators.Generate(self._plan(child), generator, columns, outer)
            case logical.Step(child):
                return plan_step(node, self._plan(step_input(child)), self._ids)
            case logical.Sort() | logical.Distribute():
                return self._arranged(node)
            case logical.Limit(child, count, offset):
                return self._limit(child, count, offset)
            case logical.Union(inputs, columns):
                return self._union(tuple(map(self._plan, inputs)), columns)
        raise UnsupportedError(f"{type(node).__name__} has no physical operator")

    def _arranged(self, node: logical.Sort | logical.Distribute) -> PhysicalPlan:
        child = self._plan(node.child)
        match node:
            case logical.Distribute(_, keys, num_buckets):
                return self._hashed(child, keys, num_buckets)
            case logical.Sort(_, keys, is_global):
                return self._sort(child, keys) if is_global else SortOperator(child, keys)

    def _scan(self, scan: PlannedScan) -> PhysicalPlan:
        if isinstance(scan, UnionAll):
            # Both parts are divided among tasks, or both are in one: otherwise each task's union would repeat one part.
            parts = [part for part in scan.inputs if isinstance(part, (BlockScan, FileScan))]
            return replace(scan, inputs=tuple(replace(part, is_single=self._is_driver) for part in parts))
        if not isinstance(scan, ValuesScan) and (self._is_driver or self._reads_alone(scan)):
            return replace(scan, is_single=True)
        return scan

    def _runs_in_one_task(self) -> bool:
        """True if a task with all cores of this machine runs the query faster than stages with exchanges.

        Programs that ask for RDD tasks get several, and so do queries above the driver's limit.
        """
        context, scans = self._context, list(self._scans.values())
        is_free = context.is_local and context.placement is None and self._placement.is_fixed
        if not is_free or not all(isinstance(scan, BlockScan) for scan in scans):
            return False
        rows = sum(scan.blocks.num_rows for scan in scans if isinstance(scan, BlockScan))
        return rows <= self._single_task_rows and self._scanned_bytes <= _ALL_CORES_BYTES

    @property
    def _single_task_rows(self) -> int:
        values = self._context.conf
        return values.value(settings.SINGLE_TASK_ROWS) if values.value(settings.SINGLE_TASK_BYTES) else 0

    def _reads_alone(self, scan: BlockScan | FileScan) -> bool:
        """True if more tasks would have no work, or an exchange would cost more than they save."""
        limit = self._single_task_rows
        if isinstance(scan, FileScan):
            return limit > 0 and len(scan.splits.splits) == 1
        if self._is_one_task or scan.blocks.num_kept == 1 or limit <= 0:
            return limit > 0
        cores = max(self._context.default_parallelism, 1)
        is_short = scan.blocks.num_rows * cores <= limit // _ONE_CORE_SHARE
        return is_short and scanned_bytes(scan) <= _SINGLE_SCAN_BYTES

    def _aggregate(self, node: logical.Aggregate) -> PhysicalPlan:
        sets = find_grouping_sets(node, self._context)
        if sets is None:
            return plan_aggregate(node, self._plan(node.child), self._num_buckets, self._context, self._ids)
        return plan_grouping_sets(sets, self._plan(sets.expand.child), self._num_buckets, self._ids)

    def _hashed(self, child: PhysicalPlan, exprs: tuple[Expr, ...], num_buckets: int | None = None) -> PhysicalPlan:
        """Bring rows with equal `exprs` together, with the child's columns."""
        keyed, keys = enforce.with_columns(child, exprs, self._ids)
        if enforce.is_clustered(child, keys):
            return child
        if not keys:
            return enforce.single(child, self._ids)
        moved = enforce.hashed(keyed, keys, num_buckets or self._num_buckets, self._ids)
        return moved if moved.output == child.output else Project(moved, child.output)

    def _window(self, child: PhysicalPlan, windows: tuple[Alias, ...]) -> PhysicalPlan:
        """Plan windows; windows with equal PARTITION BY share an operator and an exchange."""
        output = child.output + tuple(window.ref for window in windows)
        groups: dict[tuple[Expr, ...], list[Alias]] = {}
        for window in windows:
            if not isinstance(window.expr, WindowCall):
                raise UnsupportedError(f"{window} is not a window function")
            groups.setdefault(window.expr.partition_by, []).append(window)
        plan = child
        for partition_by, members in groups.items():
            plan = operators.WindowOperator(self._hashed(plan, partition_by), tuple(members))
        return plan if plan.output == output else Project(plan, output)

    def _sort(self, child: PhysicalPlan, keys: tuple[SortKey, ...]) -> PhysicalPlan:
        """Sort all rows: task i gets the i-th range."""
        if isinstance(child.distribution, Single):
            return SortOperator(child, keys)
        if self._is_small(child) or has_step(child):
            return SortOperator(enforce.single(child, self._ids), keys)
        keyed, columns = enforce.with_columns(child, tuple(key.expr for key in keys), self._ids)
        bound = tuple(
            SortKey(column, key.ascending, key.nulls_first) for column, key in zip(columns, keys, strict=True)
        )
        moved = enforce.range_partitioned(keyed, bound, self._num_buckets, self._ids)
        ordered = SortOperator(moved, bound)
        return ordered if ordered.output == child.output else Project(ordered, child.output)

    def _is_small(self, plan: PhysicalPlan) -> bool:
        """True if one task sorts the rows faster than several, which first sample and exchange them."""
        rows, limit = estimated_rows(plan), self._context.conf.value(settings.SINGLE_SORT_ROWS)
        aggregated = any(isinstance(node, HashAggregate) for node in plan.walk())
        return rows <= limit or (aggregated and rows <= 10 * limit)

    def _limit(self, node: LogicalPlan, count: int | None, offset: int) -> PhysicalPlan:
        match node:
            case logical.Sort(child, keys, True) if count is not None:
                return self._top_n(self._plan(child), keys, count, offset)
            case logical.Project(logical.Sort(child, keys, True), items) if count is not None:
                return Project(self._top_n(self._plan(child), keys, count, offset), items)
        child_plan = self._plan(node)
        if count is not None:
            child_plan = self._cut(child_plan, (), count + offset)
        if isinstance(child_plan.distribution, Single):
            return LimitOperator(child_plan, count, offset)
        if isinstance(node, logical.Sort) or count is None:
            return LimitOperator(self._single_in_order(node, child_plan), count, offset)
        local = LimitOperator(child_plan, count + offset)
        return LimitOperator(enforce.single(local, self._ids), count, offset)

    def _single_in_order(self, node: LogicalPlan, child: PhysicalPlan) -> PhysicalPlan:
        """Bring all rows to one task, sorted again if `node` sorts, as an exchange keeps no order."""
        moved = enforce.single(child, self._ids)
        return SortOperator(moved, node.keys) if isinstance(node, logical.Sort) else moved

    def _cut(self, child: PhysicalPlan, keys: tuple[SortKey, ...], count: int) -> PhysicalPlan:
        """Remove blocks that cannot hold the first rows of `child`. A single remaining block is read by one task."""
        cut = cut_blocks(child, keys, count) if self._context.conf.value(settings.PRUNING) else child
        if cut is child:
            return child
        alone = cut.transform_up(lambda node: self._scan(node) if isinstance(node, BlockScan) else node)
        return alone if isinstance(alone.distribution, Single) else cut

    def _top_n(self, child: PhysicalPlan, keys: tuple[SortKey, ...], count: int, offset: int) -> PhysicalPlan:
        child = self._cut(child, keys, count + offset)
        if isinstance(child.distribution, Single):
            return TopN(child, keys, count, offset)
        return TopN(enforce.single(TopN(child, keys, count + offset), self._ids), keys, count, offset)

    def _union(self, inputs: tuple[PhysicalPlan, ...], columns: tuple[ColumnRef, ...]) -> PhysicalPlan:
        """Unite inputs. An input of one task is hashed first if another has several, or each task would repeat it."""
        if len(inputs) > MOST_INPUTS:
            message = f"UNION ALL of {len(inputs):,} queries, more than {MOST_INPUTS:,} that are not constants"
            raise ResourceError(message, hint="write it as several statements", sqlstate="54000")
        if all(isinstance(child.distribution, Single) for child in inputs):
            return UnionAll(inputs, columns)
        spread = tuple(
            enforce.hashed(child, child.output, self._num_buckets, self._ids)
            if isinstance(child.distribution, Single) and child.output
            else child
            for child in inputs
        )
        return UnionAll(spread, columns)


def _rows(node: logical.Values | logical.Given) -> PhysicalPlan:
    """Return the plan of the statement's own rows."""
    return (
        ValuesScan(node.columns, node.rows) if isinstance(node, logical.Values) else GivenScan(node.columns, node.rows)
    )


# Decisions of the planner, for display


def planned_decisions(plan: PlacedPlan, values: Conf, parallelism: int) -> list[Decision]:
    """Return the decisions made before the plan runs."""
    nodes = list(plan.root.walk())
    size = sum(scanned_bytes(node) for node in nodes if isinstance(node, (BlockScan, FileScan)))
    exchanges = [node for node in nodes if isinstance(node, Exchange)]
    text = f"the query runs as {plan.place_label}: {plan.placement.reason}"
    placed = Decision("placement", text, plan.placement.figures, True)
    return [placed, *_buckets(exchanges, size, parallelism), *_joins(nodes, values)]


def _buckets(exchanges: list[Exchange], size: int, parallelism: int) -> Iterator[Decision]:
    several = [one for one in exchanges if isinstance(one.partitioning, (HashPartitioning, RangePartitioning))]
    for count in sorted({one.partitioning.num_buckets for one in several}):
        names = ", ".join(str(one.exchange_id) for one in several if one.partitioning.num_buckets == count)
        figures = (("bytes scanned", size), ("cores", parallelism))
        yield Decision("choose_buckets", f"exchange {names} has {count} buckets", figures, True)


def _joins(nodes: list[PhysicalPlan], values: Conf) -> Iterator[Decision]:
    limit = values.value(settings.BROADCAST_BYTES)
    for node in nodes:
        if not isinstance(node, (HashJoin, NestedLoopJoin)):
            continue
        sides = {"left": node.left, "right": node.right}
        whole = [name for name, side in sides.items() if isinstance(side.distribution, Broadcast)]
        moved = [side for side in sides.values() if isinstance(side, Exchange)]
        if not whole and not moved:
            continue
        how = f"reads its {whole[0]} side whole in every task" if whole else "moves its sides by hash"
        known = (
            (f"{name} bytes estimated", side.estimated_bytes)
            for name, side in sides.items()
            if isinstance(side, Exchange) and side.estimated_bytes is not None
        )
        yield Decision("plan_join", f"{node.label}: {how}", (*known, ("limit", limit)), True)
