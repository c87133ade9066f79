"""CREATE CONTINUOUS TABLE, and what steers and lists continuous queries; the rows of an epoch as an INSERT."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import ColumnNotFoundError, SharkError, UnsupportedError
from sharkpy.catalog.continuous_query import EpochPoint, Trigger, TriggerKind
from sharkpy.catalog.model import Table, TableKind
from sharkpy.plan.commands import (
    AlterContinuous,
    ContinuousAction,
    ControlContinuous,
    CreateContinuousInsert,
    CreateContinuousSink,
    CreateContinuousTable,
    CreateTable,
    History,
    Insert,
    OnBadRow,
    RollbackContinuous,
    ShowEpochs,
    StartFrom,
)
from sharkpy.plan.logical import Project
from sharkpy.sql.moment import MOMENT_HINT, milliseconds, moment_text
from sharkpy.sql.statements.bind_columns import output_fields, without_void
from sharkpy.sql.statements.bind_continuous_insert import create_continuous_insert, kept_inserts
from sharkpy.sql.statements.bind_insert import insertable
from sharkpy.sql.statements.bind_table_clauses import ENDS, table_clauses
from sharkpy.sql.statements.check_incremental import check_incremental
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.query_text import KeptQuery, kept_query
from sharkpy.sql.statements.table_parts import cached_by_name, partitioned_columns, storage_of_clauses
from sharkpy.values.types import Schema

_CLAUSES = ("TRIGGER", "EMIT", "LATE", "ON", "START")
"""Words that begin the clauses behind those of tables."""
_UNITS = {
    **dict.fromkeys(("MS", "MILLISECOND", "MILLISECONDS"), 0.001),
    **dict.fromkeys(("S", "SECOND", "SECONDS"), 1.0),
    **dict.fromkeys(("MINUTE", "MINUTES"), 60.0),
    **dict.fromkeys(("HOUR", "HOURS"), 3600.0),
}
_SINK_SECONDS = 60.0
"""Time between the epochs of a sink without TRIGGER: its files are not folded, and so must not be tiny."""
_LONGEST = 7 * 24 * 3600.0
"""Longest time between two epochs, in seconds."""


def bind_create_continuous(
    binder: CommandBinder,
) -> CreateContinuousTable | CreateContinuousInsert | CreateContinuousSink:
    """Bind what stands behind CREATE: CONTINUOUS TABLE name [clauses of tables] [TRIGGER …] [EMIT APPEND] AS query,
    CONTINUOUS INSERT name [TRIGGER …] AS INSERTs, or CONTINUOUS SINK name TO FOLDER 'path' [format] [TRIGGER …] AS
    query; each with IF NOT EXISTS, ON BAD ROW and START FROM.
    """
    reader = binder.reader
    reader.expect("CONTINUOUS")
    word = reader.expect_any("TABLE", "INSERT", "SINK")
    if_not_exists = reader.if_not_exists()
    database, name = binder.new_name()
    if word == "SINK":
        return _sink(binder, (database, name), if_not_exists)
    if word == "INSERT":
        clauses_of_stream = _stream_clauses(binder)
        reader.expect("AS")
        return create_continuous_insert(binder, (database, name), if_not_exists, *clauses_of_stream)
    clauses = table_clauses(binder, (), (*ENDS, *_CLAUSES))
    if clauses.location is not None or clauses.buckets is not None or clauses.skew is not None:
        raise reader.unsupported("LOCATION, CLUSTERED BY or SKEWED BY of a continuous table")
    clauses_of_stream = _stream_clauses(binder)
    reader.match("AS")
    kept = _continuous_query(binder)
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
    return CreateContinuousTable(table, query, kept.text, *clauses_of_stream)


def _sink(binder: CommandBinder, place: tuple[str, str], if_not_exists: bool) -> CreateContinuousSink:
    """Bind TO FOLDER 'path' [clauses for format and comment] [TRIGGER …] AS query."""
    reader = binder.reader
    reader.expect("TO")
    if reader.word() in ("KAFKA", "PROGRAM"):
        raise reader.unsupported(f"a continuous sink TO {reader.word()}")
    reader.expect("FOLDER")
    path = reader.string("a path")
    clauses = table_clauses(binder, (), (*ENDS, *_CLAUSES))
    for other in ("location", "buckets", "skew", "partitions", "properties"):
        if getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a continuous sink")
    trigger, on_bad_row, start = _stream_clauses(binder, _SINK_SECONDS)
    reader.match("AS")
    kept = _continuous_query(binder)
    query = without_void(binder, kept.plan)
    columns = Schema(tuple(output_fields(binder, query)))
    storage = storage_of_clauses(binder, clauses)
    return CreateContinuousSink(
        *place, if_not_exists, path, storage, clauses.comment, columns, query, kept.text, trigger, on_bad_row, start
    )


def _continuous_query(binder: CommandBinder) -> KeptQuery:
    """Bind the rest of the statement as a query that can be kept up to date."""
    token = binder.reader.current
    kept = kept_query(binder)
    try:
        check_incremental(kept.plan)
    except SharkError as error:
        raise binder.error(error.message, token, type(error), error.hint, error.sqlstate) from None
    return kept


def _stream_clauses(binder: CommandBinder, seconds: float = 0.0) -> tuple[Trigger, OnBadRow, StartFrom]:
    """Read the clauses of a continuous query: its trigger, by default one with `seconds` between two epochs, what is
    done with records that do not parse, and where it begins.
    """
    reader = binder.reader
    trigger, on_bad_row, start = Trigger(seconds=seconds), OnBadRow(), StartFrom()
    while True:
        if reader.match("TRIGGER"):
            trigger = _trigger(binder)
        elif reader.match("EMIT"):
            if not reader.match("APPEND"):
                raise reader.unsupported(f"EMIT {reader.word()}")
        elif (given := _on_bad_row(binder)) is not None:
            on_bad_row = given
        elif reader.match("START", "FROM"):
            start = _start_from(binder)
        elif reader.word() in ("LATE", "ON", "START") or reader.peek("WITH", "UNBOUNDED"):
            words = " ".join(token.text.upper() for token in reader.rest[:2])
            raise reader.unsupported(f"{words} in a continuous query")
        else:
            return trigger, on_bad_row, start


def _start_from(binder: CommandBinder) -> StartFrom:
    """Read EARLIEST | LATEST | TIMESTAMP 'moment', or TABLE table THEN STREAM stream [FROM one of these]."""
    reader = binder.reader
    if reader.match("TABLE"):
        history = _history(binder)
        words = f"TABLE {_quoted(history.table)} THEN STREAM {_quoted(history.stream)}"
        if history.then is not None:
            words = f"{words} FROM {history.then.words or 'EARLIEST'}"
        return StartFrom(words, history=history)
    word = reader.expect_any("EARLIEST", "LATEST", "TIMESTAMP")
    if word != "TIMESTAMP":
        return StartFrom() if word == "EARLIEST" else StartFrom(word)
    moment = _moment(binder)
    return StartFrom(f"TIMESTAMP '{moment_text(moment)}'", moment)


def _history(binder: CommandBinder) -> History:
    """Read table THEN STREAM stream [FROM EARLIEST | LATEST | TIMESTAMP 'moment']."""
    reader = binder.reader
    token = reader.current
    table = binder.table()
    if not table.is_stored:
        kind = table.streaming_kind or "view"
        message = f"{table.qualified_name} is a {kind}, and has no rows of its own"
        raise binder.error(message, token, hint="START FROM TABLE reads a table", sqlstate="42809")
    reader.expect("THEN", "STREAM")
    token = reader.current
    stream = binder.table()
    if not stream.is_stream:
        raise binder.error(f"{stream.qualified_name} is no stream", token, sqlstate="42809")
    known = set(table.schema.names)
    if missing := [name for name in stream.schema.names if name not in known]:
        message = f"{table.qualified_name} has no column {missing[0]}, as the stream {stream.qualified_name} has"
        raise binder.error(message, token, ColumnNotFoundError)
    return History(table, stream, _start_from(binder) if reader.match("FROM") else None)


def _quoted(table: Table) -> str:
    return f"`{table.database}`.`{table.name}`"


def _moment(binder: CommandBinder) -> int:
    """Read a text as a moment, in milliseconds since 1970."""
    token = binder.reader.current
    text = binder.reader.string("a moment")
    moment = milliseconds(text, binder.context.conf)
    if moment is None:
        raise binder.error(f'"{text}" is no moment', token, hint=MOMENT_HINT, sqlstate="22007")
    return moment


def _on_bad_row(binder: CommandBinder) -> OnBadRow | None:
    """Read ON BAD ROW NULL | ON BAD ROW SKIP TO table, if it is there."""
    reader = binder.reader
    if not reader.match("ON", "BAD", "ROW"):
        return None
    if reader.expect_any("NULL", "SKIP") == "NULL":
        return OnBadRow()
    reader.expect("TO")
    return OnBadRow(binder.new_name())


def _trigger(binder: CommandBinder) -> Trigger:
    """Read ONCE | AVAILABLE NOW | EVERY n unit."""
    reader = binder.reader
    if reader.match("ONCE"):
        return Trigger(TriggerKind.ONCE)
    if reader.match("AVAILABLE", "NOW"):
        return Trigger(TriggerKind.AVAILABLE_NOW)
    if not reader.match("EVERY"):
        raise reader.error("EVERY, ONCE or AVAILABLE NOW expected")
    token = reader.current
    number = reader.whole_number()
    unit = reader.word()
    if unit not in _UNITS:
        raise reader.error("MILLISECONDS, SECONDS, MINUTES or HOURS expected")
    reader.take()
    seconds = number * _UNITS[unit] if number <= _LONGEST * 1000 else _LONGEST + 1
    if seconds > _LONGEST:
        raise binder.error("a trigger waits for 7 days at most", token, sqlstate="22023")
    return Trigger(TriggerKind.EVERY, seconds)


def bind_control(binder: CommandBinder) -> ControlContinuous:
    """Bind PAUSE | RESUME | REFRESH CONTINUOUS TABLE | INSERT | SINK name."""
    action = ContinuousAction(binder.reader.expect_any("PAUSE", "RESUME", "REFRESH"))
    return _controlled(binder, action)


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
    return RollbackContinuous(table, EpochPoint(moment_ms=_moment(binder)))


def bind_drop_continuous(binder: CommandBinder) -> ControlContinuous:
    """Bind CONTINUOUS TABLE | INSERT | SINK [IF EXISTS] name, behind DROP."""
    return _controlled(binder, ContinuousAction.DROP)


def _controlled(binder: CommandBinder, action: ContinuousAction) -> ControlContinuous:
    reader = binder.reader
    kind = _kind(binder)
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
        why = "others may have read its files" if table.is_continuous_sink else "its targets have other rows too"
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
    trigger = _trigger(binder) if reader.match("TRIGGER") else None
    on_bad_row = _on_bad_row(binder)
    if not reader.peek("AS"):
        if trigger is None and on_bad_row is None:
            raise reader.error("TRIGGER, ON BAD ROW or AS query expected")
        return AlterContinuous(table, trigger=trigger, on_bad_row=on_bad_row)
    reader.expect("AS")
    if table.is_continuous_insert:
        inserts = kept_inserts(binder)
        return AlterContinuous(table, inserts.command, inserts.text, trigger, on_bad_row)
    token = reader.current
    kept = _continuous_query(binder)
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


def bind_show_epochs(binder: CommandBinder) -> ShowEpochs:
    """Bind table [LIMIT n], behind SHOW EPOCHS."""
    reader = binder.reader
    token = reader.current
    table = _required(binder, binder.table(), token)
    return ShowEpochs(table, reader.whole_number("a number of epochs") if reader.match("LIMIT") else None)


def epoch_insert(binder: CommandBinder, table: Table) -> Insert:
    """Bind the query of a continuous table or sink, the whole text, as an INSERT of its rows, by name; inputs may have
    changed since it was defined.
    """
    query = binder.query()
    columns = {column.name: column for column in query.output}
    if missing := next((name for name in table.schema.names if name not in columns), None):
        message = f'the query of {table.qualified_name} has no column "{missing}" any more'
        raise binder.error(message, None, ColumnNotFoundError)
    ordered = Project(query, tuple(columns[name] for name in table.schema.names))
    rows = insertable(binder, table, ordered, None, None, table.schema)
    return Insert(table, rows, False, tuple((name, None) for name in table.partition_columns))
