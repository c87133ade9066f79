"""CREATE CONTINUOUS TABLE, INSERT and SINK, and the statements that control and list continuous queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.model import CLAUSE_PROPERTIES, StreamSource, Table, TableKind
from sharkpy.catalog.stream_kinds import SINK_KINDS, SinkKind, sink_kind
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.plan.commands import (
    AlterContinuous,
    ContinuousAction,
    ControlContinuous,
    CreateContinuousInsert,
    CreateContinuousSink,
    CreateContinuousTable,
    CreateTable,
    RollbackContinuous,
    ShowEpochs,
)
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.queries.bind_view import divided_view
from sharkpy.sql.statements.bind_columns import output_fields, without_void
from sharkpy.sql.statements.bind_epoch import new_state
from sharkpy.sql.statements.bind_table_clauses import cached_by_name, partitioned_columns, storage_of_clauses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.stored_queries import StoredQuery, bind_stored_inserts, bind_stored_query
from sharkpy.sql.statements.stream_clauses import (
    StreamClauses,
    bind_divided_query,
    check_altered,
    checked_options,
    continuous_clauses,
    divide_sink_queries,
    on_bad_row_clause,
    other_state_error,
    read_moment,
    stream_clauses,
    trigger_clause,
    without_emit_changes,
    without_stream_words,
)
from sharkpy.values.types import Schema

_OF_INSERTS = "of a continuous insert, whose targets would get a row for each change,"
_Created = TypeVar("_Created", CreateContinuousTable, CreateContinuousInsert, CreateContinuousSink)


def bind_create_continuous(
    binder: CommandBinder,
) -> CreateContinuousTable | CreateContinuousInsert | CreateContinuousSink:
    """Bind CONTINUOUS TABLE, INSERT or SINK, after CREATE.

    The forms are: TABLE name [clauses] AS query; INSERT name [TRIGGER …] AS INSERTs; SINK name TO kind [format]
    [TRIGGER …] AS query. Each may have IF NOT EXISTS, ON BAD ROW and START FROM.
    """
    binder.reader.expect("CONTINUOUS")
    word = binder.reader.expect_any("TABLE", "INSERT", "SINK")
    rewritten = without_emit_changes(binder)
    if word == "TABLE":
        return _whole(binder, rewritten, _table)
    return _whole(binder, rewritten, continuous_sink) if word == "SINK" else _whole(binder, rewritten, _insert)


def bind_create_alias(binder: CommandBinder) -> CreateContinuousTable:
    """Bind STREAMING TABLE, or MATERIALIZED VIEW over streams, after CREATE.

    These are other systems' words for a continuous table. The rest of the statement is the same.
    """
    from sharkpy.sql.incremental.divide_query import NoStreamError

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
    """Bind the rest of a statement in its rewritten form."""
    command = bind(rewritten)
    rewritten.reader.expect_end()
    binder.reader.position = len(binder.reader.tokens)
    return command


def _insert(binder: CommandBinder) -> CreateContinuousInsert:
    if_not_exists = binder.reader.if_not_exists()
    place = binder.new_name()
    clauses_of_stream = stream_clauses(binder, StreamClauses())
    binder.reader.expect("AS")
    kept, given = bind_stored_inserts(
        binder, place[0], lambda queries: divide_sink_queries(binder, queries, clauses_of_stream, _OF_INSERTS)
    )
    return CreateContinuousInsert(
        *place,
        if_not_exists,
        kept.command,
        kept.text,
        clauses_of_stream.trigger,
        clauses_of_stream.on_bad_row,
        clauses_of_stream.start,
        None if given is None else new_state(binder, given.state, given.emit, clauses_of_stream.late_rows),
        clauses_of_stream.is_unbounded,
    )


def _table(binder: CommandBinder) -> CreateContinuousTable:
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    database, name = binder.new_name()
    reader.match("DISABLE", "REWRITE")  # of materialized views: queries are never rewritten
    clauses, clauses_of_stream = continuous_clauses(binder)
    if clauses.buckets is not None or clauses.skew is not None:
        raise reader.unsupported("CLUSTERED BY or SKEWED BY of a continuous table")
    if (key := next((key for key, _ in clauses.properties or () if key in CLAUSE_PROPERTIES), None)) is not None:
        raise reader.unsupported(f'the property "{key}" of a continuous table')
    reader.match("AS")
    kept, state = bind_divided_query(binder, clauses_of_stream, database)
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
        location=clauses.location,
        partition_columns=partitions,
    )
    has_form = clauses.row is not None or clauses.file is not None
    if state is not None and (partitions or has_form):
        raise reader.unsupported("PARTITIONED BY or a format of a continuous table with state")
    kept_state = (
        None if state is None else new_state(binder, state, clauses_of_stream.emit, clauses_of_stream.late_rows)
    )
    common = clauses_of_stream.trigger, clauses_of_stream.on_bad_row, clauses_of_stream.start
    return CreateContinuousTable(table, query, kept.text, *common, kept_state, clauses_of_stream.is_unbounded)


def bind_control(binder: CommandBinder) -> ControlContinuous:
    """Bind PAUSE | RESUME | REFRESH CONTINUOUS TABLE | INSERT | SINK name."""
    action = ContinuousAction(binder.reader.expect_any("PAUSE", "RESUME", "REFRESH"))
    return _controlled(binder, action, _kind(binder))


def bind_rollback(binder: CommandBinder) -> RollbackContinuous:
    """Bind ROLLBACK CONTINUOUS TABLE | INSERT name TO EPOCH n | TO TIMESTAMP 'moment'."""
    reader = binder.reader
    reader.expect("ROLLBACK")
    kind = _kind(binder)
    token = reader.current
    table = _with_own_rows(binder, _required(binder, binder.table(), token, kind), token, "ROLLBACK")
    reader.expect("TO")
    if reader.expect_any("EPOCH", "TIMESTAMP") == "EPOCH":
        return RollbackContinuous(table, VersionPoint(reader.whole_number("the number of an epoch")))
    return RollbackContinuous(table, VersionPoint(moment_ms=read_moment(binder)))


def bind_drop_continuous(binder: CommandBinder) -> ControlContinuous:
    """Bind CONTINUOUS TABLE | INSERT | SINK [IF EXISTS] name, after DROP.

    STREAMING TABLE and MATERIALIZED VIEW are synonyms of CONTINUOUS TABLE.
    """
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
    """Return the table if only its query writes its rows.

    For ROLLBACK, a continuous insert with state is accepted, too. Raise UnsupportedError for other continuous inserts
    and sinks.
    """
    goes_back = action == "ROLLBACK" and table.is_continuous_insert and table.has_state
    if table.has_no_rows and not goes_back:
        hint = "the rows of a continuous table come only from its query"
        why = sink_kind(table).why_kept if table.is_continuous_sink else "its targets have other rows too"
        message = f"{action} of {table.qualified_name}, a {table.streaming_kind}: {why}"
        raise binder.error(message, token, UnsupportedError, hint)
    return table


def _kind(binder: CommandBinder) -> str:
    """Read CONTINUOUS TABLE | INSERT | SINK."""
    binder.reader.expect("CONTINUOUS")
    return f"continuous {binder.reader.expect_any('TABLE', 'INSERT', 'SINK').lower()}"


def _required(binder: CommandBinder, table: Table, token: Token | None, kind: str = "") -> Table:
    """Return the table if it is of the `kind`, or, without a kind, if it has a continuous query.

    Raise BindError 42809 otherwise.
    """
    if not table.continuous or (kind and table.streaming_kind != kind):
        is_other = bool(kind and table.continuous)
        hint = f"it is a {table.streaming_kind}" if is_other else None
        message = f"{table.qualified_name} is not a {kind or 'continuous table'}"
        raise binder.error(message, token, hint=hint, sqlstate="42809")
    return table


def bind_alter_continuous(binder: CommandBinder) -> AlterContinuous:
    """Bind CONTINUOUS TABLE | SINK | INSERT name [TRIGGER …] [ON BAD ROW …] [AS …], after ALTER.

    A table or sink takes a query after AS, an insert takes INSERTs.
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
        inserts, _ = bind_stored_inserts(binder, table.database, lambda queries: check_altered(binder, table, queries))
        return AlterContinuous(table, inserts.command, inserts.text, trigger, on_bad_row)
    token = reader.current
    if table.has_state and not table.gives:
        clauses = StreamClauses(is_unbounded=not table.expires, emit=table.emit)
        kept, state = bind_divided_query(binder, clauses, table.database)
        with binder.place_of(token):
            if state is None or not state.has_state_of(divided_view(binder.context, table)):
                raise other_state_error(table)
    else:
        kept = bind_stored_query(binder, table.database)
        with binder.place_of(token):
            check_altered(binder, table, [kept.plan])
    _check_columns(binder, table, kept, token)
    return AlterContinuous(table, kept.plan, kept.text, trigger, on_bad_row)


