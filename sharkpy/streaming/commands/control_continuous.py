"""PAUSE, RESUME and DROP CONTINUOUS TABLE."""

from __future__ import annotations

from sharkpy.base.errors import TableNotFoundError
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.tables import release_dropped
from sharkpy.plan.commands import ContinuousAction, ControlContinuous
from sharkpy.streaming.scheduler import StreamSession


def control_continuous(command: ControlContinuous, session: StreamSession) -> CommandResult:
    if command.table is not None:
        {
            ContinuousAction.PAUSE: _pause,
            ContinuousAction.RESUME: _resume,
            ContinuousAction.DROP: _drop,
        }[command.action](command.table, session)
    return NOTHING


def query_of(table: Table, session: StreamSession) -> ContinuousQuery:
    query = session.catalog.streams.find(table.continuous)
    if query is None:
        raise TableNotFoundError(f"Table not found {table.name}")
    return query


def _pause(table: Table, session: StreamSession) -> None:
    """Let no further epoch begin; an epoch that runs here ends first. A query that does not run is left alone."""
    catalog = session.catalog
    with catalog.transaction():
        query = query_of(table, session)
        if query.state is QueryState.RUNNING:
            catalog.streams.set_state(query.query_id, QueryState.PAUSED)
    session.streams.pause(query.query_id)


def _resume(table: Table, session: StreamSession) -> None:
    """Go on with the next epoch, or with the one that has failed."""
    catalog = session.catalog
    with catalog.transaction():
        query = query_of(table, session)
        catalog.streams.set_state(query.query_id, QueryState.RUNNING)
    if query.trigger.ends:
        session.streams.run_now(query.query_id)
    else:
        session.streams.start()
        session.streams.wake()


def _drop(table: Table, session: StreamSession) -> None:
    """Drop the table with its query; the streams stay."""
    session.catalog.drop_table(table)
    session.streams.forget(table.continuous)
    release_dropped(table, session.catalog, session.table_cache)
