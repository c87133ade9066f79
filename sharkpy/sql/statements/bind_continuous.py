"""CREATE CONTINUOUS TABLE, and what steers and lists continuous queries; the rows of an epoch as an INSERT."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import ColumnNotFoundError, UnsupportedError
from sharkpy.catalog.continuous_query import EpochPoint
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.sink_kinds import sink_kind
from sharkpy.plan.commands import (
    AlterContinuous,
    ContinuousAction,
    ControlContinuous,
    CreateContinuousInsert,
    CreateContinuousSink,
    CreateContinuousTable,
    CreateTable,
    Insert,
    KeptState,
    LateRows,
    MultiInsert,
    RollbackContinuous,
    ShowEpochs,
)
from sharkpy.plan.logical import LogicalPlan, Project, Scan, Values
from sharkpy.sql.incremental.check import NoStreamError, division
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.queries.bind_from import bind_view, divided_view, scan
from sharkpy.sql.statements.bind_columns import output_fields, without_void
from sharkpy.sql.statements.bind_continuous_insert import create_continuous_insert, kept_inserts
from sharkpy.sql.statements.bind_continuous_sink import continuous_sink
from sharkpy.sql.statements.bind_insert import insertable
from sharkpy.sql.statements.bind_table_clauses import ENDS, table_clauses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.query_text import KeptQuery
from sharkpy.sql.statements.stream_aliases import without_emit_changes, without_stream_words
from sharkpy.sql.statements.stream_clauses import (
    CLAUSES,
    StreamClauses,
    check_row_wise_clauses,
    divided_query,
    moment_of,
    on_bad_row_clause,
    row_wise_query,
    stream_clauses,
    trigger_clause,
)
from sharkpy.sql.statements.table_parts import cached_by_name, partitioned_columns, storage_of_clauses
from sharkpy.values.types import Field, Schema

_Created = TypeVar("_Created", CreateContinuousTable, CreateContinuousInsert, CreateContinuousSink)


def bind_create_continuous(
    binder: CommandBinder,
) -> CreateContinuousTable | CreateContinuousInsert | CreateContinuousSink:
    """Bind what stands behind CREATE: CONTINUOUS TABLE name [clauses of tables] [TRIGGER …] [EMIT APPEND] AS query,
    CONTINUOUS INSERT name [TRIGGER …] AS INSERTs, or CONTINUOUS SINK name TO kind [format] [TRIGGER …] AS query; each
    with IF NOT EXISTS, ON BAD ROW and START FROM.
    """
    binder.reader.expect("CONTINUOUS")
    word = binder.reader.expect_any("TABLE", "INSERT", "SINK")
    rewritten = without_emit_changes(binder)
    if word == "TABLE":
        return _whole(binder, rewritten, _table)
    return _whole(binder, rewritten, continuous_sink) if word == "SINK" else _whole(binder, rewritten, _insert)


def bind_create_alias(binder: CommandBinder) -> CreateContinuousTable:
    """Bind STREAMING TABLE, or MATERIALIZED VIEW over streams, behind CREATE, with the rest as of a continuous table:
    words of other systems.
    """
    reader = binder.reader
    is_view = reader.expect_any("STREAMING", "MATERIALIZED") == "MATERIALIZED"
    reader.expect("VIEW" if is_view else "TABLE")
    if reader.current is None:
        raise reader.error("a table name expected")
    try:
        return _whole(binder, without_emit_changes(without_stream_words(binder)), _table)
    except NoStreamError as error:
        if not is_view:
            raise
        message = "the statement CREATE MATERIALIZED VIEW is not supported"
        hint = "CREATE TABLE … AS SELECT; over a stream it makes a continuous table"
        raise binder.error(message, reader.tokens[0], UnsupportedError, hint) from error


def _whole(binder: CommandBinder, rewritten: CommandBinder, bind: Callable[[CommandBinder], _Created]) -> _Created:
    """Bind the rest of a statement as it was rewritten."""
    command = bind(rewritten)
    rewritten.reader.expect_end()
    binder.reader.position = len(binder.reader.tokens)
    return command


def _insert(binder: CommandBinder) -> CreateContinuousInsert:
    if_not_exists = binder.reader.if_not_exists()
    place = binder.new_name()
    token = binder.reader.current
    clauses_of_stream = stream_clauses(binder)
    with binder.place_of(token):
        check_row_wise_clauses(clauses_of_stream)
    binder.reader.expect("AS")
    return create_continuous_insert(binder, place, if_not_exists, clauses_of_stream)


def _table(binder: CommandBinder) -> CreateContinuousTable:
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    database, name = binder.new_name()
    reader.match("DISABLE", "REWRITE")  # of materialized views: no query is rewritten anyway
    clauses = table_clauses(binder, (), (*ENDS, *CLAUSES))
    if clauses.location is not None or clauses.buckets is not None or clauses.skew is not None:
        raise reader.unsupported("LOCATION, CLUSTERED BY or SKEWED BY of a continuous table")
    clauses_of_stream = stream_clauses(binder)
    reader.match("AS")
    kept, state = divided_query(binder, clauses_of_stream)
    query = without_void(binder, kept.plan)
    fields = output_fields(binder, query)
    fields, _, partitions = partitioned_columns(binder, TableKind.MANAGED, fields, query, clauses.partitions or [])
    table = CreateTable(
        database,
        name,
        TableKind.MANAGED,
        Schema(tuple(fields)),
        if_not_exists,
        storage_of_clauses(binder, clauses),
        properties=cached_by_name(binder, name, clauses.properties or ()),
        comment=clauses.comment,
        partition_columns=partitions,
    )
    if state is not None and (partitions or clauses.row is not None or clauses.file is not None):
        raise reader.unsupported("PARTITIONED BY, or a format, of a continuous table with state")
    kept_state = (
        None
        if state is None
        else KeptState(
            state.schema,
            state.delta(state.nothing),
            state.shown_delta,
            state.labels,
            state.growth,
            clauses_of_stream.emit,
            _late_rows(binder, state, clauses_of_stream),
            state.expires,
        )
    )
    common = clauses_of_stream.trigger, clauses_of_stream.on_bad_row, clauses_of_stream.start
    return CreateContinuousTable(table, query, kept.text, *common, kept_state, clauses_of_stream.is_unbounded)


def _late_rows(binder: CommandBinder, state: DividedQuery, clauses: StreamClauses) -> LateRows | None:
    """Table for the rows of a query that come too late, if there is to be one."""
    if clauses.late_rows is None:
        return None
    found = state.late_rows(state.nothing)
    assert found is not None  # the clauses were checked
    names = [column.name for column in found.output]
    if len(set(names)) < len(names):
        message = "LATE ROWS TO a table, of rows with several columns of one name"
        raise binder.error(message, None, UnsupportedError, "name them in a subquery: FROM (SELECT … AS …)")
    return LateRows(*clauses.late_rows, Schema(tuple(Field(one.name, one.dtype) for one in found.output)))


def bind_control(binder: CommandBinder) -> ControlContinuous:
    """Bind PAUSE | RESUME | REFRESH CONTINUOUS TABLE | INSERT | SINK name."""
    action = ContinuousAction(binder.reader.expect_any("PAUSE", "RESUME", "REFRESH"))
    return _controlled(binder, action, _kind(binder))


def bind_rollback(binder: CommandBinder) -> RollbackContinuous:
    """Bind ROLLBACK CONTINUOUS TABLE name TO EPOCH n | TO TIMESTAMP 'moment'."""
    reader = binder.reader
    reader.expect("ROLLBACK")
    kind = _kind(binder)
    token = reader.current
    table = _with_own_rows(binder, _required(binder, binder.table(), token, kind), token, "ROLLBACK")
    reader.expect("TO")
    if reader.expect_any("EPOCH", "TIMESTAMP") == "EPOCH":
        return RollbackContinuous(table, EpochPoint(reader.whole_number("the number of an epoch")))
    return RollbackContinuous(table, EpochPoint(moment_ms=moment_of(binder)))


def bind_drop_continuous(binder: CommandBinder) -> ControlContinuous:
    """Bind CONTINUOUS TABLE | INSERT | SINK [IF EXISTS] name, behind DROP; or other systems' words for the first."""
    if binder.reader.match("STREAMING", "TABLE") or binder.reader.match("MATERIALIZED", "VIEW"):
        return _controlled(binder, ContinuousAction.DROP, "continuous table")
    return _controlled(binder, ContinuousAction.DROP, _kind(binder))


