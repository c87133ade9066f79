"""Syntax of other systems for continuous tables.

It is CREATE STREAMING TABLE, CREATE MATERIALIZED VIEW, STREAM(name) and EMIT CHANGES. Words without a meaning here are
replaced by spaces in the text. The stored query then has none of them, and errors keep their places.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.statements.command_binder import CommandBinder

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
