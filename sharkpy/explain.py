"""EXPLAIN: the physical plan; EXTENDED: all steps and the query of each stage; ANALYZE: what running it showed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sharkpy import conf as settings
from sharkpy.commands import Command, Explain
from sharkpy.execution.commands.result import CommandResult, text_rows
from sharkpy.explain_tree import format_seconds, run_tree
from sharkpy.logical import LogicalPlan
from sharkpy.physical.distribution import Single
from sharkpy.physical.operators import Exchange, ExchangeRead
from sharkpy.physical.stage import ResultSink
from sharkpy.physical.stages import lower_stage, next_exchange, read_of, replace_exchange

if TYPE_CHECKING:
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.session import SharkContext


def explain(command: Explain, context: SharkContext) -> CommandResult:
    """One column, `plan`, a line a row."""
    lines: list[str] = []
    statement = command.statement
    if isinstance(statement, Command):
        lines.append(_title(statement))
    plan = statement if isinstance(statement, LogicalPlan) else getattr(statement, "query", None)
    if plan is not None:
        lines += _query_lines(command, plan, context)
    elif command.analyze:
        lines += _command_run(statement, context)
    return text_rows(("plan",), [(line,) for line in lines])


def _title(command: Command) -> str:
    table = getattr(command, "table", None)
    name = getattr(table, "name", None) or getattr(command, "name", "")
    return f"== {type(command).__name__} {name}".rstrip() + " =="


def _query_lines(command: Explain, plan: LogicalPlan, context: SharkContext) -> Iterator[str]:
    if command.extended:
        yield from ("== Bound plan ==", *plan.explain().splitlines(), "")
    started = time.perf_counter()
    optimized, physical = context.plan_steps(plan)
    planning = time.perf_counter() - started
    if command.extended:
        yield from ("== Logical plan ==", *optimized.explain().splitlines(), "")
    if command.extended or not command.analyze:
        yield f"== Physical plan: {_placement(physical, context)} =="
        yield from physical.explain().splitlines()
    if command.extended:
        yield from _stage_queries(physical, context)
    if command.analyze:
        if command.extended:
            yield ""
        if isinstance(command.statement, Command):
            yield from _command_run(command.statement, context)
        else:
            yield from _query_run(command.statement, physical, planning, context)


def _placement(physical: PhysicalPlan, context: SharkContext) -> str:
    exchanges = sum(isinstance(node, Exchange) for node in physical.walk())
    allowed = context.conf.value(settings.DRIVER_PLACEMENT)
    if allowed and not exchanges and isinstance(physical.distribution, Single):
        return "one stage in the driver"
    return f"{exchanges + 1} {'stages' if exchanges else 'stage'} of RDD tasks"


def _stage_queries(physical: PhysicalPlan, context: SharkContext) -> Iterator[str]:
    """The DuckDB query of each stage, as planned: what is observed at run time may change the later ones."""
    number = 0
    while (exchange := next_exchange(physical)) is not None:
        number += 1
        yield from _stage_query(f"stage {number}, into {exchange.label}", exchange.child, context)
        physical = replace_exchange(physical, exchange.exchange_id, read_of(exchange, None))
    yield from _stage_query(f"stage {number + 1}, the result", physical, context)


def _stage_query(title: str, fragment: PhysicalPlan, context: SharkContext) -> Iterator[str]:
    lowered = lower_stage(fragment, ResultSink(), context.engine.parallelism)
    tasks = f"{len(lowered.tasks)} {'task' if len(lowered.tasks) == 1 else 'tasks'}"
    yield from ("", f"== SQL of {title}: {tasks} ==")
    yield from lowered.program.sql.splitlines() or ["(rows are handed on as they are)"]
    for name, leaf in lowered.leaves:
        source = f"exchange {leaf.exchange_id}" if isinstance(leaf, ExchangeRead) else leaf.label
        yield f"-- {name}: {source}"


def _query_run(plan: LogicalPlan, physical: PhysicalPlan, planning: float, context: SharkContext) -> Iterator[str]:
    started = time.perf_counter()
    with context.observed_profiles() as profiles:
        runner = context.new_runner(plan.label)
        count = sum(batch.num_rows for batch in context.run_batches(runner, physical))
    seconds = time.perf_counter() - started
    rows = f"{count:,} {'row' if count == 1 else 'rows'}"
    yield f"== Run: {rows} in {format_seconds(seconds)}, planned in {format_seconds(planning)} =="
    for profile in profiles:
        yield from _profile_lines(profile)


def _command_run(command: LogicalPlan | Command, context: SharkContext) -> Iterator[str]:
    from sharkpy.execution.commands.run import run_command

    if not isinstance(command, Command):
        return
    started = time.perf_counter()
    with context.observed_profiles() as profiles:
        run_command(command, context)
    yield f"== Run: {format_seconds(time.perf_counter() - started)} in all =="
    for profile in profiles:
        yield from _profile_lines(profile)


def _profile_lines(profile: QueryProfile) -> Iterator[str]:
    yield from run_tree(profile)
    for decision in profile.decisions:
        yield f"decided {'when planning' if decision.is_planned else 'at run time'}: {decision}"
