"""Lowering of fragments of a physical plan to stages: the program, and the inputs of each task."""

from __future__ import annotations

from sharkpy.optimizer.replan.place_stage import Placement
from sharkpy.physical.constant_rows import constant_rows
from sharkpy.physical.distribution import BroadcastPartitioning, Single, SinglePartitioning
from sharkpy.physical.lowering.lower_fragment import lower_fragment
from sharkpy.physical.operators import BlockScan, Exchange, ExchangeRead, FileScan, GivenScan
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.sinks import ResultSink, StageSink
from sharkpy.physical.stage import AS_TASKS, Stage
from sharkpy.physical.stage_program import NO_INPUT, StageProgram
from sharkpy.physical.task_inputs import deal


def lower_stage(
    fragment: PhysicalPlan,
    sink: StageSink,
    parallelism: int = 2,
    num_tasks: int | None = None,
    placement: Placement = AS_TASKS,
) -> Stage:
    """Return the stage of a fragment without Exchanges, with `num_tasks` or as many as it needs."""
    lowered = lower_fragment(fragment)
    program = StageProgram(lowered.sql, lowered.inputs, fragment.schema, sink, lowered.functions)
    scans = {name: leaf for name, leaf in lowered.leaves if isinstance(leaf, (BlockScan, FileScan))}
    tasks = deal(scans, num_tasks or _num_buckets(fragment), parallelism)
    reads = [node for node in fragment.walk() if isinstance(node, ExchangeRead)]
    singles = frozenset(read.exchange_id for read in reads if isinstance(read.partitioning, SinglePartitioning))
    dealt = tuple((read.exchange_id, read.dealt) for read in reads if read.dealt)
    return Stage(program, tasks, fragment.label, singles, dealt, placement, fragment, lowered.leaves)


def only_stage(plan: PlacedPlan, parallelism: int) -> Stage | None:
    """Return the only stage of a plan without exchanges, or None if it has any."""
    if any(isinstance(node, Exchange) for node in plan.root.walk()):
        return None
    return result_stage(plan.root, parallelism, plan.placement)


def result_stage(fragment: PhysicalPlan, parallelism: int, placement: Placement) -> Stage:
    """Return the stage that gives a query's rows to its reader.

    A few literals come from the driver without a query.
    """
    rows = constant_rows(fragment) if placement.is_driver else None
    if rows is None:
        return lower_stage(fragment, ResultSink(), parallelism, placement=placement)
    program = StageProgram("", (), fragment.schema, ResultSink())
    return Stage(program, (NO_INPUT,), fragment.label, placement=placement, fragment=fragment, rows=rows)


def _num_buckets(fragment: PhysicalPlan) -> int | None:
    """Return the number of tasks that the exchanges feeding a fragment require, or None if only its scans decide."""
    if isinstance(fragment.distribution, Single):
        return 1
    reads = [node for node in fragment.walk() if isinstance(node, ExchangeRead)]
    fed = [read.num_tasks for read in reads if not isinstance(read.partitioning, BroadcastPartitioning)]
    scans = [node for node in fragment.walk() if isinstance(node, (BlockScan, FileScan))]
    given = [node.rows.num_parts for node in fragment.walk() if isinstance(node, GivenScan)]
    if not fed:
        return max(given) if given else None if scans else 1
    by_bucket = [scan.buckets.num_buckets for scan in scans if isinstance(scan, BlockScan) and scan.buckets]
    return max(fed + by_bucket)
