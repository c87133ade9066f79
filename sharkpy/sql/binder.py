"""Bind one statement: HiveQL text to a logical plan or a command, with all names resolved and types known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.errors import ParseError, did_you_mean
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_history import Change
from sharkpy.plan.commands import Insert, MultiInsert, StateInserts, Statement
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import CatalogReader, Context, StatementClock
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.grammar.strict_parser import release_trees
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.nesting import within_stack
from sharkpy.sql.queries import table_changes
from sharkpy.sql.queries.bind_query import bind_query
from sharkpy.sql.queries.bind_star import expand_star
from sharkpy.sql.session_time import with_session_time
from sharkpy.sql.statements.command_binder import QUERY_WORDS, CommandBinder
from sharkpy.sql.statements.refused_statements import refused_statement
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.sql.incremental.divided_query import DividedQuery
    from sharkpy.sql.statements.bind_epoch import EpochTables

_Bound = TypeVar("_Bound")
_COMMENTS = re.compile(r"\ufeff?(?:\s+|--[^\n]*(?:\n|\Z)|/\*(?!\+).*?\*/)++", re.DOTALL)
_INSERTS = ("INSERT", "WITH", "FROM")
"""First words of inserts, some of which also begin queries."""
_SET = re.compile(r"set\b", re.IGNORECASE)


def bind(
    text: str, catalog: CatalogReader, conf: Conf, current_database: str, clock: StatementClock | None = None
) -> Statement:
    """Bind the statement in `text` to a logical plan or a command.

    `clock` gives the time of the statement, and tells afterwards whether the statement depends on it. Raise ParseError,
    BindError or UnsupportedError if the statement is invalid or not supported.
    """
    start = leading.end() if (leading := _COMMENTS.match(text)) else 0
    if _SET.match(text, start):
        from sharkpy.sql.statements.bind_session_commands import bind_set

        return bind_set(text[start:])
    with release_trees(text):
        return _bound(text, catalog, conf, current_database, clock, _bind_tokens)


def bind_epoch(
    text: str,
    tables: EpochTables,
    catalog: CatalogReader,
    conf: Conf,
    database: str,
    clock: StatementClock | None = None,
) -> Insert | MultiInsert | StateInserts:
    """Bind a continuous query as the INSERTs of an epoch. `clock` and errors: see `bind`."""
    from sharkpy.sql.statements.bind_epoch import epoch_insert

    return _bound_query(text, catalog, conf, database, partial(epoch_insert, tables=tables), clock)


def bind_state(
    text: str,
    state: Table,
    catalog: CatalogReader,
    conf: Conf,
    database: str,
    clock: StatementClock | None = None,
) -> DividedQuery:
    """Bind a continuous insert or sink, and divide it. `state` is the table of its state.

    `clock` and errors: see `bind`.
    """
    from sharkpy.sql.statements.bind_epoch import emitting_queries, queries_of_text

    def bound(binder: CommandBinder) -> DividedQuery:
        return emitting_queries(binder, state, queries_of_text(binder)[1]).state

    return _bound_query(text, catalog, conf, database, bound, clock)


def bind_state_folds(
    text: str,
    state: Table,
    catalog: CatalogReader,
    conf: Conf,
    database: str,
    clock: StatementClock | None = None,
    *,
    is_first: bool,
) -> tuple[LogicalPlan, ...]:
    """Bind a continuous query as the queries that fold rows of its state, one for each file.

    `is_first`: the state has no rows before these. `clock` and errors: see `bind`.
    """
    from sharkpy.sql.statements.bind_epoch import state_folds

    return _bound_query(text, catalog, conf, database, partial(state_folds, state=state, is_first=is_first), clock)


def bind_state_watermark(text: str, state: Table, catalog: CatalogReader, conf: Conf, database: str) -> LogicalPlan:
    """Bind a continuous query as a query for the watermark of its state. Errors: see `bind`."""
    from sharkpy.sql.statements.bind_epoch import state_watermark

    return _bound_query(text, catalog, conf, database, partial(state_watermark, state=state))


def bind_state_progress(text: str, state: Table, catalog: CatalogReader, conf: Conf, database: str) -> LogicalPlan:
    """Bind a continuous query as a query for the watermarks of its streams, see `DividedQuery.progress`.

    Errors: see `bind`.
    """
    from sharkpy.sql.statements.bind_epoch import state_progress

    return _bound_query(text, catalog, conf, database, partial(state_progress, state=state))


def bind_changes(
    table: Table,
    schema: Schema,
    commits: Iterable[Change],
    catalog: CatalogReader,
    conf: Conf,
    start: Change | None = None,
) -> LogicalPlan:
    """Bind the rows that commits have inserted into a table and deleted from it, see `table_changes.bind_changes`."""

    def bound(context: Context, _: TokenReader) -> LogicalPlan:
        return table_changes.bind_changes(context, table, schema, commits, start)

    return _bound("", catalog, conf, table.database, None, bound)


def _bound_query(
    text: str,
    catalog: CatalogReader,
    conf: Conf,
    database: str,
    bind_whole: Callable[[CommandBinder], _Bound],
    clock: StatementClock | None = None,
) -> _Bound:
    """Bind the text of a continuous query with `bind_whole`."""

    def bind_tokens(context: Context, reader: TokenReader) -> _Bound:
        return bind_whole(CommandBinder(context, reader))

    with release_trees(text):
        return _bound(text, catalog, conf, database, clock, bind_tokens)


def _bound(
    text: str,
    catalog: CatalogReader,
    conf: Conf,
    current_database: str,
    clock: StatementClock | None,
    bind_tokens: Callable[[Context, TokenReader], _Bound],
) -> _Bound:
    tokens = tokenize(text)

    def run() -> _Bound:
        context = Context(
            catalog,
            conf,
            current_database,
            text,
            itertools.count(1),
            bind_query,
            expand_star,
            clock=StatementClock() if clock is None else clock,
        )
        return with_session_time(bind_tokens(context, TokenReader(text, tokens)), conf)

    return within_stack(run)


def _bind_tokens(context: Context, reader: TokenReader) -> Statement:
    if reader.current is None:
        raise reader.error("a statement expected")
    word = reader.word()
    if word == "EXPLAIN":
        from sharkpy.sql.statements.bind_explain import bind_explain

        return bind_explain(context, reader, _bind_tokens)
    if word in _INSERTS:
        from sharkpy.sql.statements.bind_insert import bind_inserts

        if (inserts := bind_inserts(context, reader)) is not None:
            return inserts
    if unsupported := refused_statement(reader):
        raise unsupported
    if word in QUERY_WORDS:
        tree = parse_query(context.text, reader.rest)
        return bind_query(tree, context, None)
    if word == "SUMMARIZE":
        from sharkpy.sql.statements.bind_statistics import bind_summarize

        summarizer = CommandBinder(context, reader)
        summary = bind_summarize(summarizer)
        reader.expect_end()
        return summary
    from sharkpy.sql.statements.commands import COMMANDS

    if handler := COMMANDS.get(word):
        command = handler(CommandBinder(context, reader))
        reader.expect_end()
        return command
    raise _no_statement(word, reader)


def _no_statement(word: str, reader: TokenReader) -> ParseError:
    """Error for a word that does not begin a statement here, with a hint if the word resembles one that does."""
    from sharkpy.sql.forms import FIRST_WORDS

    error = reader.error("a statement expected")
    error.hint = None if not word or word in FIRST_WORDS else did_you_mean(word, FIRST_WORDS)
    return error
