"""Planning of a bound query: optimised and planned over the tables of a snapshot."""

from __future__ import annotations

from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.optimizer.optimize import optimize
from sharkpy.optimizer.replan.place_stage import Place
from sharkpy.optimizer.trace import Trace
from sharkpy.physical.context import PlanContext
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.plan.query_table import QueryTable
from sharkpy.plan.read_tables import read_tables
from sharkpy.sql.nesting import within_stack


def plan_query(
    session: EngineSession, logical: LogicalPlan, snapshot: QuerySnapshot | None = None, placement: Place | None = None
) -> PlacedPlan:
    """Physical plan of a query over the tables as they are now, or in `snapshot`."""
    return plan_steps(session, logical, snapshot, placement)[1]


def plan_steps(
    session: EngineSession, logical: LogicalPlan, snapshot: QuerySnapshot | None = None, placement: Place | None = None
) -> tuple[LogicalPlan, PlacedPlan]:
    """Optimised logical plan of a query, and its physical plan."""
    seen = session.snapshot() if snapshot is None else snapshot
    _load_tables(session, logical)
    seen.see(read_tables(logical))
    context = PlanContext(
        session.conf,
        seen.scan_source,
        seen,
        default_parallelism=session.engine.parallelism,
        placement=placement,
        is_local=session.engine.is_local,
        file_source=seen.file_source,
    )

    known, settings = session.engine.optimized_plans, session.conf.changes()

    def plan() -> tuple[LogicalPlan, PlacedPlan]:
        optimized = known.find(logical, settings, seen)
        if optimized is None:
            optimized = optimize(logical, seen, session.conf)
            known.keep(logical, settings, optimized, seen)
        return optimized, plan_physical(optimized, context)

    return within_stack(plan)


def trace_rules(session: EngineSession, logical: LogicalPlan) -> Trace:
    """Changes that each rule of the optimizer makes to a query on its way to the plan of `plan_query`."""
    snapshot = session.snapshot()
    _load_tables(session, logical)

    def trace() -> Trace:
        made = Trace()
        optimize(logical, snapshot, session.conf, (made,))
        return made

    return within_stack(trace)


def _load_tables(session: EngineSession, logical: LogicalPlan) -> None:
    tables = (node.table for node in logical.walk() if isinstance(node, Scan))
    session.table_cache.load_all(table for table in tables if not isinstance(table, QueryTable))
