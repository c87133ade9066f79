"""Columns of streams that no file has: expressions over other columns, and values in the paths of files."""

from __future__ import annotations

import dataclasses

from sharkpy.base.errors import BindError, SharkError
from sharkpy.catalog.model import ComputedColumn, Table
from sharkpy.catalog.system_tables import FILE_NAME
from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import LogicalPlan, Project, Scan
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.expressions.expr_binder import Clause, ExprBinder
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.scope import Scope, ScopeColumn
from sharkpy.values.types import NULL, STRING

_CLAUSE = Clause("a computed column")


def with_computed(context: Context, rows: LogicalPlan, stream: Table) -> LogicalPlan:
    """Add the computed columns of a stream to its rows, after its own columns and before the virtual ones."""
    if not stream.computed:
        return rows
    own = len(stream.schema)
    known = [ScopeColumn(None, None, column.name, column) for column in rows.output]
    made: list[Alias] = []
    for one in stream.computed:
        value = computed_value(context, stream, one, Scope(known))
        made.append(Alias(value, next(context.ids), one.name))
        known.append(ScopeColumn(None, None, one.name, value))
    return Project(rows, (*rows.output[:own], *made, *rows.output[own:]))


def computed_value(context: Context, stream: Table, column: ComputedColumn, scope: Scope) -> Expr:
    """Return the value of a computed column, in its type.

    Raise BindError if it needs more than one row, or is not deterministic.
    """
    if column.is_of_path:
        path = next(one.expr for one in scope.columns if one.name == FILE_NAME)
        return cast(Call("path_value", (path, Literal(column.name, STRING)), STRING), column.dtype)
    text = f"SELECT {column.text}"
    inner = dataclasses.replace(context, text=text, database=stream.database, ctes={}, kept=None)
    try:
        value = ExprBinder(inner, scope, _CLAUSE).bind(parse_query(text, tokenize(text)).expressions[0])
    except SharkError as error:
        message = f'in the column "{column.name}" of {stream.qualified_name}: {error.message}'
        raise type(error)(message, hint=error.hint, sqlstate=error.sqlstate) from None
    _check(column, value)
    return value if column.dtype in (value.dtype, NULL) else cast(value, column.dtype)


def marked_time(node: LogicalPlan) -> ColumnRef | None:
    """Return the column of a stream's watermark if this node introduces it; else None."""
    match node:
        case Scan(table=Table(watermark=mark)) if mark is not None and mark.column in node.names:
            return node.columns[node.names.index(mark.column)]
        case Project(child=Scan(table=Table(watermark=mark)) as scan) if mark and mark.column not in scan.names:
            return next((item.ref for item in node.items if isinstance(item, Alias) and item.name == mark.column), None)
    return None


def _check(column: ComputedColumn, value: Expr) -> None:
    for part in value.walk():
        if isinstance(part, SUBQUERIES):
            raise BindError(f'the column "{column.name}" can only use the values of its row, without subqueries')
        if isinstance(part, Call) and not is_deterministic_function(part.function):
            message = f'the column "{column.name}" gives another value each time: {part.function}()'
            raise BindError(message, hint="a stream may be read again")
    if column.dtype != NULL and not castable(value.dtype, column.dtype):
        raise BindError(
            f'the column "{column.name}" is {value.dtype}, which cannot be {column.dtype}', sqlstate="42804"
        )
