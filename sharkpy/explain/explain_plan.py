"""EXPLAIN: the physical plan. EXTENDED adds all steps and the query of each stage, ANALYZE the measured figures of a
run, as text, as JSON or as an HTML file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.errors import InternalError
from sharkpy.base.users import user_name
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.queries.plan_query import plan_steps
from sharkpy.execution.queries.run_plan import new_runner, run_batches
from sharkpy.execution.stages.profile import format_seconds, load_lines, requests_text
from sharkpy.execution.statement import Statement
from sharkpy.execution.statement_figures import loading_seconds
from sharkpy.execution.tables.snapshot import reading
from sharkpy.explain.continuous import (
    MOST_PROFILES,
    check_analyzed,
    continuous_lines,
    epoch_lines,
    is_continuous,
)
from sharkpy.explain.forms import FORMS
from sharkpy.explain.measured_tree import run_tree
from sharkpy.explain.profile_html import profile_html, profile_page
from sharkpy.explain.profile_json import analyzed_text
from sharkpy.physical.lowering.lower_stage import lower_stage, only_stage, result_stage
from sharkpy.physical.operators import ExchangeRead
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange
from sharkpy.physical.stage import AS_TASKS, Stage
from sharkpy.physical.stage_program import ResultSink, StageProgram, StepColumns
from sharkpy.plan.commands import (
    ChangeRows,
    Command,
    CreateContinuousInsert,
    Explain,
    GenerateTable,
    MultiInsert,
    queries_of,
)
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sources.storage.meter import METER
from sharkpy.udf.user.function import shown_name

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.physical.placement import PlacedPlan


def explain(command: Explain, session: EngineSession) -> CommandResult:
    """Run EXPLAIN. The result has one column, `plan`, with a row per line."""
    if command.form == "analyze json":
        return text_rows(("plan",), [(_profile(command, session),)])
    if command.form == "analyze html":
        page = profile_page()
        return text_rows(("plan",), [(profile_html(page, _profile(command, session)),)])
    if form := FORMS.get(command.form):
        return text_rows(("plan",), [(line,) for line in form(command, session)])
    lines: list[str] = []
    statement = command.statement
    if isinstance(statement, Command):
        lines.append(_title(statement))
    if is_continuous(statement):
        if command.analyze:
            check_analyzed(statement)
        lines += continuous_lines(statement, session)
    kept = statement.state if is_continuous(statement) else None
    if isinstance(statement, CreateContinuousInsert) and kept is None:
        statement = statement.inserts
    if isinstance(statement, GenerateTable):
        lines += _generate_lines(command, statement, session)
        return text_rows(("plan",), [(line,) for line in lines])
    if isinstance(statement, (MultiInsert, ChangeRows)):
        lines += _branch_lines(command, statement, session)
        return text_rows(("plan",), [(line,) for line in lines])
    plan = statement if isinstance(statement, LogicalPlan) else getattr(statement, "query", None)
    if kept is not None:
        plan = kept.delta
    if plan is not None:
        lines += _query_lines(command, plan, session)
    elif isinstance(statement, Command):
        lines += _facts(statement)
        lines += _command_run(statement, session) if command.analyze else ()
    return text_rows(("plan",), [(line,) for line in lines])


def _titles(statement: MultiInsert | ChangeRows) -> list[str]:
    """Return the headings of a statement's queries."""
    if isinstance(statement, MultiInsert):
        return [_title(one) for one in statement.inserts]
    parts = {"Changed partitions": statement.changed, "Rows that stay": statement.rows, "Added rows": statement.added}
    return [f"== {title} ==" for title, query in parts.items() if query is not None]


def _title(command: Command) -> str:
    table = getattr(command, "table", None)
    name = getattr(table, "name", None) or getattr(command, "name", "") or getattr(command, "path", "")
    verb = getattr(command, "verb", type(command).__name__)
    if isinstance(command, GenerateTable):
        name = shown_name(command.function)
    return f"== {verb} {name}".rstrip() + " =="


