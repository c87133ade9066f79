"""CREATE CONTINUOUS INSERT."""

from __future__ import annotations

import uuid

from sharkpy.base.errors import TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.plan.commands import CreateContinuousInsert, queries_of
from sharkpy.streaming.bad_rows import bad_row_table
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
from sharkpy.streaming.targets import become_targets, target_ids, targets_of
from sharkpy.values.types import Schema


def create_continuous_insert(command: CreateContinuousInsert, session: StreamSession) -> CommandResult:
    """Make INSERTs that run from now on, epoch by epoch.

    With TRIGGER ONCE or AVAILABLE NOW the statement ends when all available input has been read.
    """
    catalog = session.catalog
    if catalog.is_shared:
        raise UnsupportedError("a continuous insert in a Hive metastore")
    if catalog.find_table(command.database, command.name) is not None:
        if command.if_not_exists:
            return NOTHING
        raise TableExistsError(f'table "{command.name}" already exists')
    queries = queries_of(command.inserts)
    check_definition(queries, session)
    bad_rows = bad_row_table(command.on_bad_row, streams_of(queries), session)
    query_id = uuid.uuid4().hex
    table = Table(
        new_table_id(),
        command.database,
        command.name,
        TableKind.CONTINUOUS_INSERT,
        Schema(()),
        owner=user_name(session.conf),
        continuous=query_id,
    )
    made = GivingState.of(table, command.state, session)
    query = ContinuousQuery(
        query_id,
        table.table_id,
        command.text,
        session.current_database,
        streams_of(queries),
        command.trigger,
        settings_of(session),
        definer(session),
        targets=target_ids(command.inserts),
        bad_rows="" if bad_rows is None else bad_rows.table_id,
        is_unbounded=command.is_unbounded,
        bounds=session.restrictions.bounds,
    )
    query = beginning(made.kept_by(query), command.start, session)

    def publish() -> None:
        add_rows_of(made.rows, session)
        become_targets(targets_of(command.inserts), catalog)
        become_targets([one for one in (bad_rows, made.late_rows) if one is not None], catalog)
        catalog.streams.add(query)
        check_epochs(query, made.rows, made.owner, session)

    make_and_run(made.owner, query, publish, session, if_not_exists=command.if_not_exists)
    return NOTHING
