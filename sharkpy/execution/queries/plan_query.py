"""A bound query optimised and planned over the tables as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.optimizer.optimize import optimize
from sharkpy.physical.context import PlanContext
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.plan.query_table import QueryTable
from sharkpy.sql.deep_stack import with_deep_stack

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext


def plan_query(
    session: SharkContext, logical: LogicalPlan, placement: str | None = None, snapshot: QuerySnapshot | None = None
) -> tuple[LogicalPlan, PhysicalPlan]:
    """The optimised logical plan and the physical plan made of it."""
    snapshot = QuerySnapshot(session) if snapshot is None else snapshot
    tables = (node.table for node in logical.walk() if isinstance(node, Scan))
    session.table_cache.load_all(table for table in tables if not isinstance(table, QueryTable))
    context = PlanContext(
        session.conf,
        snapshot.scan_source,
        snapshot,
        default_parallelism=session.engine.parallelism,
        placement=placement,
        is_local=session.engine.is_local,
        file_source=snapshot.file_source,
    )

    def plan() -> tuple[LogicalPlan, PhysicalPlan]:
        optimized = optimize(logical, snapshot, session.conf)
        return optimized, plan_physical(optimized, context)

    return with_deep_stack(plan)
