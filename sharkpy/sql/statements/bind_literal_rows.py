"""Long VALUES of plain literals, as columns.

A tree and a bound expression for each value would cost far more than the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import SharkError
from sharkpy.plan.arrow_data import ArrowRows, GivenRows
from sharkpy.plan.expr import Literal, PythonValue
from sharkpy.plan.logical import Given
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_literal_list import literal_of
from sharkpy.sql.expressions.coercion import unify, with_minimal_literals
from sharkpy.sql.grammar.literal_cells import Cell, rows_of
from sharkpy.sql.grammar.long_text import LITERAL_LIST
from sharkpy.values.types import DataType, Field, Schema, arrow_schema, to_arrow

LEAST_TOKENS = 1_000
_LITERALS = frozenset((TokenType.NUMBER, TokenType.STRING, TokenType.NULL, TokenType.TRUE, TokenType.FALSE))
_ROW = (TokenType.L_PAREN,)
_CELL = (*_LITERALS, TokenType.DASH)
_BEHIND_SIGN = (TokenType.NUMBER,)
_BEHIND_CELL = (TokenType.COMMA, TokenType.R_PAREN)
_BEHIND_ROW = (TokenType.COMMA,)


def literal_rows(context: Context, tokens: Sequence[Token]) -> Given | None:
    """Read VALUES (…), (…) to the rows that `bind_values` would make.

    Return None if there are few rows, if some values are not plain literals, or if the rows are invalid: `bind_values`
    then raises the error.
    """
    if not tokens or tokens[0].token_type != TokenType.VALUES:
        return None
    if len(tokens) == 2 and tokens[1].token_type == LITERAL_LIST:
        rows: list[list[Cell]] | None = list(rows_of(tokens[1].text))
    else:
        rows = _rows(tokens[1:]) if len(tokens) >= LEAST_TOKENS else None
    if rows is None or any(len(row) != len(rows[0]) for row in rows):
        return None
    try:
        columns = [_column(cells) for cells in zip(*rows, strict=True)]
    except SharkError:
        return None
    known = [column for column in columns if column is not None]
    return _given(context, known) if len(known) == len(columns) else None


def _rows(tokens: Sequence[Token]) -> list[list[Cell]] | None:
    """Cells between parentheses; None if there are other tokens than literals."""
    rows: list[list[Cell]] = []
    row: list[Cell] = []
    sign = ""
    expected: tuple[TokenType, ...] = _ROW
    for token in tokens:
        kind = token.token_type
        if kind not in expected:
            return None
        if kind in _LITERALS:
            row.append((kind, sign + token.text))
            sign, expected = "", _BEHIND_CELL
        elif kind == TokenType.DASH:
            sign, expected = "-", _BEHIND_SIGN
        elif kind == TokenType.R_PAREN:
            rows.append(row)
            row, expected = [], _BEHIND_ROW
        else:
            expected = _CELL if row or kind == TokenType.L_PAREN else _ROW
    return rows if expected is _BEHIND_ROW else None


def _column(cells: Sequence[Cell]) -> tuple[DataType, list[PythonValue]] | None:
    """Common type of the values, and the values; None if a value cannot be a literal of that type."""
    distinct = dict.fromkeys(cells)
    unified = unify(with_minimal_literals([literal_of(*cell) for cell in distinct]))
    if unified is None:
        return None
    values: dict[Cell, PythonValue] = {}
    for cell, expr in zip(distinct, unified, strict=True):
        if not isinstance(expr, Literal):
            return None
        values[cell] = expr.value
    return unified[0].dtype, [values[cell] for cell in cells]


def _given(context: Context, columns: Sequence[tuple[DataType, list[PythonValue]]]) -> Given:
    import pyarrow as pa

    schema = Schema(tuple(Field(f"col{place}", dtype) for place, (dtype, _) in enumerate(columns, start=1)))
    arrays = [pa.array(values, to_arrow(dtype)) for dtype, values in columns]
    table = pa.Table.from_arrays(arrays, schema=arrow_schema(schema))
    rows = GivenRows("VALUES", schema, ArrowRows(), here=(table,), num_rows=table.num_rows)
    return Given(tuple(context.column(field.name, field.dtype) for field in schema), rows)
