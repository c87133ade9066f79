"""Clauses of continuous queries, the queries themselves, and syntax of other systems for them.

That is CREATE STREAMING TABLE, CREATE MATERIALIZED VIEW, STREAM(name) and EMIT CHANGES. Words without a meaning here
are replaced by spaces in the text. The stored query then has none of them, and errors keep their places.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError, ColumnNotFoundError, SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode, Trigger, TriggerKind
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import History, OnBadRow, StartFrom
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.session_time import MOMENT_HINT, moment_text, parse_moment
from sharkpy.sql.statements.bind_table_clauses import ENDS, TableClauses, read_clauses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.stored_queries import StoredQuery, bind_stored_query

if TYPE_CHECKING:
    from sharkpy.sql.incremental.divide_query import EmittingQueries
    from sharkpy.sql.incremental.divided_query import DividedQuery

_CLAUSES = ("TRIGGER", "EMIT", "LATE", "ON", "START", "WITH")
"""Words that begin the clauses of continuous queries."""
_UNITS = {
    **dict.fromkeys(("MS", "MILLISECOND", "MILLISECONDS"), 0.001),
    **dict.fromkeys(("S", "SECOND", "SECONDS"), 1.0),
    **dict.fromkeys(("MINUTE", "MINUTES"), 60.0),
    **dict.fromkeys(("HOUR", "HOURS"), 3600.0),
}
_LONGEST = 7 * 24 * 3600.0
"""Maximum time between two epochs, in seconds."""


@dataclass(frozen=True, slots=True)
class StreamClauses:
    """Clauses of a continuous query.

    They are its trigger, the treatment of bad records, its start, its output mode, and whether its state may grow with
    the streams.
    """

    trigger: Trigger = field(default_factory=Trigger)
    on_bad_row: OnBadRow = field(default_factory=OnBadRow)
    start: StartFrom = field(default_factory=StartFrom)
    emit: EmitMode | None = None
    """Output mode (EMIT …), or None if the query decides it."""
    is_unbounded: bool = False
    late_rows: tuple[str, str] | None = None
    """Table for late rows: its database and name."""


def check_altered(binder: CommandBinder, table: Table, queries: Sequence[LogicalPlan]) -> None:
    """Check new queries of a continuous insert or sink, or of a table without state.

    Raise UnsupportedError if they cannot be maintained with the stored state. Whether they have the same state is
    checked when the old queries are bound.
    """
    from sharkpy.sql.incremental.divide_query import check_row_wise, needs_state

    if not table.has_state:
        for query in queries:
            check_row_wise(query)
        return
    if not needs_state(queries):
        raise other_state_error(table)
    divide_sink_queries(binder, queries, StreamClauses(is_unbounded=not table.expires, emit=table.emit))


def other_state_error(table: Table) -> SharkError:
    """Return the error for another query of `table` whose state differs from the stored one."""
    hint = "keep the tables, groups and aggregates of the query, or create a new one"
    return BindError(
        f"the state of {table.qualified_name} belongs to another query",
        hint=f"{hint}: CREATE {table.streaming_kind.upper()}",
        sqlstate="42809",
    )


def bind_divided_query(
    binder: CommandBinder, clauses: StreamClauses, database: str
) -> tuple[StoredQuery, DividedQuery | None]:
    """Bind the rest of the statement as a continuous query. Divide it if it needs state."""
    from sharkpy.sql.incremental.divide_query import divide_query

    token = binder.reader.current
    kept = bind_stored_query(binder, database)
    with binder.place_of(token):
        expires = not clauses.is_unbounded and clauses.emit is not EmitMode.RECOMPUTE
        found = divide_query(kept.plan, binder.context, clauses.emit, expires=expires)
        if found is None:
            check_row_wise_clauses(clauses)
        else:
            _check_clauses(clauses, found)
    return kept, found


def divide_sink_queries(
    binder: CommandBinder, queries: Sequence[LogicalPlan], clauses: StreamClauses, only_final: str = ""
) -> EmittingQueries | None:
    """Divide the queries of a continuous insert or sink; None if none of them needs state.

    `only_final` is the reason why the target accepts only final rows; empty if it accepts changes.
    """
    from sharkpy.sql.incremental.divide_query import divide_emitting_queries, needs_state

    if not needs_state(queries):
        check_row_wise_clauses(clauses)
        return None
    emit = clauses.emit or EmitMode.APPEND
    if emit not in (EmitMode.APPEND, EmitMode.UPDATE):
        hint = "use EMIT APPEND, which gives final rows; a reader of a continuous table sees all rows"
        raise UnsupportedError(f"EMIT {emit.value} of an insert or a sink is not supported", hint=hint)
    if emit is EmitMode.UPDATE and only_final:
        hint = "use EMIT APPEND, which gives final rows, or CREATE CONTINUOUS TABLE, which has the current rows"
        raise UnsupportedError(f"EMIT UPDATE {only_final} is not supported", hint=hint)
    found = divide_emitting_queries(queries, binder.context, emit, expires=not clauses.is_unbounded)
    _check_clauses(clauses, found.state)
    return found


def check_row_wise_clauses(clauses: StreamClauses) -> None:
    """Raise UnsupportedError for clauses that only queries with state have."""
    if clauses.emit is not None and clauses.emit is not EmitMode.APPEND:
        message = f"EMIT {clauses.emit.value} of a query whose rows never change is not supported"
        raise UnsupportedError(message, hint="use EMIT APPEND, or leave EMIT out")
    if clauses.is_unbounded:
        message = "WITH UNBOUNDED STATE of a query that needs no state is not supported"
        raise UnsupportedError(message, hint="leave it out")
    if clauses.late_rows is not None:
        raise _no_late_rows()


def _no_late_rows() -> SharkError:
    hint = "EMIT APPEND of windows, sessions or window functions by a time with a WATERMARK leaves out late rows"
    return UnsupportedError("LATE ROWS TO of a query that leaves out no rows is not supported", hint=hint)


def _check_clauses(clauses: StreamClauses, query: DividedQuery) -> None:
    if clauses.late_rows is not None and query.late_rows(query.nothing) is None:
        raise _no_late_rows()
    may_grow = clauses.is_unbounded or clauses.emit is EmitMode.RECOMPUTE
    if (growth := query.growth) is not None and not may_grow:
        raise UnsupportedError(growth, hint="write WITH UNBOUNDED STATE before AS to allow it")


def checked_options(
    binder: CommandBinder, check: Callable[[tuple[tuple[str, str], ...]], None]
) -> tuple[tuple[str, str], ...]:
    """Read ('option' = 'value', …), if it comes next. Errors of `check` are placed at the options."""
    token = binder.reader.current
    options = binder.reader.properties() if binder.reader.peek("(") else ()
    with binder.place_of(token):
        check(options)
    return options


def continuous_clauses(binder: CommandBinder, seconds: float = 0.0) -> tuple[TableClauses, StreamClauses]:
    """Read the clauses of a table or sink and of its continuous query, in any order.

    `seconds` is the default time between two epochs.
    """
    of_table, of_stream = TableClauses(()), StreamClauses(Trigger(seconds=seconds))
    place = -1
    while place != binder.reader.position:
        place = binder.reader.position
        read_clauses(binder, of_table, (*ENDS, *_CLAUSES))
        of_stream = stream_clauses(binder, of_stream)
    return of_table, of_stream


def stream_clauses(binder: CommandBinder, found: StreamClauses) -> StreamClauses:
    """Read more clauses of a continuous query."""
    reader = binder.reader
    while True:
        if reader.match("TRIGGER"):
            found = replace(found, trigger=trigger_clause(binder))
        elif reader.match("EMIT"):
            found = replace(found, emit=_emit(binder))
        elif (given := on_bad_row_clause(binder)) is not None:
            found = replace(found, on_bad_row=given)
        elif reader.match("START", "FROM"):
            found = replace(found, start=_start_from(binder))
        elif reader.match("LATE", "ROWS", "TO"):
            found = replace(found, late_rows=binder.new_name())
        elif reader.match("WITH", "UNBOUNDED", "STATE"):
            found = replace(found, is_unbounded=True)
        elif reader.word() in ("LATE", "ON", "START") or reader.peek("WITH", "UNBOUNDED"):
            words = " ".join(token.text.upper() for token in reader.rest[:2])
            raise reader.unsupported(f"{words} in a continuous query")
        else:
            return found


def _emit(binder: CommandBinder) -> EmitMode | None:
    """Read APPEND | UPDATE | COMPLETE [WITH RECOMPUTE], or CHANGES, which other systems use for the default."""
    reader = binder.reader
    word = reader.match_any("APPEND", "UPDATE", "COMPLETE", "CHANGES")
    if not word:
        raise reader.unsupported(f"EMIT {reader.word()}")
    if not reader.match("WITH", "RECOMPUTE"):
        return None if word == "CHANGES" else EmitMode(word)
    if word != "COMPLETE":
        raise reader.error("EMIT COMPLETE WITH RECOMPUTE expected")
    return EmitMode.RECOMPUTE


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
    moment = read_moment(binder)
    return StartFrom(f"TIMESTAMP '{moment_text(moment)}'", moment)


def _history(binder: CommandBinder) -> History:
    """Read table THEN STREAM stream [FROM EARLIEST | LATEST | TIMESTAMP 'moment']."""
    reader = binder.reader
    token = reader.current
    table = binder.table()
    if not table.is_stored:
        kind = table.streaming_kind or "view"
        message = f"{table.qualified_name} is a {kind}, which has no rows of its own"
        raise binder.error(message, token, hint="START FROM TABLE reads a table", sqlstate="42809")
    reader.expect("THEN", "STREAM")
    token = reader.current
    stream = binder.table()
    if not stream.is_stream:
        raise binder.error(f"{stream.qualified_name} is not a stream", token, sqlstate="42809")
    known = set(table.schema.names)
    if missing := [name for name in stream.schema.names if name not in known]:
        message = f'{table.qualified_name} has no column "{missing[0]}", which the stream {stream.qualified_name} has'
        raise binder.error(message, token, ColumnNotFoundError)
    return History(table, stream, _start_from(binder) if reader.match("FROM") else None)


def _quoted(table: Table) -> str:
    return f"`{table.database}`.`{table.name}`"


def read_moment(binder: CommandBinder) -> int:
    """Read a moment. Return it in milliseconds since 1970."""
    token = binder.reader.current
    text = binder.reader.string("a moment")
    moment = parse_moment(text, binder.context.conf)
    if moment is None:
        raise binder.error(f'"{text}" is not a timestamp', token, hint=MOMENT_HINT, sqlstate="22007")
    return moment


def on_bad_row_clause(binder: CommandBinder) -> OnBadRow | None:
    """Read ON BAD ROW NULL | ON BAD ROW SKIP TO table; None if it does not come next."""
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
        raise binder.error("a trigger can wait for at most 7 days", token, sqlstate="22023")
    return Trigger(TriggerKind.EVERY, seconds)


_SOURCES = (TokenType.FROM, TokenType.JOIN)
_ENDS = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.NULL)
"""Tokens that may end an item of a query."""


def without_stream_words(binder: CommandBinder) -> CommandBinder:
    """Return a binder of the same statement without STREAM before the names of streams.

    Raise BindError if STREAM precedes the name of a table.
    """
    return _without(binder, list(_stream_words(binder)))


def without_emit_changes(binder: CommandBinder) -> CommandBinder:
    """Return a binder of the same statement without EMIT CHANGES at its end, which has no effect here."""
    tokens = binder.reader.rest
    texts = [token.text.upper() for token in tokens[-2:]]
    if texts == ["EMIT", "CHANGES"] and len(tokens) > 2 and tokens[-3].token_type in _ENDS:
        return _without(binder, tokens[-2:])
    return binder


def _without(binder: CommandBinder, tokens: Sequence[Token]) -> CommandBinder:
    if not tokens:
        return binder
    reader, pieces, end = binder.reader, list[str](), 0
    for token in tokens:
        pieces += [reader.text[end : token.start], " " * (token.end + 1 - token.start)]
        end = token.end + 1
    text = "".join([*pieces, reader.text[end:]])
    blanked = TokenReader(text, tokenize(text))
    blanked.position = reader.position
    return CommandBinder(dataclasses.replace(binder.context, text=text), blanked)


def _stream_words(binder: CommandBinder) -> Iterator[Token]:
    """Tokens of `FROM STREAM(name)` and `FROM STREAM name` other than the name, in order."""
    tokens = binder.reader.rest
    for place in range(1, len(tokens) - 1):
        token, following = tokens[place], tokens[place + 1]
        is_word = token.text.upper() == "STREAM" and token.token_type != TokenType.IDENTIFIER
        if not is_word or tokens[place - 1].token_type not in _SOURCES:
            continue
        if following.token_type == TokenType.L_PAREN:
            name = _name(tokens[place + 2 : place + 5])
            end = place + 2 + len(name)
            if name and end < len(tokens) and tokens[end].token_type == TokenType.R_PAREN:
                _check_stream(binder, name)
                yield from (token, following, tokens[end])
        elif binder.context.catalog.find_table(binder.context.database, "stream") is None:
            name = _name(tokens[place + 1 : place + 4])
            if name and _check_stream(binder, name):
                yield token


def _name(tokens: Sequence[Token]) -> Sequence[Token]:
    """Tokens of a name or database.name at the beginning; empty if there is none."""
    if len(tokens) == 3 and tokens[1].token_type == TokenType.DOT:
        return tokens
    is_name = bool(tokens) and tokens[0].token_type not in (TokenType.STRING, TokenType.L_PAREN, TokenType.R_PAREN)
    return tokens[:1] if is_name else ()


def _check_stream(binder: CommandBinder, name: Sequence[Token]) -> bool:
    """Return whether a name is a stream; False if it does not exist.

    Raise BindError for a table, which each epoch would read again.
    """
    database = name[0].text if len(name) == 3 else binder.context.database
    found = binder.context.catalog.find_table(database, name[-1].text)
    if found is not None and not found.is_stream:
        message = f"{found.qualified_name} is not a stream"
        hint = f"CREATE STREAM name FROM TABLE {found.name} makes a stream of the rows appended to a table"
        raise binder.error(message, name[0], BindError, hint, "42809")
    return found is not None
