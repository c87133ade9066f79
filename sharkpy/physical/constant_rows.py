"""Rows of plans without computation: literals of the query's text, or answers from statistics."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sharkpy.optimizer.evaluate import evaluate_quickly
from sharkpy.physical.operators import Filter, LimitOperator, Project, SortOperator, TopN, UnionAll, ValuesScan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Alias, Cast, ColumnRef, Expr, Literal
from sharkpy.values import types as t

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 1_000
"""Number of values up to which Python is faster than a query, without blocking other threads for long."""
MOST_BYTES = 64 << 10
"""Limit on the bytes of rows that a plan may store."""
_UNKNOWN = (KeyError, TypeError, ValueError, ArithmeticError, NotImplementedError)
"""Exceptions for values that do not fit their type unchanged. A query returns them, or its error."""
_Row = tuple[Literal, ...]


def constant_rows(plan: PhysicalPlan) -> pa.RecordBatch | None:
    """Return the rows of a plan without Exchanges, with its stage's names and Arrow types, if they are few literals.

    Return None if anything has to be computed. A query would return the same for literals.
    """
    rows, output = _literals(plan), plan.output
    if rows is None or not output or len(rows) * len(output) > MOST_VALUES:
        return None
    import pyarrow as pa

    try:
        columns = [_column([row[place] for row in rows], column.dtype) for place, column in enumerate(output)]
    except _UNKNOWN:
        return None
    batch = pa.RecordBatch.from_arrays(columns, schema=t.arrow_schema(plan.schema))
    return batch if batch.nbytes <= MOST_BYTES else None


def _literals(plan: PhysicalPlan) -> Sequence[_Row] | None:
    """Return the rows of `plan` as literals of its columns' types, or None if unknown or too many."""
    match plan:
        case ValuesScan(columns, rows):
            return _of_values(columns, rows)
        case Project(child, items):
            below = _literals(child)
            return None if below is None else _projected(below, child.output, items)
        case LimitOperator(child, count, offset):
            below = _literals(child)
            return None if below is None else below[offset : None if count is None else offset + count]
        case UnionAll(inputs, columns):
            return _united(inputs, columns)
        case Filter(child) | SortOperator(child) | TopN(child):
            below = _literals(child)
            return None if below is None or below else ()
    return None


def _of_values(columns: tuple[ColumnRef, ...], rows: tuple[tuple[Expr, ...], ...]) -> Sequence[_Row] | None:
    if len(rows) * len(columns) > MOST_VALUES or len(rows) > MOST_VALUES:
        return None
    found: list[_Row] = []
    for row in rows:
        literals = tuple(value for value in row if isinstance(value, Literal))
        if [one.dtype for one in literals] != [column.dtype for column in columns]:
            return None
        found.append(literals)
    return found


def _projected(
    rows: Sequence[_Row], columns: tuple[ColumnRef, ...], items: tuple[Alias | ColumnRef, ...]
) -> Sequence[_Row] | None:
    if len(rows) * len(items) > MOST_VALUES:
        return None
    ids = [column.column_id for column in columns]
    found: list[_Row] = []
    for row in rows:
        known = dict(zip(ids, row, strict=True))
        values = tuple(value for item in items if (value := _value(item, known)) is not None)
        if len(values) < len(items):
            return None
        found.append(values)
    return found


def _value(expr: Expr, row: Mapping[int, Literal]) -> Literal | None:
    match expr:
        case Literal():
            return expr
        case ColumnRef(column_id):
            return row.get(column_id)
        case Alias(inner):
            return _value(inner, row)
        case Cast(inner, dtype):
            value = _value(inner, row)
            return None if value is None else evaluate_quickly(Cast(value, dtype))
    return None


def _united(inputs: tuple[PhysicalPlan, ...], columns: tuple[ColumnRef, ...]) -> Sequence[_Row] | None:
    types = [column.dtype for column in columns]
    rows: list[_Row] = []
    for child in inputs:
        below = _literals(child)
        if below is None or len(rows) + len(below) > MOST_VALUES or [one.dtype for one in child.output] != types:
            return None
        rows += below
    return rows


def _column(literals: Sequence[Literal], dtype: t.DataType) -> pa.Array[Any]:
    import pyarrow as pa

    values = [None if one.value is None else _PLAIN[type(dtype)](one.value) for one in literals]
    column: pa.Array[Any] = pa.array(values, t.to_arrow(dtype))
    return column


# Conversions as in `sharkpy.udf.literals.lower_literal`


def _decimal(value: object) -> Decimal:
    return Decimal(f"{Decimal(str(value)):f}")


def _float(value: Any) -> object:
    """Return the nearest 32-bit number; raise OverflowError if there is none."""
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def _binary(value: object) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError


def _date(value: object) -> datetime.date:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    raise TypeError


def _timestamp(value: object) -> datetime.datetime:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value
    raise TypeError


_PLAIN: Mapping[type[t.DataType], Callable[[Any], object]] = {
    t.BooleanType: bool,
    t.TinyIntType: int,
    t.SmallIntType: int,
    t.IntType: int,
    t.BigIntType: int,
    t.FloatType: _float,
    t.DoubleType: float,
    t.DecimalType: _decimal,
    t.StringType: str,
    t.VarcharType: str,
    t.CharType: str,
    t.BinaryType: _binary,
    t.DateType: _date,
    t.TimestampType: _timestamp,
    t.YearMonthIntervalType: int,
    t.DayTimeIntervalType: int,
}
"""Function by type that converts a literal's value, which is not NULL, for Arrow. Nested values need a query."""
