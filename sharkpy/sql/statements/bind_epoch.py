"""Stored continuous queries, bound as INSERTs of an epoch and as queries that create, fold and read their state."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import ColumnNotFoundError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.catalog.model import CACHE_PROPERTY, CacheMode, Table, TableKind
from sharkpy.plan.commands import Insert, KeptState, LateRows, MultiInsert, StateInserts, queries_of
from sharkpy.plan.logical import LogicalPlan, Project, Scan, Values
from sharkpy.sql.queries.bind_table import scan
from sharkpy.sql.queries.bind_view import bind_view
from sharkpy.sql.statements.bind_insert import insertable
from sharkpy.sql.statements.command_binder import CommandBinder, find_insert
from sharkpy.sql.statements.stored_queries import epoch_inserts
from sharkpy.values.types import Field, Schema

if TYPE_CHECKING:
    from sharkpy.sql.incremental.divide_query import EmittingQueries
    from sharkpy.sql.incremental.divided_query import DividedQuery


@dataclass(frozen=True, slots=True)
class EpochTables:
    """Tables of an epoch.

    1. `written`: the table of the rows or of the state, or the continuous insert or sink itself.
    2. `owner`: the insert or sink, if it has a state; otherwise the same table.
    3. `history`: for a query with state, a view that has the id of a stream. Its rows precede the rows of the stream,
       and this epoch reads it instead of the stream.
    4. `late_rows`: the table for late rows.
    """

    written: Table
    owner: Table
    history: Table | None = None
    late_rows: Table | None = None


def epoch_insert(binder: CommandBinder, tables: EpochTables) -> Insert | MultiInsert | StateInserts:
    """Bind a continuous query, the whole text, as the INSERTs of an epoch.

    Columns are matched by name, unless the text itself has INSERTs: inputs may have changed since the query was
    defined.
    """
    table = tables.written
    if table.gives:
        return _emitting_inserts(binder, tables)
    if table.is_continuous_insert:
        return epoch_inserts(binder)
    if not table.is_state:
        return _insert_by_name(binder, table, binder.query())
    state = divided_state(binder, table)
    added, late = state.delta(lambda: rows_of(binder, table)), None
    if tables.late_rows is not None:
        late = state.late_rows(lambda: rows_of(binder, table))
    if tables.history is not None:
        added = _over_history(binder, added, tables.history)
        # No windows are closed before the first rows arrive.
        late = None
    insert = _insert_by_name(binder, table, added)
    if tables.late_rows is None or late is None:
        return insert
    return MultiInsert(Values((), ()), (insert, _insert_by_name(binder, tables.late_rows, late)))


def _emitting_inserts(binder: CommandBinder, tables: EpochTables) -> StateInserts:
    """Bind a continuous insert or sink with state as the INSERTs of an epoch."""
    state, history = tables.written, tables.history
    inserts, queries = queries_of_text(binder)
    found = emitting_queries(binder, state, queries)
    if found.state.schema.names != state.schema.names:
        raise binder.error("the query has another state than when it was defined", None, sqlstate="55000")

    def before() -> LogicalPlan:
        return rows_of(binder, state)

    rows = _added_table(state, found.state.added_schema)
    added = _insert_by_name(binder, rows, found.state.delta(before)).query
    given = found.emitted(before, lambda: rows_of(binder, rows))
    late = None if tables.late_rows is None or history is not None else found.state.late_rows(before)
    if history is not None:
        added = _over_history(binder, added, history)
        given = [_over_history(binder, one, history) for one in given]
    kept = [_insert_by_name(binder, state, found.state.kept_of(rows_of(binder, rows)))]
    if tables.late_rows is not None and late is not None:
        kept.append(_insert_by_name(binder, tables.late_rows, late))
    if inserts:
        to_others = [dataclasses.replace(one, query=query) for one, query in zip(inserts, given, strict=True)]
    else:
        to_others = [_insert_by_name(binder, tables.owner, query) for query in given]
    return StateInserts(added, rows, tuple(kept), tuple(to_others))


def _added_table(state: Table, schema: Schema) -> Table:
    """Table, in no catalog, of the rows that an epoch of a query with state computes."""
    properties = ((CACHE_PROPERTY, CacheMode.MEMORY_ONLY.value),)
    name = "what an epoch adds"
    return Table(f"{state.table_id}#added", "", name, TableKind.TEMPORARY, schema, properties=properties)


def _insert_by_name(binder: CommandBinder, table: Table, query: LogicalPlan) -> Insert:
    columns = {column.name: column for column in query.output}
    if missing := next((name for name in table.schema.names if name not in columns), None):
        message = f'the query of {table.qualified_name} no longer has a column "{missing}"'
        raise binder.error(message, None, ColumnNotFoundError)
    ordered = Project(query, tuple(columns[name] for name in table.schema.names))
    rows = insertable(binder, table, ordered, None, None, table.schema)
    return Insert(table, rows, False, tuple((name, None) for name in table.partition_columns))


def _over_history(binder: CommandBinder, plan: LogicalPlan, history: Table) -> LogicalPlan:
    """Replace the scan of a stream in a plan by the view `history`, which has the id of the stream."""

    def replaced(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Scan) or node.table.table_id != history.table_id:
            return node
        rows = bind_view(binder.context, history, None)
        known = {column.name: column for column in rows.output}
        if missing := next((name for name in node.names if name not in known), None):
            message = f'the rows before the stream {history.qualified_name} have no column "{missing}"'
            raise binder.error(message, None, ColumnNotFoundError)
        pairs = zip(node.columns, node.names, strict=True)
        return Project(rows, tuple(column.holding(known[name]) for column, name in pairs))

    return plan.transform_up(replaced)


def state_folds(binder: CommandBinder, state: Table, *, is_first: bool) -> tuple[LogicalPlan, ...]:
    """Bind a continuous query, the whole text, as queries that fold rows of its state, one for each file.

    `is_first`: the state has no rows before these.
    """
    plans = divided_state(binder, state).folds(lambda: rows_of(binder, state), is_first=is_first)
    return tuple(insertable(binder, state, rows, None, None, state.schema) for rows in plans)


def state_watermark(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind a continuous query, the whole text, as a query for the watermark of its state."""
    return divided_state(binder, state).watermark(lambda: rows_of(binder, state))


