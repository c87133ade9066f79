"""Aggregates over integer forms: sums of scaled integers, converted to decimals once per group."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.physical.aggregates import state_types
from sharkpy.physical.lowering.value import HUGE, Value
from sharkpy.physical.ranges import ColumnRange
from sharkpy.plan.expr import AggregateCall
from sharkpy.udf.literals import lower_literal
from sharkpy.udf.wide_decimals import fits_small_sum
from sharkpy.values.types import DOUBLE, INTEGER_TYPES, DataType, DecimalType

_MOST_ROWS = 10**12
"""Assumed limit on a task's rows if their number is unknown."""


def integer_complete(call: AggregateCall, args: list[Value], over: str, num_rows: int | None) -> Value | None:
    """Return the aggregate over an integer form, or None if it has none. `num_rows` bounds the input's rows."""
    arg = args[0].integer() if len(args) == 1 and args[0].constant is None else None
    if arg is None or arg.range is None:
        return None
    match call.function:
        case "min" | "max" if args[0].integer_type is not None:
            return Value(f"{call.function}({arg.sql}){over}", call.dtype, arg.range, arg.integer_type)
        case "count":
            return Value(f"count({arg.sql}){over}", call.dtype)
        case "sum":
            return _sum(arg, call.dtype, over, num_rows)
    return None


def integer_partials(call: AggregateCall, args: list[Value], over: str, num_rows: int | None) -> list[Value] | None:
    """Return the aggregate's state columns over an integer form, or None."""
    arg = args[0].integer() if len(args) == 1 and args[0].constant is None else None
    if call.function == "avg":
        return None if arg is None else _average_states(call, arg, over, num_rows)
    types = state_types(call)
    if call.function == "sum":
        total = None if arg is None else _sum(arg, types[0], over, num_rows)
        return None if total is None else _with_no_large_parts([total], types)
    value = integer_complete(call, args, over, num_rows)
    return [value] if value is not None and list(types) == [value.dtype] else None


def _average_states(call: AggregateCall, arg: Value, over: str, num_rows: int | None) -> list[Value] | None:
    types = list(state_types(call))
    if arg.range is None:
        return None
    count = Value(f"count({arg.sql}){over}", types[-1])
    if isinstance(types[0], DecimalType):
        total = _sum(arg, types[0], over, num_rows)
        return None if total is None else _with_no_large_parts([total, count], types)
    if types[0] == DOUBLE and arg.scale == 0:
        return [Value(f"CAST({_sum_sql(arg.sql, arg.range, over, num_rows)} AS DOUBLE)", DOUBLE), count]
    return None


def _with_no_large_parts(values: list[Value], types: Sequence[DataType]) -> list[Value] | None:
    """Return the states of a sum and others, with NULL in the states for large values of wide DECIMALs.

    Return None if the sum may need the states for large values.
    """
    missing = types[1 : 1 + len(types) - len(values)]
    total = values[0].range
    if missing and (total is None or not fits_small_sum(total.magnitude)):
        return None
    return [values[0], *(Value(lower_literal(None, dtype), dtype) for dtype in missing), *values[1:]]


def _sum(arg: Value, dtype: DataType, over: str, num_rows: int | None) -> Value | None:
    if arg.range is None:
        return None
    total = _times(arg.range, num_rows or _MOST_ROWS)
    sql = _sum_sql(arg.sql, arg.range, over, num_rows)
    if isinstance(dtype, DecimalType):
        fits = dtype.scale == arg.scale and len(str(total.magnitude)) + dtype.scale <= 38
        return Value(sql, dtype, total, HUGE) if fits else None
    if dtype in INTEGER_TYPES and num_rows is not None and total.sql_type is not None:
        return Value(sql, dtype, total, HUGE)
    return None


def _sum_sql(sql: str, known: ColumnRange, over: str, num_rows: int | None) -> str:
    """Return the SQL of a sum, without overflow checks if the sum of all rows fits 64 bits."""
    unchecked = num_rows is not None and _times(known, num_rows).sql_type is not None
    return f"{'sum_no_overflow' if unchecked else 'sum'}({sql}){over}"


def _times(known: ColumnRange, num_rows: int) -> ColumnRange:
    return ColumnRange(min(known.low, 0) * num_rows, max(known.high, 0) * num_rows)
