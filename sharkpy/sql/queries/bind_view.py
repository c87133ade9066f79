"""Views and continuous tables with state, in FROM.

A view's query is bound in the view's database. The result of a continuous table with state is computed from its state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import SharkError
from sharkpy.catalog.model import Table
from sharkpy.catalog.stream_kinds import SPANS, has_spans
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.grammar.parser import parse
from sharkpy.sql.queries.bind_table import at_version, find_table, scan
from sharkpy.values.types import has_null_type

if TYPE_CHECKING:
    from sharkpy.sql.incremental.divided_query import DividedQuery

_COLUMN = "view.query.out.col.{}"


def bind_view(context: Context, table: Table, node: exp.Expr | None, stream: Table | None = None) -> LogicalPlan:
    """Bind a view's query in the view's database, under the view's column names.

    For a continuous table with state, `stream` reads its rows as a stream FROM that table.
    """
    inner, plan = _view_query(context, table, node)
    if table.has_state:
        divided, state = _divided(inner, table, plan)
        unnamed = dataclasses.replace(inner, text="")
        read = partial(scan, unnamed, state)
        if stream is None:
            plan = divided.read(read)
        elif has_spans(stream):
            plan = divided.closed_within(read, partial(scan, unnamed, dataclasses.replace(stream, schema=SPANS)))
        else:
            plan = divided.read(partial(scan, unnamed, dataclasses.replace(stream, schema=state.schema)))
    output = _view_output(table, plan.output)
    if len(output) != len(table.schema):
        message = f"the view {table.qualified_name} has {len(table.schema)} columns, its query {len(output)}"
        raise context.error(message, node, hint="create the view again")
    items: list[Alias | ColumnRef] = []
    for column, field in zip(output, table.schema, strict=True):
        # The query decides a column's type, even if it changed: the view's type could not hold all values.
        value = cast(column, field.dtype) if has_null_type(column.dtype) else column
        is_same = value is column and column.name == field.name
        items.append(column if is_same else Alias(value, next(context.ids), field.name))
    return plan if tuple(items) == plan.output else Project(plan, tuple(items))


def _view_output(view: Table, output: Sequence[ColumnRef]) -> list[ColumnRef]:
    """Return the columns of the query in the order of the view's columns.

    Hive and this engine store the expanded `*` in the view's text, so all columns belong to the view. Spark stores `*`
    itself, and the names of the columns.
    """
    properties = dict(view.properties)
    names = [properties.get(_COLUMN.format(index), "").lower() for index in range(len(view.schema))]
    by_name = {column.name: column for column in reversed(output)}
    return [by_name[name] for name in names] if by_name.keys() >= set(names) else list(output)


def _view_query(context: Context, table: Table, node: exp.Expr | None) -> tuple[Context, LogicalPlan]:
    """Bind a view's query. Return its context and its plan."""
    if table.qualified_name in context.views:
        raise circular_view(context, table, node)
    text = table.view_text or ""
    inner = dataclasses.replace(
        context,
        database=table.view_database,
        text=text,
        ctes={},
        views=(*context.views, table.qualified_name),
        kept=None,
    )
    try:
        return inner, context.bind_query(parse(text), inner, None)
    except SharkError as error:
        message = f"in the view {table.qualified_name}: {error.message}"
        raise context.error(message, node, type(error), error.hint, error.sqlstate) from None


def circular_view(context: Context, view: Table, node: exp.Expr | None) -> SharkError:
    chain = " -> ".join((*context.views, view.qualified_name))
    return context.error(f"the view {view.qualified_name} refers to itself: {chain}", node)


def rows_of_state(context: Context, stream: Table, node: exp.Expr) -> LogicalPlan | None:
    """Rows of a stream FROM a continuous table with state; None for another stream."""
    source = context.catalog.source_of(stream)
    return None if source is None or not source.has_state else bind_view(context, source, node, stream)


def divided_view(context: Context, table: Table, node: exp.Expr | None = None) -> DividedQuery:
    """Return the divided query of a continuous table with state."""
    inner, query = _view_query(context, table, node)
    return _divided(inner, table, query)[0]


def _divided(context: Context, table: Table, query: LogicalPlan) -> tuple[DividedQuery, Table]:
    """The divided query of a continuous table, and the table with its state."""
    from sharkpy.sql.incremental.divide_query import divide_query

    state = _state_of(context, table)
    found = divide_query(query, context, state.emit, expires=state.expires)
    if found is None or found.schema.names != state.schema.names:
        message = f"the query of {table.qualified_name} has another state than when it was defined"
        raise context.error(message, None, sqlstate="55000")
    return found, state


def state_table(context: Context, database: str, name: str, node: exp.Expr) -> Table:
    """The state table for STATE OF name."""
    table = find_table(context, database, name, node, has_rows=False)
    if not table.has_state:
        message = f"{table.qualified_name} is not a continuous table, insert or sink with state"
        raise context.error(message, node, sqlstate="42809")
    return _state_of(context, at_version(context, table, node.args.get("version")))


def _state_of(context: Context, table: Table) -> Table:
    state = context.catalog.table(table.database, table.state_name)
    return state if table.as_of is None else context.catalog.at(state, table.as_of)
