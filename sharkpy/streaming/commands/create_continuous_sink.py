"""CREATE CONTINUOUS SINK."""

from __future__ import annotations

import uuid
from dataclasses import replace

from sharkpy.base.errors import TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.storage import stored_schema
from sharkpy.plan.commands import CreateContinuousSink
from sharkpy.streaming.bad_rows import bad_row_table
from sharkpy.streaming.commands.control_continuous import lacks_program
from sharkpy.streaming.commands.definition import (
    check_definition,
    check_epochs,
    definer,
    make_and_run,
    settings_of,
    streams_of,
)
from sharkpy.streaming.commands.new_state import GivingState, add_rows_of
from sharkpy.streaming.commands.start_from import beginning
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.sinks import SINKS
from sharkpy.streaming.targets import become_targets


def create_continuous_sink(command: CreateContinuousSink, session: StreamSession) -> CommandResult:
    """Make a sink that writes rows from now on.

    With TRIGGER ONCE or AVAILABLE NOW the statement ends when all available input has been read.
    """
    catalog = session.catalog
    if catalog.is_shared:
        raise UnsupportedError("a continuous sink in a Hive metastore")
    if catalog.find_table(command.database, command.name) is not None:
        if command.if_not_exists:
            return NOTHING
        raise TableExistsError(f'table "{command.name}" already exists')
    check_definition([command.query], session)
    streams = streams_of([command.query])
    bad_rows = bad_row_table(command.on_bad_row, streams, session)
    query_id = uuid.uuid4().hex
    table = Table(
        new_table_id(),
        command.database,
        command.name,
        TableKind.CONTINUOUS_SINK,
        stored_schema(command.columns),
        comment=command.comment,
        owner=user_name(session.conf),
        continuous=query_id,
        sink=command.sink,
    )
    table = SINKS[command.sink.kind].define(table, command, streams, session)
    made = GivingState.of(table, command.state, session)
    query = ContinuousQuery(
        query_id,
        table.table_id,
        command.text,
        session.current_database,
        streams,
        command.trigger,
        settings_of(session),
        definer(session),
        bad_rows="" if bad_rows is None else bad_rows.table_id,
        is_unbounded=command.is_unbounded,
        bounds=session.restrictions.bounds,
    )
    if command.trigger.ends and lacks_program(table, session):
        # The sink runs when a process registers its program.
        query = replace(query, state=QueryState.FINISHED)
    query = beginning(made.kept_by(query), command.start, session)

    def publish() -> None:
        add_rows_of(made.rows, session)
        become_targets([one for one in (bad_rows, made.late_rows) if one is not None], catalog)
        catalog.streams.add(query)
        check_epochs(query, made.rows, made.owner, session)

    make_and_run(made.owner, query, publish, session, if_not_exists=command.if_not_exists)
    return NOTHING
