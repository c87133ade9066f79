"""Rounding of numbers to a place: half away from zero, half to even, down, up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf import decimals
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.duckdb_sql import duckdb_type, integer_value
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, converts, numeric
from sharkpy.values.common_types import bounded_decimal
from sharkpy.values.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    MAX_PRECISION,
    DataType,
    DecimalType,
    is_numeric,
)


def _round_arguments(types: Types) -> Types | None:
    if not 1 <= len(types) <= 2 or not (is_numeric(types[0]) or converts(types[0], DOUBLE)):
        return None
    if len(types) == 2 and not converts(types[1], INT):
        return None
    value = types[0] if is_numeric(types[0]) else DOUBLE
    return (value, INT)[: len(types)]


def _round_literal(types: Types, values: Sequence[object]) -> DataType:
    dtype = types[0]
    if not isinstance(dtype, DecimalType):
        return dtype
    places = int(str(values[1])) if len(values) > 1 and values[1] is not None else 0
    digits = dtype.precision - dtype.scale + 1
    if places < 0:
        return bounded_decimal(max(digits, -places + 1), 0)
    scale = min(dtype.scale, places)
    return bounded_decimal(digits + scale, scale)


def _round_result(types: Types) -> DataType:
    if len(types) == 1:
        return _round_literal(types, ())
    dtype = types[0]
    return bounded_decimal(dtype.precision + 1, dtype.scale) if isinstance(dtype, DecimalType) else dtype


def _round(rounding: str) -> Callable[[Sequence[str], Types, DataType], str]:
    """HALF_UP (`round`) or HALF_EVEN (`roundbankers`) at the given place."""

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        places = args[1] if len(args) > 1 else "0"
        dtype = types[0]
        if dtype in INTEGER_TYPES:
            constant = integer_value(places)
            if constant is not None and constant >= 0:
                return args[0]
            whole = f"CAST({rounding}(CAST({args[0]} AS DECIMAL(38,0)), least({places}, 0)) AS HUGEINT)"
            return wrap_integer(whole if result == BIGINT else f"CAST({whole} AS BIGINT)", result)
        if dtype in (FLOAT, DOUBLE):
            return _round_floating(rounding, args[0], places, result)
        rounded = f"{rounding}({args[0]}, {places})"
        may_overflow = isinstance(dtype, DecimalType) and dtype.precision == MAX_PRECISION
        return f"TRY_CAST({f'TRY({rounded})' if may_overflow else rounded} AS {duckdb_type(result)})"

    return lower


def _round_floating(rounding: str, sql: str, places: str, result: DataType) -> str:
    """Round by the shortest decimal text, as BigDecimal.valueOf does: round(1.005, 2) is 1.01."""
    constant = integer_value(places)
    name = duckdb_type(result)
    if constant is None or not 0 <= constant <= 18:
        return f"CAST({rounding}(CAST({sql} AS DOUBLE), {places}) AS {name})"
    text = f"CAST({sql} AS VARCHAR)"
    if rounding == "round":
        exact = f"TRY_CAST({text} AS DECIMAL(38,{constant}))"
    else:
        exact = f"{rounding}(TRY_CAST({text} AS DECIMAL(38,{min(constant + 15, 30)})), {constant})"
    return f"coalesce(CAST({exact} AS {name}), {sql})"


def _whole_type(types: Types) -> DataType:
    match types[0]:
        case DecimalType(precision, scale):
            return bounded_decimal(max(precision - scale + 1, 1), 0)
    return BIGINT


def _whole(function: str) -> Callable[[Sequence[str], Types, DataType], str]:
    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if types[0] in INTEGER_TYPES:
            return f"CAST({args[0]} AS BIGINT)"
        if isinstance(types[0], DecimalType):
            return f"CAST({function}({args[0]}) AS {duckdb_type(result)})"
        return f"shark_double_to_bigint({function}({args[0]}))"

    return lower


def _whole_arguments(types: Types) -> Types | None:
    """A number, or a number and places. With places it counts as DECIMAL, and a DOUBLE has 15 digits after the
    point.
    """
    if len(types) != 2:
        return numeric(types)
    if not converts(types[1], INT) or numeric(types[:1]) is None:
        return None
    return (decimals.decimal_of(types[0]), INT)


def _whole_result(types: Types) -> DataType:
    return _whole_type(types) if len(types) == 1 else _round_result(types)


def _whole_literal(types: Types, values: Sequence[object]) -> DataType:
    is_constant = len(types) == 2 and values[1] is not None
    return _round_literal(types, values) if is_constant else _whole_result(types)


def _whole_at(function: str) -> Callable[[Sequence[str], Types, DataType], str]:
    """floor or ceil at the given place: multiples of a power of ten."""
    whole = _whole(function)

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if len(args) == 1 or not isinstance(types[0], DecimalType) or not isinstance(result, DecimalType):
            return whole(args, types, result)
        places = integer_value(args[1])
        if places is None:
            raise TypeMismatchError(f"the places of {function} must be a constant")
        if places >= types[0].scale:
            return f"CAST({args[0]} AS {duckdb_type(result)})"
        unit = f"CAST('1e{-places}' AS {duckdb_type(result)})"
        near = f"TRY_CAST(round({args[0]}, {places}) AS {duckdb_type(result)})"
        beyond, sign = (">", "-") if function == "floor" else ("<", "+")
        step = f"CASE WHEN {near} {beyond} {args[0]} THEN {unit} ELSE 0 END"
        return f"CAST({near} {sign} {step} AS {duckdb_type(result)})"

    return lower


ROUNDING_FUNCTIONS = (
    Page("round(x[, places])", "rounded half away from zero to so many places", "round(2.5, 0) -> 3").scalar(
        _round_arguments, _round_result, _round("round"), literal_result=_round_literal
    ),
    Page("bround(x[, places])", "rounded half to even", "bround(2.5, 0) -> 2").scalar(
        _round_arguments, _round_result, _round("roundbankers"), literal_result=_round_literal
    ),
    Page(
        "floor(x[, places])", "largest integer <= a, or largest number with so many places", "floor(-1.5) -> -2"
    ).scalar(_whole_arguments, _whole_result, _whole_at("floor"), literal_result=_whole_literal),
    Page("ceil(x[, places])", "smallest integer >= a, or smallest number with so many places", "ceil(1.2) -> 2").scalar(
        _whole_arguments, _whole_result, _whole_at("ceil"), aliases=("ceiling",), literal_result=_whole_literal
    ),
)