def state_progress(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind a continuous query, the whole text, as a query for the watermarks of its streams."""
    return divided_state(binder, state).progress(lambda: rows_of(binder, state))


def divided_state(binder: CommandBinder, state: Table) -> DividedQuery:
    """Bind and divide a continuous query, the whole text.

    Raise BindError 55000 if its state is now different from the stored one.
    """
    from sharkpy.sql.incremental.divide_query import divide_query

    if state.gives:
        found: DividedQuery | None = emitting_queries(binder, state, queries_of_text(binder)[1]).state
    else:
        found = divide_query(binder.query(), binder.context, state.emit, expires=state.expires)
    if found is None or found.schema.names != state.schema.names:
        raise binder.error("the query has another state than when it was defined", None, sqlstate="55000")
    return found


def emitting_queries(binder: CommandBinder, state: Table, queries: Sequence[LogicalPlan]) -> EmittingQueries:
    """Return the bound queries of a continuous insert or sink, with their state."""
    from sharkpy.sql.incremental.divide_query import divide_emitting_queries

    assert state.emit in (EmitMode.APPEND, EmitMode.UPDATE)  # other modes are refused
    return divide_emitting_queries(queries, binder.context, state.emit, expires=state.expires)


def queries_of_text(binder: CommandBinder) -> tuple[Sequence[Insert], Sequence[LogicalPlan]]:
    """Bind the INSERTs of a continuous insert, or the query of a sink, from the whole text.

    Return the INSERTs, and all queries.
    """
    word = binder.reader.word()
    if word != "INSERT" and not (word in ("WITH", "FROM") and find_insert(binder.reader.rest) is not None):
        return (), (binder.query(),)
    command = epoch_inserts(binder)
    branches = command.inserts if isinstance(command, MultiInsert) else (command,)
    return [one for one in branches if isinstance(one, Insert)], queries_of(command)


def rows_of(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Scan a state, without virtual columns that the query names."""
    return scan(dataclasses.replace(binder.context, text=""), state)


def new_state(
    binder: CommandBinder, state: DividedQuery, emit: EmitMode | None, late_rows: tuple[str, str] | None
) -> KeptState:
    """Return the state that a new continuous query stores. `late_rows` is the table for late rows."""
    late = None if late_rows is None else LateRows(*late_rows, _late_rows(binder, state))
    added = state.delta(state.nothing)
    return KeptState(state.schema, added, state.shown_delta, state.labels, state.growth, emit, late, state.expires)


def _late_rows(binder: CommandBinder, state: DividedQuery) -> Schema:
    """Columns of the late rows of a query."""
    found = state.late_rows(state.nothing)
    assert found is not None  # the clauses were checked
    names = [column.name for column in found.output]
    if len(set(names)) < len(names):
        message = "LATE ROWS TO a table, of rows with several columns of one name"
        raise binder.error(message, None, UnsupportedError, "name them in a subquery: FROM (SELECT … AS …)")
    return Schema(tuple(Field(one.name, one.dtype) for one in found.output))
