"""VALUES: rows of expressions, whose columns get common types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.logical import Values
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_literal_list import cell_literal
from sharkpy.sql.expressions.coercion import unify, with_minimal_literals
from sharkpy.sql.grammar.literal_cells import rows_of
from sharkpy.sql.grammar.literal_parser import LiteralList
from sharkpy.sql.scope import Scope

_MOST_VALUES = 200_000
"""Maximum number of literals. DuckDB plans them in seconds, and cannot be cancelled during that time."""


def _bound_rows(binder: expr_binder.ExprBinder, node: exp.Expr) -> Iterator[tuple[exp.Expr, Sequence[Expr]]]:
    """Values of the rows of VALUES, each with its node."""
    for row in node.expressions:
        if isinstance(row, LiteralList):
            for cells in rows_of(row.name):
                yield row, [cell_literal(binder.context, cell, row) for cell in cells]
        else:
            items = row.expressions if isinstance(row, exp.Tuple) else [row]
            yield row, [binder.bind(item) for item in items]


def bind_values(context: Context, node: exp.Expr, parent: Scope | None) -> Values:
    """Bind VALUES rows. Columns are col1, col2, … with the common type of their values."""
    binder = expr_binder.ExprBinder(context, parent or Scope(()), expr_binder.VALUES)
    rows: list[Sequence[Expr]] = []
    for place, row in _bound_rows(binder, node):
        rows.append(row)
        if len(rows) * len(rows[0]) > _MOST_VALUES:
            message = f"VALUES has more than {_MOST_VALUES:,} values"
            raise context.error(message, place, hint="INSERT them into a table", sqlstate="54000")
        if len(row) != len(rows[0]):
            message = f"row {len(rows)} of VALUES has {len(row)} values, the first has {len(rows[0])}"
            raise context.error(message, place, sqlstate="42811")
    columns: list[ColumnRef] = []
    unified: list[tuple[Expr, ...]] = []
    for index, column_values in enumerate(zip(*rows, strict=True), start=1):
        values = unify(with_minimal_literals(column_values))
        if values is None:
            types = ", ".join(dict.fromkeys(str(item.dtype) for item in column_values))
            raise context.error(f"column {index} of VALUES has no common type: {types}", node, TypeMismatchError)
        unified.append(values)
        columns.append(context.column(f"col{index}", values[0].dtype))
    return Values(tuple(columns), tuple(zip(*unified, strict=True)))
