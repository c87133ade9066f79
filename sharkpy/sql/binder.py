"""Bind one statement: HiveQL text to a logical plan or a command, with all names resolved and types known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import TypeVar

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
from sharkpy.sql.incremental.divided_query import DividedQuery
from sharkpy.sql.nesting import within_stack
from sharkpy.sql.queries import table_changes
from sharkpy.sql.queries.bind_query import bind_query
from sharkpy.sql.queries.bind_star import expand_star
from sharkpy.sql.session_time import with_session_time
from sharkpy.sql.statements import (
    bind_alter,
    bind_continuous,
    bind_create,
    bind_describe,
    bind_drop,
    bind_generate,
    bind_load_export,
    bind_merge,
    bind_row_changes,
    bind_session_commands,
    bind_show,
    bind_statistics,
    bind_user_functions,
    bind_versions,
)
from sharkpy.sql.statements.bind_epoch import (
    EpochTables,
    emitting_queries,
    epoch_insert,
    queries_of_text,
    state_folds,
    state_progress,
    state_watermark,
)
from sharkpy.sql.statements.bind_explain import bind_explain
from sharkpy.sql.statements.bind_insert import bind_inserts
from sharkpy.sql.statements.bind_statistics import bind_summarize
from sharkpy.sql.statements.command_binder import (
    QUERY_WORDS,
    CommandBinder,
    CommandHandler,
)
from sharkpy.sql.statements.refused_statements import refused_statement
from sharkpy.values.types import Schema

COMMANDS: dict[str, CommandHandler] = {
    "SHOW": bind_show.bind_show,
    "DESCRIBE": bind_describe.bind_describe,
    "DESC": bind_describe.bind_describe,
    "CREATE": bind_create.bind_create,
    "DROP": bind_drop.bind_drop,
    "ALTER": bind_alter.bind_alter,
    "ANALYZE": bind_statistics.bind_analyze,
    "MSCK": bind_drop.bind_repair,
    "TRUNCATE": bind_drop.bind_truncate,
    "LOAD": bind_load_export.bind_load,
    "EXPORT": bind_load_export.bind_export,
    "IMPORT": bind_load_export.bind_import,
    "GENERATE": bind_generate.bind_generate,
    "UPDATE": bind_row_changes.bind_update,
    "MERGE": bind_merge.bind_merge,
    "PAUSE": bind_continuous.bind_control,
    "RESUME": bind_continuous.bind_control,
    "REFRESH": bind_continuous.bind_control,
    "ROLLBACK": bind_continuous.bind_rollback,
    "USE": bind_session_commands.bind_use,
    "RESET": bind_session_commands.bind_reset,
    "CACHE": bind_session_commands.bind_cache,
    "UNCACHE": bind_session_commands.bind_uncache,
    "CLEAR": bind_session_commands.bind_clear,
    "KILL": bind_session_commands.bind_kill,
    "ADD": bind_session_commands.bind_add,
    "LIST": bind_session_commands.bind_list,
    "DELETE": lambda binder: _deleted(binder).bind_delete(binder),
    "RELOAD": bind_user_functions.bind_reload,
    "RESTORE": bind_versions.bind_restore,
    "UNDROP": bind_versions.bind_undrop,
    "VACUUM": bind_versions.bind_vacuum,
}
"""Binders of the statements other than queries and inserts, by first word."""
_Bound = TypeVar("_Bound")
_COMMENTS = re.compile(r"\ufeff?(?:\s+|--[^\n]*(?:\n|\Z)|/\*(?!\+).*?\*/)++", re.DOTALL)
_SET = re.compile(r"set\b", re.IGNORECASE)


def bind(
    text: str, catalog: CatalogReader, conf: Conf, current_database: str, clock: StatementClock | None = None
) -> Statement:
    """Bind the statement in `text` to a logical plan or a command.

    `clock` gives the time of the statement, and tells afterwards whether the statement depends on it. Raise ParseError,
    BindError or UnsupportedError if the statement is invalid or not supported.
    """
    if (leading := _COMMENTS.match(text)) and _SET.match(text, leading.end()):
        return bind_session_commands.bind_set(text[leading.end() :])
    if _SET.match(text):
        return bind_session_commands.bind_set(text)
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
    return _bound_query(text, catalog, conf, database, partial(state_folds, state=state, is_first=is_first), clock)


def bind_state_watermark(text: str, state: Table, catalog: CatalogReader, conf: Conf, database: str) -> LogicalPlan:
    """Bind a continuous query as a query for the watermark of its state. Errors: see `bind`."""
    return _bound_query(text, catalog, conf, database, partial(state_watermark, state=state))


def bind_state_progress(text: str, state: Table, catalog: CatalogReader, conf: Conf, database: str) -> LogicalPlan:
    """Bind a continuous query as a query for the watermarks of its streams, see `DividedQuery.progress`.

    Errors: see `bind`.
    """
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
        return bind_explain(context, reader, _bind_tokens)
    if (inserts := bind_inserts(context, reader)) is not None:
        return inserts
    if unsupported := refused_statement(reader):
        raise unsupported
    if word in QUERY_WORDS:
        tree = parse_query(context.text, reader.rest)
        return bind_query(tree, context, None)
    if word == "SUMMARIZE":
        summarizer = CommandBinder(context, reader)
        summary = bind_summarize(summarizer)
        reader.expect_end()
        return summary
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


def _deleted(binder: CommandBinder) -> ModuleType:
    """Return the module that binds a DELETE: of rows of a table, or of files that were added to the session."""
    return bind_row_changes if binder.reader.peek("DELETE", "FROM") else bind_session_commands
