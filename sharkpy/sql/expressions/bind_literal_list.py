"""IN over a LiteralList: integers become one Arrow array, other literals are converted one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from sharkpy.base.errors import ParseError, SharkError
from sharkpy.plan.arrow_data import ConstantSet, has_constant_sets
from sharkpy.plan.expr import Expr, InSet, Literal, string_literal
from sharkpy.sql.expressions.coercion import comparable
from sharkpy.sql.expressions.literals import integer_literal, negated, number_literal
from sharkpy.sql.grammar.literal_cells import Cell, items_of
from sharkpy.values.types import BOOLEAN, MAX_PRECISION, NULL, DataType, DecimalType, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.sql.context import Context

_NUMBER = re.compile(r"\d+\.?\d*([eE][+-]?\d+)?")


def in_integers(value: Expr, text: str) -> InSet | None:
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


def list_items(context: Context, node: exp.Expr) -> list[Expr]:
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
