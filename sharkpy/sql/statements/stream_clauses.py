"""Clauses of continuous queries, and the queries themselves."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.base.errors import ColumnNotFoundError, SharkError
from sharkpy.catalog.continuous_query import Trigger, TriggerKind
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import History, OnBadRow, StartFrom
from sharkpy.sql.moment import MOMENT_HINT, milliseconds, moment_text
from sharkpy.sql.statements.check_incremental import check_incremental
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.query_text import KeptQuery, kept_query

CLAUSES = ("TRIGGER", "EMIT", "LATE", "ON", "START")
"""Words that begin the clauses behind those of tables."""
_UNITS = {
    **dict.fromkeys(("MS", "MILLISECOND", "MILLISECONDS"), 0.001),
    **dict.fromkeys(("S", "SECOND", "SECONDS"), 1.0),
    **dict.fromkeys(("MINUTE", "MINUTES"), 60.0),
    **dict.fromkeys(("HOUR", "HOURS"), 3600.0),
}
_LONGEST = 7 * 24 * 3600.0
"""Longest time between two epochs, in seconds."""


def continuous_query(binder: CommandBinder) -> KeptQuery:
    """Bind the rest of the statement as a query that can be kept up to date."""
    token = binder.reader.current
    kept = kept_query(binder)
    try:
        check_incremental(kept.plan)
    except SharkError as error:
        raise binder.error(error.message, token, type(error), error.hint, error.sqlstate) from None
    return kept


def checked_options(
    binder: CommandBinder, check: Callable[[tuple[tuple[str, str], ...]], None]
) -> tuple[tuple[str, str], ...]:
    """Read ('option' = 'value', …), if it is there. What `check` raises is an error at its place."""
    token = binder.reader.current
    options = binder.reader.properties() if binder.reader.peek("(") else ()
    try:
        check(options)
    except SharkError as error:
        raise binder.error(error.message, token, type(error), error.hint, error.sqlstate) from None
    return options


def stream_clauses(binder: CommandBinder, seconds: float = 0.0) -> tuple[Trigger, OnBadRow, StartFrom]:
    """Read the clauses of a continuous query: its trigger, by default one with `seconds` between two epochs, what is
    done with records that do not parse, and where it begins.
    """
    reader = binder.reader
    trigger, on_bad_row, start = Trigger(seconds=seconds), OnBadRow(), StartFrom()
    while True:
        if reader.match("TRIGGER"):
            trigger = trigger_clause(binder)
        elif reader.match("EMIT"):
            # Rows that have come do not change, without state: what is emitted is the same.
            if not reader.match_any("APPEND", "CHANGES"):
                raise reader.unsupported(f"EMIT {reader.word()}")
        elif (given := on_bad_row_clause(binder)) is not None:
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
    moment = moment_of(binder)
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


def moment_of(binder: CommandBinder) -> int:
    """Read a text as a moment, in milliseconds since 1970."""
    token = binder.reader.current
    text = binder.reader.string("a moment")
    moment = milliseconds(text, binder.context.conf)
    if moment is None:
        raise binder.error(f'"{text}" is no moment', token, hint=MOMENT_HINT, sqlstate="22007")
    return moment


def on_bad_row_clause(binder: CommandBinder) -> OnBadRow | None:
    """Read ON BAD ROW NULL | ON BAD ROW SKIP TO table, if it is there."""
    reader = binder.reader
    if not reader.match("ON", "BAD", "ROW"):
        return None
    if reader.expect_any("NULL", "SKIP") == "NULL":
        return OnBadRow()
    reader.expect("TO")
    return OnBadRow(binder.new_name())


def trigger_clause(binder: CommandBinder) -> Trigger:
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
