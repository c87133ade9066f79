"""PAUSE, RESUME, REFRESH, ALTER and DROP of continuous tables, inserts and sinks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sharkpy.base.errors import SourceError, TableNotFoundError, UnsupportedError
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState, Trigger
from sharkpy.catalog.model import VIEW_DATABASE, Table
from sharkpy.catalog.stream_kinds import sink_kind
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.row_changes import without_rows
from sharkpy.execution.commands.tables import release_dropped
from sharkpy.plan.commands import (
    AlterContinuous,
    ContinuousAction,
    ControlContinuous,
    Insert,
    MultiInsert,
    OnBadRow,
    queries_of,
)
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind_state
from sharkpy.sql.context import StatementClock
from sharkpy.sql.statements.stream_clauses import other_state_error
from sharkpy.streaming.commands.definition import check_definition, check_epochs, definer, settings_of, streams_of
from sharkpy.streaming.epoch_tables import bad_row_table, become_targets, target_ids, targets_of
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.sinks import sink_type
from sharkpy.streaming.sinks.program_sink import missing_program


def control_continuous(command: ControlContinuous, session: StreamSession) -> CommandResult:
    if command.table is not None:
        {
            ContinuousAction.PAUSE: _pause,
            ContinuousAction.RESUME: _resume,
            ContinuousAction.DROP: _drop,
            ContinuousAction.REFRESH: _refresh,
        }[command.action](command.table, session)
    return NOTHING


def alter_continuous(command: AlterContinuous, session: StreamSession) -> CommandResult:
    """Change the query, trigger or bad rows from the next epoch on. Rows of earlier epochs stay."""
    table, catalog = command.table, session.catalog
    queries = _queries(command.query)
    check_definition(queries, session)
    known = query_of(table, session)
    bad_rows = _bad_rows_of(command, known, streams_of(queries) if queries else known.streams, session)
    with catalog.transaction():
        query = query_of(table, session)
        if command.on_bad_row is not None:
            query = dataclasses.replace(query, bad_rows="" if bad_rows is None else bad_rows.table_id)
        become_targets([] if bad_rows is None else [bad_rows], catalog)
        if command.trigger is not None:
            query = dataclasses.replace(query, trigger=command.trigger)
        if command.query is not None and command.text is not None:
            query = dataclasses.replace(
                query,
                text=command.text,
                database=session.current_database,
                streams=streams_of(queries),
                settings=settings_of(session),
                user=definer(session),
                bounds=session.restrictions.bounds,
            )
            if isinstance(command.query, (Insert, MultiInsert)):
                become_targets(targets_of(command.query), catalog)
                query = dataclasses.replace(query, targets=target_ids(command.query))
            if table.gives:
                _check_same_state(known, query, table, session)
            check_epochs(query, table_of_rows(table, session), table, session)
            if table.has_state and not table.gives:
                catalog.alter_table(_with_text(table, command.text, session))
        catalog.streams.redefine(query)
        state = _state_with_trigger(query.trigger, query.state)
        if state is not query.state:
            catalog.streams.set_state(query.query_id, state)
            query = dataclasses.replace(query, state=state)
    if query.state is QueryState.RUNNING:
        session.streams.start()
        session.streams.wake()
    return NOTHING


def _check_same_state(known: ContinuousQuery, query: ContinuousQuery, table: Table, session: StreamSession) -> None:
    """Raise an error if the epochs of an altered insert or sink would keep another state. Its output may change."""
    state, conf, catalog = table_of_rows(table, session), session.conf, session.catalog
    # Bind both with one clock, since streams that may be idle read it.
    clock = StatementClock()
    old, new = (bind_state(one.text, state, catalog, conf, one.database, clock) for one in (known, query))
    if not new.has_state_of(old):
        raise other_state_error(table)


def _with_text(table: Table, text: str, session: StreamSession) -> Table:
    """Return the table with another query over the same state."""
    now = session.catalog.current_table(table.table_id) or table
    properties = {**dict(now.properties), VIEW_DATABASE: session.current_database}
    return dataclasses.replace(now, view_text=text, properties=tuple(properties.items()))


def _bad_rows_of(
    command: AlterContinuous, query: ContinuousQuery, streams: Sequence[str], session: StreamSession
) -> Table | None:
    """Return the table for the bad rows of an altered query, or None if it has none."""
    if command.on_bad_row is not None:
        return bad_row_table(command.on_bad_row, streams, session)
    known = session.catalog.current_table(query.bad_rows) if query.bad_rows else None
    return None if known is None else bad_row_table(OnBadRow((known.database, known.name)), streams, session)


def check_rereadable(query: ContinuousQuery, table: Table, action: str) -> None:
    """Raise UnsupportedError if reading the input again would add bad or late rows to their table twice."""
    what = f"{action} of a {table.streaming_kind}"
    if query.bad_rows:
        hint = "ALTER … ON BAD ROW NULL first"
        raise UnsupportedError(f"{what} whose bad rows go to a table", hint=hint)
    if query.late_rows:
        raise UnsupportedError(f"{what} whose late rows go to a table")


def _queries(given: LogicalPlan | Insert | MultiInsert | None) -> Sequence[LogicalPlan]:
    if given is None:
        return ()
    return (given,) if isinstance(given, LogicalPlan) else queries_of(given)


def _state_with_trigger(trigger: Trigger, state: QueryState) -> QueryState:
    """Return the state of a query with another trigger.

    If the trigger ends, a running query waits for RESUME. Otherwise a finished query goes on.
    """
    if trigger.ends:
        return QueryState.FINISHED if state is QueryState.RUNNING else state
    return QueryState.RUNNING if state is QueryState.FINISHED else state


def query_of(table: Table, session: StreamSession) -> ContinuousQuery:
    query = session.catalog.streams.find(table.continuous)
    if query is None:
        raise TableNotFoundError(f"Table not found {table.name}")
    return query


def table_of_rows(table: Table, session: StreamSession) -> Table:
    """Return the table that the epochs of a continuous query write: its own table, or its state."""
    return session.catalog.state_table(table) or table


def _pause(table: Table, session: StreamSession) -> None:
    """Begin no further epoch. An epoch that runs here ends first. A query that does not run stays as it is."""
    catalog = session.catalog
    with catalog.transaction():
        query = query_of(table, session)
        if query.state is QueryState.RUNNING:
            catalog.streams.set_state(query.query_id, QueryState.PAUSED)
    session.streams.pause(query.query_id)


def _resume(table: Table, session: StreamSession) -> None:
    """Continue with the next epoch, or retry the failed one.

    Raise ExecutionError 55000 if the trigger ends and this process lacks the sink's program.
    """
    catalog = session.catalog
    with catalog.transaction():
        query = query_of(table, session)
        if query.trigger.ends and lacks_program(table, session):
            raise missing_program(table)
        catalog.streams.set_state(query.query_id, QueryState.RUNNING)
    if query.trigger.ends:
        session.streams.run_now(query.query_id)
    else:
        session.streams.start()
        session.streams.wake()


def lacks_program(table: Table, session: StreamSession) -> bool:
    """Return True for a sink whose program this process does not have."""
    is_taken = table.is_continuous_sink and bool(sink_kind(table).taker)
    return is_taken and session.streams.programs.of(table) is None


def _refresh(table: Table, session: StreamSession) -> None:
    """Start over from the first items of the streams. The table is empty until they have been read."""
    query = query_of(table, session)
    check_rereadable(query, table, "REFRESH")
    session.streams.restart(query.query_id, lambda: without_rows(table_of_rows(table, session), session))
    _resume(table, session)


def _finish_sink(table: Table, session: StreamSession) -> None:
    """Let a sink complete the work that is left for its epochs. If its place is gone, there is none."""
    sink = sink_type(table).connect(table, session, session.streams.programs)
    try:
        sink.catch_up(query_of(table, session).epoch)
    except SourceError as error:
        if error.sqlstate != "58P01":
            raise


def _drop(table: Table, session: StreamSession) -> None:
    """Drop a table, insert or sink with its query. Streams, targets and files of sinks stay."""
    if table.is_continuous_sink:
        _pause(table, session)
        _finish_sink(table, session)
    rows = table_of_rows(table, session)
    session.catalog.drop_table(table)
    session.streams.forget(table.continuous)
    release_dropped(rows, session.catalog, session.table_cache)
    if table.is_continuous_sink:
        sink_type(table).forget(table, session)
