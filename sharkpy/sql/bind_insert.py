"""INSERT and LOAD DATA."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from sharkpy.catalog.model import Table
from sharkpy.commands import Insert, LoadData, PartitionSpec
from sharkpy.conf import DYNAMIC_PARTITION_MODE
from sharkpy.errors import ColumnCountError, ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.expr import Alias, ColumnRef, Expr, Literal
from sharkpy.logical import LogicalPlan, Project
from sharkpy.sql.bind_literal import castable
from sharkpy.sql.bind_partition import full_spec, insert_spec
from sharkpy.sql.coercion import cast
from sharkpy.sql.command_binder import CommandBinder
from sharkpy.types import NULL, Schema


def bind_insert(binder: CommandBinder, with_tokens: Sequence[Token] = ()) -> Insert:
    """INSERT INTO | OVERWRITE [TABLE] table [PARTITION (…)] [(columns)] query; `with_tokens`: a WITH before it."""
    reader = binder.reader
    reader.expect("INSERT")
    overwrite = reader.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
    if reader.peek("DIRECTORY") or reader.peek("LOCAL", "DIRECTORY"):
        raise reader.unsupported("INSERT OVERWRITE DIRECTORY")
    reader.match("TABLE")
    start = reader.current
    table = binder.base_table("INSERT")
    partition = _partition(binder, table)
    if reader.match("IF"):
        raise reader.unsupported("INSERT OVERWRITE … IF NOT EXISTS")
    expected = _expected(table, partition)
    names = _column_list(binder, table, expected)
    if reader.current is None:
        raise reader.error("a query or VALUES expected")
    query = binder.query([*with_tokens, *reader.rest])
    reader.position = len(reader.tokens)
    return Insert(table, insertable(binder, table, query, names, start, expected), overwrite, partition)


def _partition(binder: CommandBinder, table: Table) -> PartitionSpec:
    """What follows the table's name; without a PARTITION clause all partition columns are dynamic."""
    reader = binder.reader
    token = reader.current
    if reader.peek("PARTITION"):
        spec = insert_spec(binder, table)
    else:
        spec = tuple((name, None) for name in table.partition_columns)
    is_strict = binder.context.conf.value(DYNAMIC_PARTITION_MODE).lower() == "strict"
    if spec and is_strict and all(value is None for _, value in spec):
        hint = f"give one a value, or SET {DYNAMIC_PARTITION_MODE.key}=nonstrict"
        raise binder.error("in strict mode at least one partition column needs a value", token, hint=hint)
    return spec


def _expected(table: Table, partition: PartitionSpec) -> Schema:
    """The table's columns that the query gives."""
    static = {name for name, value in partition if value is not None}
    return Schema(tuple(field for field in table.schema if field.name not in static))


def _column_list(binder: CommandBinder, table: Table, expected: Schema) -> list[str] | None:
    reader = binder.reader
    following = reader.tokens[reader.position + 1 :]
    if not reader.peek("(") or (following and following[0].text.upper() in ("SELECT", "WITH", "FROM", "VALUES", "(")):
        return None
    reader.expect("(")
    names: list[str] = []
    while True:
        token = reader.current
        name = reader.name("a column name")
        if name not in expected.names:
            hint = did_you_mean(name, expected.names)
            raise binder.error(f'no column "{name}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
        if name in names:
            raise binder.error(f'the column "{name}" is listed twice', token, sqlstate="42701")
        names.append(name)
        if reader.match(")"):
            return names
        reader.expect(",")


def insertable(
    binder: CommandBinder,
    table: Table,
    query: LogicalPlan,
    names: Sequence[str] | None,
    token: Token | None,
    schema: Schema,
) -> LogicalPlan:
    """`query` as the columns of `schema` in order, cast to their types; columns not in `names` are NULL."""
    expected = list(names) if names is not None else list(schema.names)
    if len(query.output) != len(expected):
        message = f"{table.qualified_name} takes {len(expected)} columns here, the query has {len(query.output)}"
        raise binder.error(message, token, ColumnCountError)
    given: dict[str, ColumnRef] = dict(zip(expected, query.output, strict=True))
    items: list[Alias | ColumnRef] = []
    for field in schema:
        source: Expr = given.get(field.name, Literal(None, NULL))
        if not castable(source.dtype, field.dtype):
            message = f'the column "{field.name}" is {field.dtype}, the query gives {source.dtype}'
            raise binder.error(message, token, TypeMismatchError)
        items.append(Alias(cast(source, field.dtype), next(binder.context.ids), field.name))
    if (
        all(given.get(field.name) == column for field, column in zip(schema, query.output, strict=False))
        and all(
            column.dtype == field.dtype and column.name == field.name
            for column, field in zip(query.output, schema, strict=False)
        )
        and len(query.output) == len(schema)
    ):
        return query
    return Project(query, tuple(items))


def bind_load(binder: CommandBinder) -> LoadData:
    """LOAD DATA [LOCAL] INPATH 'path' [OVERWRITE] INTO TABLE table [PARTITION (…)]."""
    reader = binder.reader
    reader.expect("LOAD", "DATA")
    is_local = reader.match("LOCAL")
    reader.expect("INPATH")
    path = reader.string("a path")
    overwrite = reader.match("OVERWRITE")
    reader.expect("INTO", "TABLE")
    table = binder.base_table("LOAD DATA")
    if table.is_partitioned and not reader.peek("PARTITION"):
        raise reader.unsupported("LOAD DATA into a partitioned table without PARTITION")
    partition = full_spec(binder, table) if reader.peek("PARTITION") else ()
    if reader.word() == "INPUTFORMAT":
        raise reader.unsupported("LOAD DATA with INPUTFORMAT")
    return LoadData(table, path, is_local, overwrite, partition)
