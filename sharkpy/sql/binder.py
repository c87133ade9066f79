"""Bind one statement: HiveQL text to a logical plan or a command, everything in it resolved and typed."""

from __future__ import annotations

import itertools
import re
import sys

from sqlglot.tokenizer_core import Token

from sharkpy.commands import Command, Explain, Statement
from sharkpy.conf import Conf
from sharkpy.errors import did_you_mean
from sharkpy.logical import LogicalPlan
from sharkpy.sql import bind_alter, bind_create, bind_insert, bind_session, bind_show
from sharkpy.sql.bind_query import bind_query
from sharkpy.sql.command_binder import (
    QUERY_WORDS,
    CommandBinder,
    CommandHandler,
    find_insert,
    unsupported_statement,
)
from sharkpy.sql.context import CatalogReader, Context, StatementClock
from sharkpy.sql.deep_stack import with_deep_stack
from sharkpy.sql.parser import parse_query, tokenize
from sharkpy.sql.token_reader import TokenReader

_COMMANDS: dict[str, CommandHandler] = {
    "SHOW": bind_show.bind_show,
    "DESCRIBE": bind_show.bind_describe,
    "DESC": bind_show.bind_describe,
    "CREATE": bind_create.bind_create,
    "DROP": bind_alter.bind_drop,
    "ALTER": bind_alter.bind_alter,
    "MSCK": bind_alter.bind_repair,
    "TRUNCATE": bind_alter.bind_truncate,
    "INSERT": bind_insert.bind_insert,
    "LOAD": bind_insert.bind_load,
    "USE": bind_session.bind_use,
    "RESET": bind_session.bind_reset,
    "CACHE": bind_session.bind_cache,
    "UNCACHE": bind_session.bind_uncache,
    "CLEAR": bind_session.bind_clear,
}
_COMMENTS = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*(?!\+).*?\*/)+", re.DOTALL)
_SET = re.compile(r"set\b", re.IGNORECASE)
# What the bound trees' depth (expr_binder.MAX_DEPTH) needs in every later phase.
_RECURSION_LIMIT = 6_000


def bind(
    text: str, catalog: CatalogReader, conf: Conf, current_database: str, clock: StatementClock | None = None
) -> Statement:
    """The statement that `text` is. ParseError, BindError or UnsupportedError where it is none to carry out.

    `clock` gives the time of the statement, and shows afterwards whether the statement depends on it.
    """
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    if (leading := _COMMENTS.match(text)) and _SET.match(text, leading.end()):
        return bind_session.bind_set(text[leading.end() :])
    if _SET.match(text):
        return bind_session.bind_set(text)
    tokens = tokenize(text)

    def run() -> Statement:
        context = Context(
            catalog,
            conf,
            current_database,
            text,
            itertools.count(1),
            bind_query,
            clock=StatementClock() if clock is None else clock,
        )
        return _bind_tokens(context, TokenReader(text, tokens))

    return with_deep_stack(run)


def _bind_tokens(context: Context, reader: TokenReader) -> Statement:
    if reader.current is None:
        raise reader.error("a statement expected")
    word = reader.word()
    if word == "EXPLAIN":
        return _bind_explain(context, reader)
    rest = reader.rest
    if word in ("WITH", "FROM") and (index := find_insert(rest)) is not None:
        if word == "FROM":
            reader.position += index
            raise reader.unsupported("FROM … INSERT (multi-insert)")
        return _bind_insert_with_ctes(context, reader.text, rest, index)
    if unsupported := unsupported_statement(reader):
        raise unsupported
    if word in QUERY_WORDS:
        tree = parse_query(context.text, rest)
        return bind_query(tree, context, None)
    if handler := _COMMANDS.get(word):
        command = handler(CommandBinder(context, reader))
        reader.expect_end()
        return command
    hint = did_you_mean(word, [*_COMMANDS, *QUERY_WORDS[:4], "SET", "EXPLAIN"]) if word else None
    error = reader.error("a statement expected")
    error.hint = hint
    raise error


def _bind_insert_with_ctes(context: Context, text: str, tokens: list[Token], index: int) -> Command:
    reader = TokenReader(text, tokens)
    reader.position = index
    return bind_insert.bind_insert(CommandBinder(context, reader), tokens[:index])


def _bind_explain(context: Context, reader: TokenReader) -> Explain:
    reader.expect("EXPLAIN")
    if reader.word() in (
        "FORMATTED",
        "DEPENDENCY",
        "AUTHORIZATION",
        "CBO",
        "LOCKS",
        "VECTORIZATION",
        "AST",
        "CODEGEN",
        "COST",
    ):
        raise reader.unsupported(f"EXPLAIN {reader.word()}")
    style = reader.match_any("EXTENDED", "ANALYZE")
    statement = _bind_tokens(context, reader)
    if not isinstance(statement, LogicalPlan) and getattr(statement, "query", None) is None:
        raise reader.error("a query, INSERT or CREATE TABLE AS expected after EXPLAIN")
    return Explain(statement, analyze=style == "ANALYZE", extended=style == "EXTENDED")