def _controlled(binder: CommandBinder, action: ContinuousAction, kind: str) -> ControlContinuous:
    reader = binder.reader
    if_exists = action is ContinuousAction.DROP and reader.if_exists()
    token = reader.current
    table = binder.optional_table() if if_exists else binder.table()
    if table is None:
        return ControlContinuous(action, None)
    table = _required(binder, table, token, kind)
    if action is ContinuousAction.REFRESH:
        _with_own_rows(binder, table, token, action.value)
    return ControlContinuous(action, table)


def _with_own_rows(binder: CommandBinder, table: Table, token: Token | None, action: str) -> Table:
    """The table, if its rows are those of its query alone."""
    if table.has_no_rows:
        hint = "the rows of a continuous table come from its query alone"
        why = sink_kind(table).why_kept if table.is_continuous_sink else "its targets have other rows too"
        message = f"{action} of {table.qualified_name}, a {table.streaming_kind}: {why}"
        raise binder.error(message, token, UnsupportedError, hint)
    return table


def _kind(binder: CommandBinder) -> str:
    """Read CONTINUOUS TABLE | INSERT | SINK."""
    binder.reader.expect("CONTINUOUS")
    return f"continuous {binder.reader.expect_any('TABLE', 'INSERT', 'SINK').lower()}"


