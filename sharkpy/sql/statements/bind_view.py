"""CREATE VIEW and ALTER VIEW … AS."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sharkpy.base.errors import ColumnCountError
from sharkpy.catalog.names import GLOBAL_TEMP, check_name
from sharkpy.plan.commands import CreateView
from sharkpy.sql.statements.bind_columns import check_column
from sharkpy.sql.statements.bind_partition import column_names
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.query_text import kept_query
from sharkpy.values.types import NULL, STRING, Field, Schema


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
    return view_of(binder, view, names)


def view_of(binder: CommandBinder, view: CreateView, names: Sequence[tuple[str, str | None]] | None) -> CreateView:
    """Bind the rest of the statement as the query of `view`, in whose text each `*` becomes its current columns."""
    reader = binder.reader
    start = reader.current
    if start is None:
        raise reader.error("a query expected")
    name = f"{view.database}.{view.name}"
    kept = kept_query(binder, view.database, "" if view.temporary else f"the view {name}", (name,))
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
