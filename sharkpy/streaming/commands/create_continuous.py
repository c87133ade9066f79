"""CREATE CONTINUOUS TABLE, INSERT and SINK, with the tables for their states."""

from __future__ import annotations

import dataclasses
import uuid
from dataclasses import replace

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState
from sharkpy.catalog.model import (
    CACHE_PROPERTY,
    EMIT_PROPERTIES,
    EXPIRES_PROPERTY,
    GIVES_PROPERTY,
    STATE_PREFIX,
    VIEW_DATABASE,
    CacheMode,
    StorageFormat,
    Table,
    TableKind,
)
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.create_table import make_folder, new_table
from sharkpy.execution.commands.storage import storage_format, stored_schema
from sharkpy.plan.commands import (
    CreateContinuousInsert,
    CreateContinuousSink,
    CreateContinuousTable,
    CreateTable,
    KeptState,
    queries_of,
)
from sharkpy.streaming.commands.control_continuous import lacks_program
from sharkpy.streaming.commands.definition import (
    check_definition,
    check_epochs,
    definer,
    make_and_run,
    settings_of,
    streams_of,
    with_start_offsets,
)
from sharkpy.streaming.epoch_tables import bad_row_table, become_targets, late_row_table, target_ids, targets_of
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.sinks import SINKS
from sharkpy.values.types import Schema


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
    query = with_start_offsets(query, command.start, session)

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
    made = InsertOrSink.of(table, command.state, session)
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
    query = with_start_offsets(made.with_tables(query), command.start, session)

    def publish() -> None:
        add_rows_of(made.rows, session)
        become_targets(targets_of(command.inserts), catalog)
        become_targets([one for one in (bad_rows, made.late_rows) if one is not None], catalog)
        catalog.streams.add(query)
        check_epochs(query, made.rows, made.owner, session)

    make_and_run(made.owner, query, publish, session, if_not_exists=command.if_not_exists)
    return NOTHING


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
    made = InsertOrSink.of(table, command.state, session)
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
    query = with_start_offsets(made.with_tables(query), command.start, session)

    def publish() -> None:
        add_rows_of(made.rows, session)
        become_targets([one for one in (bad_rows, made.late_rows) if one is not None], catalog)
        catalog.streams.add(query)
        check_epochs(query, made.rows, made.owner, session)

    make_and_run(made.owner, query, publish, session, if_not_exists=command.if_not_exists)
    return NOTHING


Properties = tuple[tuple[str, str], ...]


def state_properties(state: KeptState, *, gives: bool) -> Properties:
    """Return the properties of a table with state, or of an insert or sink that `gives`, and of the state's table."""
    found: Properties = ()
    if state.emit is not None and gives:
        found = ((GIVES_PROPERTY, state.emit.value),)
    elif state.emit is not None and state.emit in EMIT_PROPERTIES:
        found = ((EMIT_PROPERTIES[state.emit], "true"),)
    return (*found, (EXPIRES_PROPERTY, "true")) if state.expires else found


def new_state(
    state: KeptState,
    owner_id: str,
    database: str,
    query_id: str,
    properties: Properties,
    session: StreamSession,
    location: str | None = None,
) -> Table:
    """Return the table of a state, for the table, insert or sink `owner_id`.

    Its files are at `location`, or in the folder of the database.
    """
    name, storage = f"{STATE_PREFIX}{query_id}", StorageFormat("parquet")
    create = CreateTable(
        database, name, TableKind.MANAGED, state.schema, False, storage, properties=properties, location=location
    )
    made = new_table(create, session, session.snapshot(), None)
    return dataclasses.replace(made, continuous=query_id, state_of=owner_id)


def add_rows_of(table: Table, session: StreamSession) -> None:
    """Create the folder of the table that epochs write, and add the table of a state to the catalog.

    Call this in the catalog's transaction.
    """
    if table.is_stored:
        make_folder(table, CreateTable(table.database, table.name, table.kind, table.schema, False))
    if table.is_state:
        session.catalog.create_table(table)


@dataclass(frozen=True, slots=True)
class InsertOrSink:
    """A new continuous insert or sink, with its state if it has one. Epochs write `rows`."""

    owner: Table
    rows: Table
    late_rows: Table | None = None

    @classmethod
    def of(cls, owner: Table, state: KeptState | None, session: StreamSession) -> InsertOrSink:
        if state is None:
            return cls(owner, owner)
        properties = state_properties(state, gives=True)
        owner = dataclasses.replace(owner, properties=(*owner.properties, *properties))
        rows = new_state(state, owner.table_id, owner.database, owner.continuous, properties, session)
        return cls(owner, rows, late_row_table(state.late_rows, session))

    def with_tables(self, query: ContinuousQuery) -> ContinuousQuery:
        """Return the query with the tables of the state."""
        late_rows = "" if self.late_rows is None else self.late_rows.table_id
        return dataclasses.replace(query, table_id=self.rows.table_id, late_rows=late_rows)