def _required(binder: CommandBinder, table: Table, token: Token | None, kind: str = "") -> Table:
    """The table, if it is of the `kind`, or has any continuous query."""
    if not table.continuous or (kind and table.streaming_kind != kind):
        is_other = bool(kind and table.continuous)
        hint = f"it is a {table.streaming_kind}" if is_other else None
        message = f"{table.qualified_name} is no {kind or 'continuous table'}"
        raise binder.error(message, token, hint=hint, sqlstate="42809")
    return table


def bind_alter_continuous(binder: CommandBinder) -> AlterContinuous:
    """Bind CONTINUOUS TABLE | SINK name [TRIGGER …] [ON BAD ROW …] [AS query], or CONTINUOUS INSERT name [TRIGGER …]
    [ON BAD ROW …] [AS INSERTs], behind ALTER.
    """
    reader = binder.reader
    kind = _kind(binder)
    token = reader.current
    table = _required(binder, binder.table(), token, kind)
    trigger = trigger_clause(binder) if reader.match("TRIGGER") else None
    on_bad_row = on_bad_row_clause(binder)
    if not reader.peek("AS"):
        if trigger is None and on_bad_row is None:
            raise reader.error("TRIGGER, ON BAD ROW or AS query expected")
        return AlterContinuous(table, trigger=trigger, on_bad_row=on_bad_row)
    reader.expect("AS")
    if table.is_continuous_insert:
        inserts = kept_inserts(binder)
        return AlterContinuous(table, inserts.command, inserts.text, trigger, on_bad_row)
    token = reader.current
    if table.has_state:
        kept, state = divided_query(binder, StreamClauses(is_unbounded=not table.expires, emit=table.emit))
        _check_state(binder, table, state, token)
    else:
        kept = row_wise_query(binder, StreamClauses())
    _check_columns(binder, table, kept, token)
    return AlterContinuous(table, kept.plan, kept.text, trigger, on_bad_row)


def _check_columns(binder: CommandBinder, table: Table, kept: KeptQuery, token: Token | None) -> None:
    """Columns stay what they are: the rows of earlier epochs have no others."""
    given = [column.name for column in kept.plan.output]
    if sorted(given) != sorted(table.schema.names):
        known = ", ".join(table.schema.names)
        message = f"the query has the columns {', '.join(given)}"
        hint = f"with other columns it is a new one: CREATE {table.streaming_kind.upper()}"
        raise binder.error(f"{message}, and {table.qualified_name} has {known}", token, hint=hint, sqlstate="42809")


