"""Columns of tables and views: from lists in statements, and from queries. Computed columns of streams."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from sqlglot.tokenizer_core import Token

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.catalog.model import ComputedColumn, Constraint, Table
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.queries.bind_table import scan, with_computed_columns
from sharkpy.sql.statements.bind_constraints import (
    column_constraint,
    starts_constraint,
    table_constraint,
    text_in_parentheses,
)
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import NULL, STRING, DataType, Field, is_interval


def column_fields(
    binder: CommandBinder, others: Sequence[Field], computed: list[ComputedColumn] | None = None
) -> tuple[list[Field], list[Constraint]]:
    """Read (name type [constraint …] [COMMENT 'text'] | constraint, …). Return the columns and constraints.

    The parentheses may be missing. Names must differ from the names of `others`. Computed columns are appended to
    `computed`; if it is None, they are refused.
    """
    reader = binder.reader
    has_parentheses = reader.match("(")
    known = list(others)
    names = {field.name for field in known}
    constraints: list[Constraint] = []
    while True:
        check_cancelled()
        token = reader.current
        if starts_constraint(binder):
            constraints.append(table_constraint(binder, known))
        elif (field := _column(binder, known, constraints, computed)) is not None:
            check_column(binder, names, field, token)
            known.append(field)
            names.add(field.name)
        if reader.match(")") if has_parentheses else not reader.peek(","):
            return known[len(others) :], constraints
        reader.expect(",")


def _column(
    binder: CommandBinder, known: Sequence[Field], constraints: list[Constraint], computed: list[ComputedColumn] | None
) -> Field | None:
    """Read a column. Return None for a computed one."""
    reader = binder.reader
    name = reader.name("a column name")
    dtype = NULL if computed is not None and starts_computed(binder) else reader.data_type()
    if starts_computed(binder):
        if computed is None:
            raise only_in_streams(binder)
        computed.append(computed_column(binder, name, dtype))
        return None
    field = Field(name, dtype, None)
    while True:
        if reader.match("COMMENT"):
            field = dataclasses.replace(field, comment=reader.string("a comment"))
        elif found := column_constraint(binder, field, known):
            constraints.append(found)
        else:
            return field


def check_column(binder: CommandBinder, names: Collection[str], field: Field, token: Token | None) -> None:
    """Check that a column's name is not in `names`, and that it is not an interval, which cannot be stored."""
    if field.name in names:
        raise binder.error(f'the column "{field.name}" is defined twice', token, sqlstate="42701")
    if is_interval(field.dtype):
        raise binder.error(f'the column "{field.name}" cannot be {field.dtype}: intervals are not stored', token)


def output_fields(binder: CommandBinder, query: LogicalPlan) -> list[Field]:
    """Return the columns of a table or view that is created from a query."""
    fields: dict[str, Field] = {}
    for column in query.output:
        field = Field(column.name, STRING if column.dtype == NULL else column.dtype)
        check_column(binder, fields, field, None)
        fields[field.name] = field
    return list(fields.values())


def without_void(binder: CommandBinder, query: LogicalPlan) -> LogicalPlan:
    """Cast columns of the query that are only NULL to STRING, which can be stored."""
    if all(column.dtype != NULL for column in query.output):
        return query
    items: list[Alias | ColumnRef] = [
        Alias(cast(column, STRING), next(binder.context.ids), column.name) if column.dtype == NULL else column
        for column in query.output
    ]
    return Project(query, tuple(items))


def starts_computed(binder: CommandBinder) -> bool:
    """Return whether the expression of a computed column comes next."""
    return binder.reader.peek("AS") or binder.reader.peek("GENERATED")


def computed_column(binder: CommandBinder, name: str, dtype: DataType) -> ComputedColumn:
    """Read [GENERATED ALWAYS] AS (expression) [COMMENT 'text'].

    If `dtype` is NULL, the column later gets the type of its value.
    """
    reader = binder.reader
    if reader.match("GENERATED"):
        reader.expect("ALWAYS")
    reader.expect("AS")
    text = text_in_parentheses(binder, "an expression")
    return ComputedColumn(name, dtype, text, reader.optional_string("COMMENT"))


def path_columns(
    binder: CommandBinder, found: Sequence[Field] | Sequence[str] | None, fields: list[Field], token: Token | None
) -> tuple[list[Field], list[ComputedColumn]]:
    """Split columns into columns in files and columns in paths, which PARTITIONED BY names.

    PARTITIONED BY may name columns of the list, as in Spark.
    """
    made: list[ComputedColumn] = []
    for one in found or ():
        if isinstance(one, str):
            field = next((field for field in fields if field.name == one), None)
            if field is None:
                raise binder.error(f'no column "{one}"', token, hint="PARTITIONED BY (name type)", sqlstate="42703")
            fields = [other for other in fields if other != field]
        else:
            field = one
        made.append(ComputedColumn(field.name, field.dtype, "", field.comment, is_of_path=True))
    return fields, made


def check_computed(binder: CommandBinder, stream: Table, token: Token | None) -> Table:
    """Return the stream with the types of its computed columns.

    Raise an error at `token` for a column that cannot be computed.
    """
    if not stream.computed:
        return stream
    taken = set(stream.schema.names)
    for one in stream.computed:
        if one.name in taken:
            raise binder.error(f'the column "{one.name}" is defined twice', token, sqlstate="42701")
        taken.add(one.name)
    try:
        rows = with_computed_columns(binder.context, scan(binder.context, stream), stream)
    except SharkError as error:
        raise binder.error(error.message, token, type(error), error.hint, error.sqlstate) from None
    types = {column.name: column.dtype for column in rows.output}
    computed = tuple(dataclasses.replace(one, dtype=types[one.name]) for one in stream.computed)
    if odd := next((one for one in computed if one.dtype == NULL or is_interval(one.dtype)), None):
        raise binder.error(f'the column "{odd.name}" cannot be {odd.dtype}', token, sqlstate="42804")
    return dataclasses.replace(stream, computed=computed)


def only_in_streams(binder: CommandBinder) -> SharkError:
    """Return the error for a computed column of a table that is not a stream."""
    hint = "streams have such columns; a view over the table computes them"
    return binder.error("a computed column of a table is not supported", binder.reader.current, UnsupportedError, hint)
