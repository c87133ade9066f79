"""Binding and planning of a query over the tables of a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.columnar.machine_loading import is_loaded
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.statement import planning
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.optimizer.decisions import Place
from sharkpy.optimizer.optimize import Trace, optimize
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan_context import PlanContext
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage import Stage
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.plan.subqueries import QueryTable, read_tables
from sharkpy.sql.grammar.variables import substitute_variables
from sharkpy.sql.nesting import within_stack

if TYPE_CHECKING:
    from sharkpy.plan.commands import Command


def substituted(session: EngineSession, text: str) -> str:
    """Replace the variables in `text` by their values; remote users cannot read environment variables.

    Unpaired surrogates become question marks, as in Java.
    """
    found = substitute_variables(text, session.conf, of_machine=not session.restrictions.guards_settings)
    return found if found.isascii() else found.encode("utf-8", "replace").decode()


def bind_text(session: EngineSession, text: str) -> LogicalPlan | Command:
    """Bind `text` to a query or a command, after substituting its variables."""
    from sharkpy.sql.binder import bind

    session.check_open()
    return bind(substituted(session, text), session.catalog, session.conf, session.current_database)


def plan_query(
    session: EngineSession, logical: LogicalPlan, snapshot: QuerySnapshot | None = None, placement: Place | None = None
) -> PlacedPlan:
    """Return a query's physical plan over the current tables, or over `snapshot`."""
    return plan_steps(session, logical, snapshot, placement)[1]


def plan_steps(
    session: EngineSession, logical: LogicalPlan, snapshot: QuerySnapshot | None = None, placement: Place | None = None
) -> tuple[LogicalPlan, PlacedPlan]:
    """Return a query's optimised logical plan and its physical plan."""
    _load_tables(session, logical)

    def plan() -> tuple[LogicalPlan, PlacedPlan]:
        optimized, _ = _optimized(session, logical, context)
        return optimized, plan_physical(optimized, context)

    with planning(current_cancellation()):
        seen = session.snapshot() if snapshot is None else snapshot
        context = _planning_context(session, logical, seen, placement)
        return within_stack(plan)


def plan_stage(
    session: EngineSession, logical: LogicalPlan, snapshot: QuerySnapshot
) -> tuple[PlacedPlan, Stage | None]:
    """Return a query's physical plan over `snapshot`, and its stage if one is cached.

    A stage is cached for a bound query that is planned again because its tables' rows have changed.
    """
    _load_tables(session, logical)

    def plan() -> tuple[PlacedPlan, Stage | None]:
        optimized, was_known = _optimized(session, logical, context)
        if not was_known:
            return plan_physical(optimized, context), None
        changes = (session.conf.plan_changes(), is_loaded(begins=False))
        return session.engine.stage_cache.plan(logical, changes, optimized, context)

    with planning(current_cancellation()):
        context = _planning_context(session, logical, snapshot)
        return within_stack(plan)


def _planning_context(
    session: EngineSession, logical: LogicalPlan, snapshot: QuerySnapshot, placement: Place | None = None
) -> PlanContext:
    """Return the planner's context over the query's tables in `snapshot`."""
    snapshot.capture(read_tables(logical))
    return PlanContext(
        session.conf,
        snapshot.scan_source,
        snapshot,
        default_parallelism=session.engine.parallelism,
        placement=placement,
        is_local=session.engine.is_local,
        file_source=snapshot.file_source,
    )


def _optimized(session: EngineSession, logical: LogicalPlan, context: PlanContext) -> tuple[LogicalPlan, bool]:
    """Return a query's optimised plan, and whether it was cached."""
    known, changes, statistics = session.engine.optimized_plan_cache, session.conf.plan_changes(), context.statistics
    found = known.find(logical, changes, statistics)
    if found is not None:
        return found, True
    optimized = optimize(logical, statistics, session.conf)
    known.keep(logical, changes, optimized, statistics)
    return optimized, False


def trace_rules(session: EngineSession, logical: LogicalPlan) -> Trace:
    """Trace the changes that each optimizer rule makes to a query, as `plan_query` would plan it."""
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
