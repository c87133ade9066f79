"""Stored queries of views, continuous tables, inserts and sinks.

In the stored text, each `*` is replaced by its current columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

from sharkpy.base.errors import ColumnCountError, SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.names import GLOBAL_TEMP, check_name
from sharkpy.plan.commands import CreateView, Insert, InsertDirectory, MultiInsert, queries_of
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import TextReplacements
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.queries.bind_star import with_star_columns
from sharkpy.sql.statements.bind_columns import check_column
from sharkpy.sql.statements.bind_insert import bind_inserts
from sharkpy.sql.statements.bind_partition import column_names
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import NULL, STRING, Field, Schema


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """Stored query. `text` keeps its meaning when tables get more columns. `written` is the original text."""

    plan: LogicalPlan
    text: str
    written: str


def bind_stored_query(
    binder: CommandBinder, database: str, permanent: str = "", views: tuple[str, ...] = ()
) -> StoredQuery:
    """Bind the rest of the statement as a query that is stored, and later bound in `database`.

    `permanent` names the permanent view that stores it. The query must not use any of `views`.
    """
    reader = binder.reader
    start = reader.current
    if start is None:
        raise reader.error("a query expected")
    kept = TextReplacements(reader.text, database, permanent)
    context = dataclasses.replace(binder.context, kept=kept, views=views)
    plan = context.bind_query(binder.query_tree(), context, None)
    written = _trimmed(reader.text[start.start :])
    text = _trimmed(with_star_columns(reader.text, start.start, kept.texts))
    if kept.texts and not _means_same(binder, text, plan, database):
        text = written
    return StoredQuery(plan, text, written)


def _trimmed(text: str) -> str:
    return text.rstrip().rstrip(";").rstrip()


def _means_same(binder: CommandBinder, text: str, query: LogicalPlan, database: str) -> bool:
    """Return whether `text` has the columns of `query`.

    It does not if two columns have the same name, which no text can distinguish.
    """
    try:
        there = dataclasses.replace(binder, context=dataclasses.replace(binder.context, database=database))
        output = there.query_of(text).output
    except SharkError:
        return False
    return [(column.name, column.dtype) for column in output] == [(one.name, one.dtype) for one in query.output]


Divided = TypeVar("Divided")


@dataclass(frozen=True, slots=True)
class StoredInserts:
    """INSERTs that a statement stores, with their text, in which each `*` is replaced by its current columns."""

    command: Insert | MultiInsert
    text: str


def bind_stored_inserts(
    binder: CommandBinder, database: str, divide: Callable[[Sequence[LogicalPlan]], Divided]
) -> tuple[StoredInserts, Divided]:
    """Bind the rest of the statement as INSERTs of a continuous insert, and `divide` their queries.

    Errors of `divide` are placed at the INSERTs.
    """
    reader = binder.reader
    start = reader.current
    kept = TextReplacements(reader.text, database)
    command = epoch_inserts(CommandBinder(dataclasses.replace(binder.context, kept=kept), reader))
    assert start is not None  # epoch_inserts has bound it
    written = _trimmed(reader.text[start.start :])
    reader.position = len(reader.tokens)
    with binder.place_of(start):
        divided = divide(queries_of(command))
    text = _trimmed(with_star_columns(reader.text, start.start, kept.texts))
    is_bindable = not kept.texts or _is_bindable(binder, text, database)
    return StoredInserts(command, text if is_bindable else written), divided


def epoch_inserts(binder: CommandBinder) -> Insert | MultiInsert:
    """Bind the rest of the statement, or the whole text of a continuous insert, as the INSERTs of an epoch."""
    start = binder.reader.current
    command = bind_inserts(binder.context, binder.reader)
    if command is None:
        raise binder.reader.error("INSERT, WITH or FROM … INSERT expected")
    for one in command.inserts if isinstance(command, MultiInsert) else (command,):
        if isinstance(one, InsertDirectory):
            message = "INSERT OVERWRITE DIRECTORY in a continuous insert is not supported"
            raise binder.error(message, start, UnsupportedError)
        if one.overwrite:
            message = "INSERT OVERWRITE in a continuous insert is not supported"
            raise binder.error(message, start, UnsupportedError, "INSERT INTO adds the rows of each epoch")
    assert not isinstance(command, InsertDirectory)  # refused above
    return command


def _is_bindable(binder: CommandBinder, text: str, database: str) -> bool:
    """Return whether the text binds.

    It does not if two columns of a `*` have the same name, which no text can distinguish.
    """
    context = dataclasses.replace(binder.context, text=text, database=database, kept=None)
    try:
        bind_inserts(context, TokenReader(text, tokenize(text)))
    except SharkError:
        return False
    return True


def bind_create_view(binder: CommandBinder, or_replace: bool, temporary: bool, is_global: bool = False) -> CreateView:
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    database, name = global_view_name(binder) if is_global else binder.new_name()
    names = _view_columns(binder)
    view = CreateView(database, name, Schema(()), "", if_not_exists, or_replace, temporary)
    while not reader.match("AS"):
        if reader.match("COMMENT"):
            view = dataclasses.replace(view, comment=reader.string("a comment"))
        elif reader.match("TBLPROPERTIES"):
            view = dataclasses.replace(view, properties=reader.properties())
        elif reader.match("PARTITIONED", "ON"):
            view = dataclasses.replace(view, partition_columns=tuple(column_names(binder) or ()))
        elif reader.word() == "USING":
            raise reader.unsupported("CREATE TEMPORARY VIEW … USING")
        else:
            raise reader.error("COMMENT, PARTITIONED ON, TBLPROPERTIES or AS and a query expected")
    return bind_view_query(binder, view, names)


def bind_view_query(
    binder: CommandBinder, view: CreateView, names: Sequence[tuple[str, str | None]] | None
) -> CreateView:
    """Bind the rest of the statement as the query of `view`, in whose text each `*` becomes its current columns."""
    reader = binder.reader
    start = reader.current
    if start is None:
        raise reader.error("a query expected")
    name = f"{view.database}.{view.name}"
    kept = bind_stored_query(binder, view.database, "" if view.temporary else f"the view {name}", (name,))
    query = kept.plan
    if names is not None and len(names) != len(query.output):
        message = f"the view has {len(names)} columns, its query {len(query.output)}"
        raise binder.error(message, start, ColumnCountError)
    by_name: dict[str, Field] = {}
    for index, column in enumerate(query.output):
        column_name, comment = names[index] if names is not None else (column.name, None)
        field = Field(column_name, STRING if column.dtype == NULL else column.dtype, comment)
        check_column(binder, by_name, field, start)
        by_name[field.name] = field
    fields = list(by_name.values())
    last = tuple(field.name for field in fields[len(fields) - len(view.partition_columns) :])
    if last != view.partition_columns or len(last) == len(fields):
        raise binder.error(
            "the columns of PARTITIONED ON must be the last columns of the query, but not all of them", start
        )
    return dataclasses.replace(view, schema=Schema(tuple(fields)), text=kept.text, written=kept.written)


def global_view_name(binder: CommandBinder) -> tuple[str, str]:
    """Read the name of a global temporary view."""
    database, name, token = binder.name(GLOBAL_TEMP)
    with binder.place_of(token):
        check_name(name)
    if database != GLOBAL_TEMP:
        raise binder.error(f"global temporary views belong to {GLOBAL_TEMP}", token, hint=f"leave out {database}")
    return database, name


def _view_columns(binder: CommandBinder) -> list[tuple[str, str | None]] | None:
    """Read (name [COMMENT 'text'], …); None if there is no list."""
    reader = binder.reader
    if not reader.match("("):
        return None
    names: list[tuple[str, str | None]] = []
    while True:
        names.append((reader.name("a column name"), reader.optional_string("COMMENT")))
        if reader.match(")"):
            return names
        reader.expect(",")