def _check_state(binder: CommandBinder, table: Table, state: DividedQuery | None, token: Token | None) -> None:
    """What epochs add to the state stays what it is; what is computed of it may change."""
    if state is None or not state.has_state_of(divided_view(binder.context, table)):
        message = f"the state of {table.qualified_name} is that of another query"
        hint = "what is grouped by, aggregated and read has to stay; else it is a new one: CREATE CONTINUOUS TABLE"
        raise binder.error(message, token, hint=hint, sqlstate="42809")


def bind_show_epochs(binder: CommandBinder) -> ShowEpochs:
    """Bind table [LIMIT n], behind SHOW EPOCHS."""
    reader = binder.reader
    token = reader.current
    table = _required(binder, binder.table(), token)
    return ShowEpochs(table, reader.whole_number("a number of epochs") if reader.match("LIMIT") else None)


def epoch_insert(
    binder: CommandBinder, table: Table, history: Table | None = None, late_rows: Table | None = None
) -> Insert | MultiInsert:
    """Bind the query of a continuous table or sink, the whole text, as an INSERT of its rows, or of those of its state,
    by name; inputs may have changed since it was defined. `history`, `late_rows`: see `bind_epoch`.
    """
    if not table.is_state:
        return _insert_by_name(binder, table, binder.query())
    state = _state(binder, table)
    added, late = state.delta(lambda: _rows_of(binder, table)), None
    if late_rows is not None:
        late = state.late_rows(lambda: _rows_of(binder, table))
    if history is not None:
        added = _over_history(binder, added, history)
        # Nothing is closed before the first rows have come.
        late = None
    insert = _insert_by_name(binder, table, added)
    if late_rows is None or late is None:
        return insert
    return MultiInsert(Values((), ()), (insert, _insert_by_name(binder, late_rows, late)))


def _insert_by_name(binder: CommandBinder, table: Table, query: LogicalPlan) -> Insert:
    columns = {column.name: column for column in query.output}
    if missing := next((name for name in table.schema.names if name not in columns), None):
        message = f'the query of {table.qualified_name} has no column "{missing}" any more'
        raise binder.error(message, None, ColumnNotFoundError)
    ordered = Project(query, tuple(columns[name] for name in table.schema.names))
    rows = insertable(binder, table, ordered, None, None, table.schema)
    return Insert(table, rows, False, tuple((name, None) for name in table.partition_columns))


def _over_history(binder: CommandBinder, plan: LogicalPlan, history: Table) -> LogicalPlan:
    """The plan with the rows of the view `history` in the place of those of the stream that has its id."""

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
    """Bind the query of a continuous table, the whole text, as those that fold rows of its state, each for a file of
    its own; `is_first`: no rows are before them.
    """
    plans = _state(binder, state).folds(lambda: _rows_of(binder, state), is_first=is_first)
    return tuple(insertable(binder, state, rows, None, None, state.schema) for rows in plans)


def state_watermark(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind the query of a continuous table, the whole text, as one that gives the watermark of its state."""
    return _state(binder, state).watermark(lambda: _rows_of(binder, state))


def state_progress(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Bind the query of a continuous table, the whole text, as one that tells how far the times of its streams are."""
    return _state(binder, state).progress(lambda: _rows_of(binder, state))


def _rows_of(binder: CommandBinder, state: Table) -> LogicalPlan:
    """Scan of a state, without virtual columns that the query names."""
    return scan(dataclasses.replace(binder.context, text=""), state)


def _state(binder: CommandBinder, state: Table) -> DividedQuery:
    found = division(binder.query(), binder.context, state.emit, expires=state.expires)
    if found is None or found.schema.names != state.schema.names:
        raise binder.error("the query has another state than when it was defined", None, sqlstate="55000")
    return found
