"""INSERT and LOAD DATA."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from sharkpy.catalog.model import Table
from sharkpy.commands import Insert, LoadData
from sharkpy.errors import ColumnCountError, ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.expr import Alias, ColumnRef, Expr, Literal
from sharkpy.logical import LogicalPlan, Project
from sharkpy.sql.bind_literal import castable
from sharkpy.sql.coercion import cast
from sharkpy.sql.command_binder import CommandBinder
from sharkpy.types import NULL


def bind_insert(binder: CommandBinder, with_tokens: Sequence[Token] = ()) -> Insert:
    """INSERT INTO | OVERWRITE [TABLE] table [(columns)] query; `with_tokens` is a WITH written before it."""
    reader = binder.reader
    reader.expect("INSERT")
    overwrite = reader.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
    if reader.peek("DIRECTORY") or reader.peek("LOCAL", "DIRECTORY"):
        raise reader.unsupported("INSERT OVERWRITE DIRECTORY")
    reader.match("TABLE")
    start = reader.current
    table = binder.base_table("INSERT")
    if reader.peek("PARTITION"):
        raise reader.unsupported("INSERT into a partition")
    if reader.match("IF"):
        raise reader.unsupported("INSERT OVERWRITE … IF NOT EXISTS")
    names = _column_list(binder, table)
    if reader.current is None:
        raise reader.error("a query or VALUES expected")
    query = binder.query([*with_tokens, *reader.rest])
    reader.position = len(reader.tokens)
    return Insert(table, insertable(binder, table, query, names, start), overwrite)


def _column_list(binder: CommandBinder, table: Table) -> list[str] | None:
    reader = binder.reader
    following = reader.tokens[reader.position + 1 :]
    if not reader.peek("(") or (following and following[0].text.upper() in ("SELECT", "WITH", "FROM", "VALUES", "(")):
        return None
    reader.expect("(")
    names: list[str] = []
    while True:
        token = reader.current
        name = reader.name("a column name")
        if name not in table.schema.names:
            hint = did_you_mean(name, table.schema.names)
            raise binder.error(f'no column "{name}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
        if name in names:
            raise binder.error(f'the column "{name}" is listed twice', token, sqlstate="42701")
        names.append(name)
        if reader.match(")"):
            return names
        reader.expect(",")


def insertable(
    binder: CommandBinder, table: Table, query: LogicalPlan, names: Sequence[str] | None, token: Token | None
) -> LogicalPlan:
    """`query` as the table's columns in order, cast to their types; columns not in `names` are NULL."""
    expected = list(names) if names is not None else list(table.schema.names)
    if len(query.output) != len(expected):
        message = f"{table.qualified_name} takes {len(expected)} columns here, the query has {len(query.output)}"
        raise binder.error(message, token, ColumnCountError)
    given: dict[str, ColumnRef] = dict(zip(expected, query.output, strict=True))
    items: list[Alias | ColumnRef] = []
    for field in table.schema:
        source: Expr = given.get(field.name, Literal(None, NULL))
        if not castable(source.dtype, field.dtype):
            message = f'the column "{field.name}" is {field.dtype}, the query gives {source.dtype}'
            raise binder.error(message, token, TypeMismatchError)
        items.append(Alias(cast(source, field.dtype), next(binder.context.ids), field.name))
    if (
        all(given.get(field.name) == column for field, column in zip(table.schema, query.output, strict=False))
        and all(
            column.dtype == field.dtype and column.name == field.name
            for column, field in zip(query.output, table.schema, strict=False)
        )
        and len(query.output) == len(table.schema)
    ):
        return query
    return Project(query, tuple(items))


def bind_load(binder: CommandBinder) -> LoadData:
    """LOAD DATA [LOCAL] INPATH 'path' [OVERWRITE] INTO TABLE table."""
    reader = binder.reader
    reader.expect("LOAD", "DATA")
    is_local = reader.match("LOCAL")
    reader.expect("INPATH")
    path = reader.string("a path")
    overwrite = reader.match("OVERWRITE")
    reader.expect("INTO", "TABLE")
    table = binder.base_table("LOAD DATA")
    if reader.word() in ("PARTITION", "INPUTFORMAT"):
        raise reader.unsupported(f"LOAD DATA with {reader.word()}")
    return LoadData(table, path, is_local, overwrite)
