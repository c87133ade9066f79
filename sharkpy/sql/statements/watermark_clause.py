"""The clause WATERMARK in the columns of CREATE STREAM.

WATERMARK FOR column AS column [- INTERVAL n unit] [IDLE AFTER n unit]
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError
from sharkpy.catalog.model import ComputedColumn, Watermark
from sharkpy.sql.expressions.literals import interval_literal
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import BIGINT, DATE, INTERVAL_DAY_TIME, STRING, TIMESTAMP, DataType, Field

_TIMES_OF: dict[DataType, str] = {BIGINT: "timestamp_millis({})", STRING: "to_timestamp({})", DATE: "timestamp({})"}
"""Usual expressions that convert a column to a time."""
_DEPTHS = {"(": 1, "<": 1, ")": -1, ">": -1, ">>": -2}


def taken_watermark(binder: CommandBinder) -> tuple[CommandBinder, Watermark | None, Token | None]:
    """Take the clause out of the list of columns that comes next.

    Return a binder of the remaining statement, the watermark, and the first token of the clause. Both are None without
    the clause.
    """
    reader = binder.reader
    begin = _begin(reader)
    if begin is None:
        return binder, None, None
    inner = TokenReader(reader.text, reader.tokens)
    inner.position = begin + 1
    token = inner.current
    found = _watermark(CommandBinder(binder.context, inner))
    if not inner.peek(")") and not inner.peek(","):
        raise inner.error(", or ) expected")
    tokens = [*reader.tokens[:begin], *reader.tokens[inner.position :]]
    if reader.tokens[begin].text == "(":
        # The list begins with the clause, or has only the clause.
        kept = begin if inner.peek(")") else begin + 1
        tokens = [*reader.tokens[:kept], *reader.tokens[inner.position + 1 :]]
    left = TokenReader(reader.text, tokens)
    left.position = reader.position
    return CommandBinder(binder.context, left), found, token


def check_watermark(
    binder: CommandBinder, found: Watermark, fields: Iterable[Field | ComputedColumn], token: Token | None
) -> None:
    """Raise BindError if the watermark's column is not in the stream, or is not a TIMESTAMP."""
    known = {field.name: field.dtype for field in fields}
    if found.column not in known:
        raise binder.error(f'the stream has no column "{found.column}"', token, sqlstate="42703")
    dtype = known[found.column]
    if dtype != TIMESTAMP:
        message = f'a watermark needs a time, and "{found.column}" is {dtype}'
        hint = f"make it a TIMESTAMP, or compute one among the columns: name AS ({_TIMES_OF.get(dtype, 'expression')})"
        raise binder.error(message, token, hint=hint.format(found.column), sqlstate="42804")


def _begin(reader: TokenReader) -> int | None:
    """Position of the comma or parenthesis before the clause; None if there is no clause."""
    depth = 0
    for place in range(reader.position, len(reader.tokens)):
        token_type = reader.tokens[place].token_type
        if token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            depth += _DEPTHS.get(reader.tokens[place].text, 0)
        if depth <= 0:
            return None
        words = [one.text.upper() for one in reader.tokens[place + 1 : place + 3]]
        is_before = token_type == TokenType.COMMA or place == reader.position
        if depth == 1 and is_before and words == ["WATERMARK", "FOR"]:
            return place
    return None


def _watermark(binder: CommandBinder) -> Watermark:
    reader = binder.reader
    reader.expect("WATERMARK", "FOR")
    column = reader.name("a column").lower()
    reader.expect("AS")
    token = reader.current
    if reader.name("the column").lower() != column:
        raise binder.error(f"{column} or {column} - INTERVAL … expected", token, sqlstate="42601")
    delay = 0
    if reader.match("-"):
        reader.expect("INTERVAL")
        delay = _microseconds(binder)
    idle = _microseconds(binder) if reader.match("IDLE", "AFTER") else None
    return Watermark(column, delay, idle)


def _microseconds(binder: CommandBinder) -> int:
    """Read a length of time: 10 SECONDS, '10' SECOND, or '10 seconds'."""
    reader, token = binder.reader, binder.reader.current
    taken = reader.take()
    unit = "" if reader.word() in ("", "IDLE", ",", ")") else reader.take().text.upper().removesuffix("S")
    try:
        length = interval_literal(taken.text, unit)
    except BindError as error:
        raise binder.error(error.message, token, hint=error.hint, sqlstate=error.sqlstate) from None
    if length.dtype != INTERVAL_DAY_TIME or not isinstance(length.value, int) or length.value < 0:
        raise binder.error("a length of days and times expected", token, sqlstate="22007")
    return length.value
