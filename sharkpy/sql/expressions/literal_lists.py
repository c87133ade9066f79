"""Long lists of literals, which the parser keeps as one token: IN over a list, and rows of VALUES.

Integers of a list become one Arrow array, and rows of VALUES become columns. A tree and a bound expression for each
value would cost far more than the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ParseError, SharkError
from sharkpy.plan.arrow_data import ArrowRows, ConstantSet, GivenRows, has_constant_sets
from sharkpy.plan.expr import Expr, InSet, Literal, PythonValue, string_literal
from sharkpy.plan.logical import Given
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.coercion import comparable, unify, with_minimal_literals
from sharkpy.sql.expressions.literals import integer_literal, negated, number_literal
from sharkpy.sql.grammar import dialect
from sharkpy.sql.grammar.long_text import LITERAL_LIST
from sharkpy.values.types import (
    BOOLEAN,
    MAX_PRECISION,
    NULL,
    DataType,
    DecimalType,
    Field,
    Schema,
    arrow_schema,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.sql.context import Context

Cell = tuple[TokenType, str]
"""Literal of a row. A number may have a minus sign."""
_PART = re.compile(
    r"""(?P<string>'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<end>\))|(?P<cell>[^\s,()]++)""",
    re.DOTALL,
)
_WORDS = {"NULL": TokenType.NULL, "TRUE": TokenType.TRUE, "FALSE": TokenType.FALSE}
_CELLS_BETWEEN_CHECKS = 10_000


def rows_of(text: str) -> Iterator[list[Cell]]:
    """Rows of `(1, 'a'), (2, 'b')`."""
    row: list[Cell] = []
    for number, part in enumerate(_PART.finditer(text)):
        if number % _CELLS_BETWEEN_CHECKS == 0:
            check_cancelled()
        if part.lastgroup == "end":
            yield row
            row = []
        else:
            row.append(_cell(part))


def items_of(text: str) -> list[Cell]:
    """Items of `1, 2, 3`."""
    return next(rows_of(text + ")"))


def _cell(part: re.Match[str]) -> Cell:
    text = part.group()
    if part.lastgroup == "cell":
        kind = _WORDS.get(text.upper(), TokenType.NUMBER)
        return kind, text
    # The tokenizer resolves escapes.
    return TokenType.STRING, dialect.tokenize(text)[0].text if "\\" in text else text[1:-1]


_NUMBER = re.compile(r"\d+\.?\d*([eE][+-]?\d+)?")


def in_integer_list(value: Expr, text: str) -> InSet | None:
    """Bind `value IN (text)` for a list of integers; None for other lists, or if the compared type has no sets.

    The least and the greatest integer decide the type: if both can be cast without loss, all can.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if text.lstrip()[:1] in "'\"":
        return None
    try:
        items = pc.split_pattern(pa.array([text]), ",").flatten()
        integers = pc.cast(pc.utf8_trim_whitespace(items), pa.int64())
    except pa.ArrowInvalid:
        return None
    bounds: dict[str, Any] = pc.min_max(integers).as_py()  # type: ignore[assignment]  # the stubs know no struct
    operands = comparable([value, integer_literal(bounds["min"]), integer_literal(bounds["max"])])
    if operands is None or not all(isinstance(bound, Literal) for bound in operands[1:]):
        return None
    dtype = operands[0].dtype
    constants = _cast(integers, dtype) if has_constant_sets(dtype) else None
    return None if constants is None else InSet(operands[0], ConstantSet.of_array(dtype, constants))


def _cast(integers: pa.Array[Any], dtype: DataType) -> pa.Array[Any] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if isinstance(dtype, DecimalType):
            # Arrow requires room for all int64 values, whatever the values are.
            integers = pc.cast(integers, pa.decimal128(MAX_PRECISION, dtype.scale))
        return pc.cast(integers, to_arrow(dtype))
    except pa.ArrowInvalid:
        return None


def literals_of_list(context: Context, node: exp.Expr) -> list[Expr]:
    """Return the literals of a list, as if each one had been bound separately."""
    return [cell_literal(context, cell, node) for cell in items_of(node.name)]


def cell_literal(context: Context, cell: Cell, node: exp.Expr) -> Literal:
    """Return the literal of a cell, with errors at the place of `node`."""
    try:
        return literal_of(*cell)
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None


def literal_of(kind: TokenType, text: str) -> Literal:
    match kind:
        case TokenType.STRING:
            return string_literal(text)
        case TokenType.NULL:
            return Literal(None, NULL)
        case TokenType.NUMBER:
            unsigned = text.removeprefix("-")
            if not _NUMBER.fullmatch(unsigned):
                raise ParseError(f"a number expected, {text} given")
            literal = number_literal(unsigned)
            return literal if unsigned == text else negated(literal) or literal
    return Literal(kind == TokenType.TRUE, BOOLEAN)


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
