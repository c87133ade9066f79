"""Computed columns in statements: name [type] [GENERATED ALWAYS] AS (expression), and PARTITIONED BY of streams."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.catalog.model import ComputedColumn, Table
from sharkpy.sql.queries.bind_from import scan
from sharkpy.sql.queries.computed_columns import with_computed
from sharkpy.sql.statements.bind_constraints import in_parentheses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import NULL, DataType, Field, is_interval


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
    text = in_parentheses(binder, "an expression")
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
        rows = with_computed(binder.context, scan(binder.context, stream), stream)
    except SharkError as error:
        raise binder.error(error.message, token, type(error), error.hint, error.sqlstate) from None
    types = {column.name: column.dtype for column in rows.output}
    computed = tuple(dataclasses.replace(one, dtype=types[one.name]) for one in stream.computed)
    if odd := next((one for one in computed if one.dtype == NULL or is_interval(one.dtype)), None):
        raise binder.error(f'the column "{odd.name}" cannot be {odd.dtype}', token, sqlstate="42804")
    return dataclasses.replace(stream, computed=computed)


def of_streams_alone(binder: CommandBinder) -> SharkError:
    """Return the error for a computed column of a table that is not a stream."""
    hint = "streams have such columns; a view over the table computes them"
    return binder.error("a computed column of a table is not supported", binder.reader.current, UnsupportedError, hint)
