"""Columns of tables and views: from lists in statements, and from queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from sqlglot.tokenizer_core import Token

from sharkpy.base.cancellation import check_cancelled
from sharkpy.catalog.model import ComputedColumn, Constraint
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.statements.bind_computed import computed_column, of_streams_alone, starts_computed
from sharkpy.sql.statements.bind_constraints import column_constraint, starts_constraint, table_constraint
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import NULL, STRING, Field, is_interval


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
            raise of_streams_alone(binder)
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
