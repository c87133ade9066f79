"""Statements that insert, with the words that may precede their INSERT."""

from __future__ import annotations

from sharkpy.plan.commands import Insert, InsertDirectory, MultiInsert
from sharkpy.sql.context import Context
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.statements.bind_insert import bind_insert
from sharkpy.sql.statements.bind_multi_insert import bind_multi_insert
from sharkpy.sql.statements.command_binder import CommandBinder, find_insert, has_source


def bind_inserts(context: Context, reader: TokenReader) -> Insert | InsertDirectory | MultiInsert | None:
    """Bind INSERT …, WITH … INSERT … or [WITH …] FROM … INSERT … INSERT …, up to the end.

    Return None for other words.
    """
    word, rest = reader.word(), reader.rest
    if word == "INSERT":
        return bind_insert(CommandBinder(context, TokenReader(reader.text, rest)))
    index = find_insert(rest) if word in ("WITH", "FROM") else None
    if index is None:
        return None
    if has_source(rest[:index]):
        return bind_multi_insert(context, reader.text, rest, index)
    own = TokenReader(reader.text, rest)
    own.position = index
    return bind_insert(CommandBinder(context, own), rest[:index])
