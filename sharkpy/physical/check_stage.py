"""Check of cached stages, for tests: they must equal the stages of newly made plans."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base.errors import InternalError
from sharkpy.physical.context import PlanContext
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import BlockScan, FileScan
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.sinks import ResultSink
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_template import scans_of
from sharkpy.plan.logical import LogicalPlan


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
    """Return the new plan with the bounds of the cached one's scans, which is otherwise equal."""
    pairs = {id(mine): theirs for mine, theirs in zip(scans_of(anew), scans_of(kept), strict=True)}

    def visit(node: PhysicalPlan) -> PhysicalPlan:
        theirs = pairs.get(id(node))
        if not isinstance(node, BlockScan) or not isinstance(theirs, BlockScan):
            return node
        if not theirs.bounds.holds(node.bounds):
            raise InternalError(f"rows are not within kept bounds: {node.label}: {node.bounds}, {theirs.bounds}")
        return replace(node, bounds=theirs.bounds)

    return anew.transform_up(visit)
