"""Numbers: absolute values, remainders, extremes, digits in other bases, histogram buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf import decimals
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import integer_value
from sharkpy.udf.operators import OPERATORS
from sharkpy.udf.ordering import extreme
from sharkpy.udf.signatures import Types, all_common, converts, numeric, returns, same_as, takes
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    STRING,
    DataType,
    DecimalType,
    is_string,
)


def _absolute(args: Sequence[str], _types: Types, result: DataType) -> str:
    if result in INTEGER_TYPES:
        wide = "HUGEINT" if result == BIGINT else "BIGINT"
        return wrap_integer(f"abs(CAST({args[0]} AS {wide}))", result)
    return f"abs({args[0]})"


def _numbers(types: Types) -> Types | None:
    return next(row.arguments(types) for row in OPERATORS if row.name == "mod")


def _remainder_type(types: Types) -> DataType:
    return next(row.result(types) for row in OPERATORS if row.name == "mod")


def _pmod(args: Sequence[str], types: Types, result: DataType) -> str:
    left_type, right_type = types
    if isinstance(left_type, DecimalType) and isinstance(right_type, DecimalType) and isinstance(result, DecimalType):
        rest = decimals.remainder(args[0], args[1], left_type, right_type, result)
        moved = f"CASE WHEN {rest} < 0 AND {args[1]} > 0 THEN {rest} + {args[1]} ELSE {rest} END"
        return f"CAST({moved} AS {duckdb_type(result)})"
    if result in INTEGER_TYPES:
        left, right = f"CAST({args[0]} AS {'HUGEINT' if result == BIGINT else 'BIGINT'})", args[1]
        divisor = integer_value(right)
        if divisor is not None and divisor > 0:
            rest = f"{args[0]} % {right}"
            return f"CAST(CASE WHEN {rest} < 0 THEN {rest} + {right} ELSE {rest} END AS {duckdb_type(result)})"
        rest = f"({left} % {right})"
        total = wrap_integer(f"({rest} + {right})", result) if result in (INT, BIGINT) else f"({rest} + {right})"
        return f"CAST(CASE WHEN {rest} < 0 THEN {total} % {right} ELSE {rest} END AS {duckdb_type(result)})"
    right = f"nullif({args[1]}, 0)"
    return f"CAST((({args[0]} % {right}) + {right}) % {right} AS {duckdb_type(result)})"


def _hex(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"upper(hex({args[0]}))"


def _extreme(function: str) -> Callable[[Sequence[str], Types, DataType], str]:
    """Lower to an extreme that is NULL if any argument is NULL."""

    def lower(args: Sequence[str], types: Types, _result: DataType) -> str:
        known = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
        return f"CASE WHEN {known} THEN {extreme(function, args, types[0])} END"

    return lower


MATH_FUNCTIONS = (
    ScalarFunction(
        "abs",
        numeric,
        same_as(0),
        _absolute,
        usage="abs(x)",
        doc="absolute value",
        example="abs(-3)",
        answer="3",
        unchecked="abs({0})",
    ),
    ScalarFunction(
        "sign",
        numeric,
        returns(DOUBLE),
        "CAST(CASE WHEN isnan(CAST({0} AS DOUBLE)) THEN {0} ELSE sign({0}) END AS DOUBLE)",
        usage="sign(x)",
        doc="-1.0, 0.0 or 1.0",
        example="sign(-3)",
        answer="-1.0",
        aliases=("signum",),
    ),
    ScalarFunction(
        "pmod",
        _numbers,
        _remainder_type,
        _pmod,
        usage="pmod(a, b)",
        doc="the positive remainder",
        example="pmod(-7, 3)",
        answer="2",
    ),
    ScalarFunction(
        "factorial",
        takes(INT),
        returns(BIGINT),
        "CASE WHEN {0} BETWEEN 0 AND 20 THEN CAST(factorial({0}) AS BIGINT) END",
        NullPolicy.CUSTOM,
        usage="factorial(n)",
        doc="a!; NULL outside 0..20",
        example="factorial(5)",
        answer="120",
    ),
    ScalarFunction(
        "bin",
        takes(BIGINT),
        returns(STRING),
        "bin({0})",
        usage="bin(n)",
        doc="binary digits, two's complement of 64 bits",
        example="bin(13)",
        answer="1101",
    ),
    ScalarFunction(
        "hex",
        lambda types: (
            None
            if len(types) != 1
            else types
            if str(types[0]) == "binary" or is_string(types[0])
            else (BIGINT,)
            if converts(types[0], BIGINT)
            else None
        ),
        returns(STRING),
        _hex,
        usage="hex(x)",
        doc="hexadecimal digits of a number, string or binary",
        example="hex(255)",
        answer="FF",
    ),
    ScalarFunction(
        "conv",
        takes(STRING, INT, INT),
        returns(STRING),
        "shark_conv({0}, {1}, {2})",
        usage="conv(n, from_base, to_base)",
        doc="number from one base to another",
        example="conv('ff', 16, 10)",
        answer="255",
    ),
    ScalarFunction(
        "greatest",
        all_common(2),
        same_as(0),
        _extreme("greatest"),
        usage="greatest(x, y, …)",
        doc="the greatest; NULL if any is NULL",
        example="greatest(1, 3, 2)",
        answer="3",
    ),
    ScalarFunction(
        "least",
        all_common(2),
        same_as(0),
        _extreme("least"),
        usage="least(x, y, …)",
        doc="the least; NULL if any is NULL",
        example="least(1, 3, 2)",
        answer="1",
    ),
    ScalarFunction(
        "width_bucket",
        takes(DOUBLE, DOUBLE, DOUBLE, INT),
        returns(INT),
        "CASE WHEN {3} <= 0 OR {3} = 2147483647 OR {1} = {2} THEN NULL"
        " WHEN ({0} < {1}) = ({1} < {2}) AND {0} <> {1} THEN 0"
        " WHEN abs({0} - {1}) >= abs({2} - {1}) THEN {3} + 1"
        " ELSE TRY_CAST(floor(({0} - {1}) * {3} / ({2} - {1})) AS INTEGER) + 1 END",
        NullPolicy.CUSTOM,
        usage="width_bucket(x, low, high, n)",
        doc="number of the bucket of an equi-width histogram",
        example="width_bucket(5.3, 0.2, 10.6, 5)",
        answer="3",
    ),
    ScalarFunction(
        "isnan",
        takes(DOUBLE),
        returns(BOOLEAN),
        "isnan({0})",
        usage="isnan(x)",
        doc="whether a is NaN",
        example="isnan(1.0)",
        answer="false",
    ),
)
