"""CREATE CONTINUOUS TABLE."""

from __future__ import annotations

import dataclasses
import uuid

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import (
    CACHE_PROPERTY,
    VIEW_DATABASE,
    CacheMode,
    Table,
    TableKind,
)
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.create_table import new_table
from sharkpy.execution.commands.storage import storage_format, stored_schema
from sharkpy.plan.commands import CreateContinuousTable
from sharkpy.streaming.bad_rows import bad_row_table
from sharkpy.streaming.commands.definition import (
    check_definition,
    check_epochs,
    definer,
    make_and_run,
    settings_of,
    streams_of,
)
from sharkpy.streaming.commands.new_state import add_rows_of, new_state, state_properties
from sharkpy.streaming.commands.start_from import beginning
from sharkpy.streaming.late_rows import late_row_table
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.targets import become_targets


def create_continuous(command: CreateContinuousTable, session: StreamSession) -> CommandResult:
    """Make an empty table with its continuous query, which runs from now on.

    With TRIGGER ONCE or AVAILABLE NOW the statement ends when all available input has been read.
    """
    catalog = session.catalog
    if catalog.is_shared:
        raise UnsupportedError("a continuous table in a Hive metastore")
    create = command.table
    if catalog.find_table(create.database, create.name) is not None:
        if create.if_not_exists:
            return NOTHING
        raise TableExistsError(f'table "{create.name}" already exists')
    mode = dict(create.properties).get(CACHE_PROPERTY, "").upper()
    if mode == CacheMode.MEMORY_ONLY.value:
        raise UnsupportedError("a continuous table with shark.cache MEMORY_ONLY")
    check_definition([command.query], session)
    bad_rows = bad_row_table(command.on_bad_row, streams_of([command.query]), session)
    late_rows = late_row_table(None if command.state is None else command.state.late_rows, session)
    query_id = uuid.uuid4().hex
    rows = _table_of_rows(command, query_id, session)
    query = ContinuousQuery(
        query_id,
        rows.table_id,
        command.text,
        session.current_database,
        streams_of([command.query]),
        command.trigger,
        settings_of(session),
        definer(session),
        bad_rows="" if bad_rows is None else bad_rows.table_id,
        is_unbounded=command.is_unbounded,
        bounds=session.restrictions.bounds,
        late_rows="" if late_rows is None else late_rows.table_id,
    )
    query = beginning(query, command.start, session)

    def publish() -> None:
        add_rows_of(rows, session)
        become_targets([one for one in (bad_rows, late_rows) if one is not None], catalog)
        catalog.streams.add(query)
        check_epochs(query, rows, table, session)

    table = _over_state(rows, command, session) if rows.is_state else rows
    make_and_run(table, query, publish, session, if_not_exists=create.if_not_exists)
    return NOTHING


def _table_of_rows(command: CreateContinuousTable, query_id: str, session: StreamSession) -> Table:
    """Return the table that epochs write: the new table, or its state."""
    create, state = command.table, command.state
    storage = storage_format(create.storage, create.properties, session, is_from_query=True)
    if state is None:
        made = new_table(dataclasses.replace(create, storage=storage), session, session.snapshot(), None)
    else:
        properties = (*create.properties, *state_properties(state, gives=False))
        made = new_state(state, new_table_id(), create.database, query_id, properties, session, create.location)
    if made.kind is not TableKind.MANAGED:
        # Existing files would become rows of the table, and DROP would delete them.
        place = uri.redacted(made.location or "")
        raise BindError(f'folder "{place}" is not empty', hint="name an empty folder", sqlstate="42710")
    return dataclasses.replace(made, continuous=query_id)


def _over_state(state: Table, command: CreateContinuousTable, session: StreamSession) -> Table:
    """Return a table whose rows are computed from a state when they are read."""
    create = command.table
    return Table(
        state.state_of,
        state.database,
        create.name.lower(),
        TableKind.VIEW,
        stored_schema(create.schema),
        properties=(*state.properties, (VIEW_DATABASE, session.current_database)),
        comment=create.comment,
        view_text=command.text,
        owner=state.owner,
        continuous=state.continuous,
    )