def _facts(command: Command) -> Iterator[str]:
    """Yield the fields of a command without a query, if they differ from their defaults."""
    for one in fields(command):
        value = getattr(command, one.name)
        if one.name not in ("name", "altered", "schema") and value not in (one.default, False, None, ()):
            text = value.qualified_name if isinstance(value, Table) else str(value)
            yield f"{one.name.replace('_', ' ')}: {text}"


def _generate_lines(command: Explain, statement: GenerateTable, session: EngineSession) -> Iterator[str]:
    """Yield the function, its result and its arguments, with the plan of each query."""
    from sharkpy.ml.generate.generate_table import function_of

    yield f"function: {function_of(statement).usage}"
    yield f"result: {'rows' if statement.name is None else f'table {statement.database}.{statement.name}'}"
    for number, one in enumerate(statement.arguments, start=1):
        yield f"argument {one.name or number}: {' '.join(one.text.split())}"
        if isinstance(one.value, LogicalPlan):
            yield from _query_lines(replace(command, analyze=False), one.value, session)
    if command.analyze:
        yield from _command_run(statement, session)


def _branch_lines(command: Explain, statement: MultiInsert | ChangeRows, session: EngineSession) -> Iterator[str]:
    """Yield each query with its plan. The run covers all of them."""
    from sharkpy.execution.commands.shared_source import is_read_by_each_query

    only_plans, source, titles = replace(command, analyze=False), statement.source, _titles(statement)
    if source is not None and len(titles) > 1 and not is_read_by_each_query(source):
        yield "== Source, computed once =="
        yield from _query_lines(only_plans, source, session)
    for title, query in zip(titles, queries_of(statement), strict=True):
        yield title
        yield from _query_lines(only_plans, query, session)
    if command.analyze:
        yield from _command_run(command.statement, session)


def _query_lines(command: Explain, plan: LogicalPlan, session: EngineSession) -> Iterator[str]:
    if command.extended:
        yield from ("== Bound plan ==", *plan.explain().splitlines(), "")
    current = current_cancellation()
    num_before = len(current.loads) if isinstance(current, Statement) else 0
    started, asked = time.perf_counter(), METER.of(current)
    optimized, physical = plan_steps(session, plan)
    loads = current.loads[num_before:] if isinstance(current, Statement) else ()
    planning = format_seconds(time.perf_counter() - started - loading_seconds(loads))
    if (requested := METER.of(current) - asked).requests:
        planning += f" with {requests_text(requested)}"
    if command.extended:
        yield from ("== Logical plan ==", *optimized.explain().splitlines(), "")
    if command.extended or not command.analyze:
        yield f"== Physical plan: {physical.place_label} =="
        yield from physical.root.explain().splitlines()
    if not command.analyze and (stage := only_stage(physical, session.engine.parallelism)) is not None:
        yield from (f"decided when planning: {decision}" for decision in stage.kernels)
    if command.extended:
        yield from _stage_queries(physical, session, is_result=not isinstance(command.statement, Command))
    if command.analyze:
        if command.extended:
            yield ""
        if isinstance(command.statement, Command):
            yield from _command_run(command.statement, session)
        else:
            yield from _query_run(command.statement, physical, planning, session)


def _stage_queries(plan: PlacedPlan, session: EngineSession, *, is_result: bool) -> Iterator[str]:
    """Yield the DuckDB query of each stage, as planned. Measurements at run time may change later stages.

    `is_result`: the last stage returns the rows of a query, and writes nothing.
    """
    number, physical, parallelism = 0, plan.root, session.engine.parallelism
    while (exchange := next_exchange(physical)) is not None:
        number += 1
        title = f"stage {number}, into {exchange.label}"
        yield from _stage_query(title, lower_stage(exchange.child, ResultSink(), parallelism))
        physical = replace_exchange(physical, exchange.exchange_id, read_of(exchange, None))
    placement = plan.placement if is_result else AS_TASKS
    yield from _stage_query(f"stage {number + 1}, the result", result_stage(physical, parallelism, placement))