def _check_columns(binder: CommandBinder, table: Table, kept: StoredQuery, token: Token | None) -> None:
    """Check that a new query has the columns of the table, which rows of earlier epochs have."""
    given = [column.name for column in kept.plan.output]
    if sorted(given) != sorted(table.schema.names):
        known = ", ".join(table.schema.names)
        message = f"the query has the columns {', '.join(given)}"
        hint = f"for other columns, create a new one: CREATE {table.streaming_kind.upper()}"
        raise binder.error(f"{message}, and {table.qualified_name} has {known}", token, hint=hint, sqlstate="42809")


def bind_show_epochs(binder: CommandBinder) -> ShowEpochs:
    """Bind table [LIMIT n], after SHOW EPOCHS."""
    reader = binder.reader
    token = reader.current
    table = _required(binder, binder.table(), token)
    return ShowEpochs(table, reader.whole_number("a number of epochs") if reader.match("LIMIT") else None)


_OTHERS = ("location", "buckets", "skew", "partitions", "properties")
"""Clauses of tables that sinks do not have."""


def continuous_sink(binder: CommandBinder) -> CreateContinuousSink:
    """Bind [IF NOT EXISTS] name TO kind ['place'] [(options)] [clauses for format and comment] [TRIGGER …] AS query."""
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    place = binder.new_name()
    reader.expect("TO")
    kind = _sink_kind(binder)
    outside = reader.string(kind.place) if kind.place else ""
    sink = StreamSource(kind.name, checked_options(binder, kind.check), outside)
    clauses, clauses_of_stream = continuous_clauses(binder, kind.seconds)
    for other in _OTHERS:
        if getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a continuous sink")
    storage = storage_of_clauses(binder, clauses)
    if storage is not None and not kind.takes_format:
        raise reader.unsupported(f"a format of a continuous sink TO {kind.name}")
    reader.match("AS")
    token = reader.current
    kept = bind_stored_query(binder, place[0])
    with binder.place_of(token):
        given = divide_sink_queries(binder, [kept.plan], clauses_of_stream, _only_final(kind, kept.plan))
    query = without_void(binder, kept.plan)
    columns = Schema(tuple(output_fields(binder, query)))
    return CreateContinuousSink(
        *place,
        if_not_exists,
        sink,
        storage,
        clauses.comment,
        columns,
        query,
        kept.text,
        clauses_of_stream.trigger,
        clauses_of_stream.on_bad_row,
        clauses_of_stream.start,
        None if given is None else new_state(binder, given.state, given.emit, clauses_of_stream.late_rows),
        clauses_of_stream.is_unbounded,
    )


def _only_final(kind: SinkKind, query: LogicalPlan) -> str:
    """Text that says why a sink accepts only final rows; empty if it accepts changes."""
    what = f"of a continuous sink TO {kind.name}"
    if not kind.takes_changes:
        return f"{what}, which cannot tell changed rows from new ones,"
    has_key = not kind.key or kind.key in (column.name for column in query.output)
    return "" if has_key else f"{what} without a column {kind.key}, which identifies the changed rows,"


def _sink_kind(binder: CommandBinder) -> SinkKind:
    reader = binder.reader
    word = reader.word()
    if word not in SINK_KINDS:
        raise reader.error(f"{' or '.join(SINK_KINDS)} expected")
    reader.take()
    return SINK_KINDS[word]
