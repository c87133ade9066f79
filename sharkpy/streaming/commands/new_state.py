"""Tables for the states of new continuous queries."""

from __future__ import annotations

import dataclasses

from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import (
    EMIT_PROPERTIES,
    EXPIRES_PROPERTY,
    GIVES_PROPERTY,
    STATE_PREFIX,
    StorageFormat,
    Table,
    TableKind,
)
from sharkpy.execution.commands.create_table import make_folder, new_table
from sharkpy.plan.commands import CreateTable, KeptState
from sharkpy.streaming.late_rows import late_row_table
from sharkpy.streaming.scheduler import StreamSession

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


@dataclasses.dataclass(frozen=True, slots=True)
class GivingState:
    """A new continuous insert or sink, with its state if it has one. Epochs write `rows`."""

    owner: Table
    rows: Table
    late_rows: Table | None = None

    @classmethod
    def of(cls, owner: Table, state: KeptState | None, session: StreamSession) -> GivingState:
        if state is None:
            return cls(owner, owner)
        properties = state_properties(state, gives=True)
        owner = dataclasses.replace(owner, properties=(*owner.properties, *properties))
        rows = new_state(state, owner.table_id, owner.database, owner.continuous, properties, session)
        return cls(owner, rows, late_row_table(state.late_rows, session))

    def kept_by(self, query: ContinuousQuery) -> ContinuousQuery:
        """Return the query with the tables of the state."""
        late_rows = "" if self.late_rows is None else self.late_rows.table_id
        return dataclasses.replace(query, table_id=self.rows.table_id, late_rows=late_rows)