def _stage_query(title: str, lowered: Stage) -> Iterator[str]:
    tasks = f"{len(lowered.tasks)} {'task' if len(lowered.tasks) == 1 else 'tasks'}"
    yield from ("", f"== SQL of {title}: {tasks} ==")
    without = "(rows are handed on as they are)" if lowered.rows is None else "(rows are constants)"
    yield from lowered.program.sql.splitlines() or [without]
    yield from _inner_queries(lowered.program)
    for name, leaf in lowered.leaves:
        source = f"exchange {leaf.exchange_id}" if isinstance(leaf, ExchangeRead) else leaf.label
        yield f"-- {name}: {source}"


def _inner_queries(program: StageProgram) -> Iterator[str]:
    """Yield the queries below the steps of a stage."""
    for spec in program.inputs:
        if isinstance(spec, StepColumns):
            yield from _inner_queries(spec.program)
            yield f"-- below {spec.relation}:"
            yield from spec.program.sql.splitlines() or ["(rows are handed on as they are)"]


def _profile(command: Explain, session: EngineSession) -> str:
    """Run the statement. Return its profile as JSON text."""
    statement, current = command.statement, current_cancellation()
    if not isinstance(current, Statement):
        raise InternalError("EXPLAIN ANALYZE runs outside of a statement")
    if is_continuous(statement):
        check_analyzed(statement)
    started, count = time.perf_counter(), 0
    if isinstance(statement, LogicalPlan):
        _, physical = plan_steps(session, statement)
        profiles, count, _ = _measured_run(statement, physical, session)
    elif isinstance(statement, Command):
        profiles = _measured_command(statement, session)
    return analyzed_text(profiles, current, user_name(session.conf), count, time.perf_counter() - started)


def _measured_run(
    plan: LogicalPlan, physical: PlacedPlan, session: EngineSession
) -> tuple[Sequence[QueryProfile], int, float]:
    """Run a query with measured operators. Return its profiles, its number of rows, and its seconds."""
    started = time.perf_counter()
    with session.observers.collecting_profiles() as profiles:
        runner = new_runner(session, physical, plan.label)
        count = sum(batch.num_rows for batch in run_batches(session, runner))
    return profiles, count, time.perf_counter() - started


def _measured_command(command: Command, session: EngineSession) -> Sequence[QueryProfile]:
    """Run a command with measured operators. Return the profiles of its queries."""
    most = MOST_PROFILES if is_continuous(command) else None
    with session.observers.collecting_profiles(most) as profiles, reading(session.snapshot, None) as snapshot:
        for _ in session.run_command(command, snapshot).stream or ():
            pass
    return profiles


def _query_run(plan: LogicalPlan, physical: PlacedPlan, planning: str, session: EngineSession) -> Iterator[str]:
    profiles, count, seconds = _measured_run(plan, physical, session)
    rows = f"{count:,} {'row' if count == 1 else 'rows'}"
    yield f"== Run: {rows} in {format_seconds(seconds)}, planned in {planning} =="
    for profile in profiles:
        yield from _profile_lines(profile)


def _command_run(command: LogicalPlan | Command, session: EngineSession) -> Iterator[str]:
    if not isinstance(command, Command):
        return
    started = time.perf_counter()
    profiles = _measured_command(command, session)
    yield f"== Run: {format_seconds(time.perf_counter() - started)} in all =="
    if is_continuous(command):
        yield from epoch_lines(command, session)
    for profile in profiles:
        yield from _profile_lines(profile)


def _profile_lines(profile: QueryProfile) -> Iterator[str]:
    yield from load_lines(profile)
    yield from run_tree(profile)
    for decision in profile.decisions:
        yield f"decided {'when planning' if decision.is_planned else 'at run time'}: {decision}"
