"""Numbers: extremes, remainders, digits in other bases; elementary functions of DOUBLE; random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf import decimals
from sharkpy.udf.arithmetic_operators import ARITHMETIC
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.duckdb_sql import duckdb_type, integer_value
from sharkpy.udf.function import NullPolicy, ScalarFunction, Varying
from sharkpy.udf.ordering import extreme
from sharkpy.udf.signatures import Types, all_common, converts, first_of, numeric, returns, same_as, takes
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


def _remainder_arguments(types: Types) -> Types | None:
    return next(row.arguments(types) for row in ARITHMETIC if row.name == "mod")


def _remainder_type(types: Types) -> DataType:
    return next(row.result(types) for row in ARITHMETIC if row.name == "mod")


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
        _remainder_arguments,
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


def double_function(name: str, lowering: str, *, doc: str, example: str, answer: str) -> ScalarFunction:
    """A function of one number."""
    return ScalarFunction(
        name,
        takes(DOUBLE),
        returns(DOUBLE),
        lowering,
        usage=f"{name}(x)",
        doc=doc,
        example=example,
        answer=answer,
    )


def _log(name: str, function: str, *, answer: str) -> ScalarFunction:
    lowering = f"CASE WHEN {{0}} > 0 THEN {function}({{0}}) END"
    return ScalarFunction(
        name,
        takes(DOUBLE),
        returns(DOUBLE),
        lowering,
        NullPolicy.CUSTOM,
        usage=f"{name}(x)",
        doc=f"{name} of x; NULL unless x > 0",
        example=f"{name}(8.0)",
        answer=answer,
    )


ELEMENTARY_FUNCTIONS = (
    double_function(
        "sqrt",
        "sqrt({0})",
        doc="square root; NaN below zero",
        example="sqrt(16.0)",
        answer="4.0",
    ),
    double_function(
        "cbrt",
        "shark_cbrt({0})",
        doc="cube root",
        example="cbrt(27.0)",
        answer="3.0",
    ),
    double_function(
        "exp",
        "exp({0})",
        doc="e to the power of a",
        example="exp(1.0)",
        answer="2.718281828459045",
    ),
    _log("ln", "ln", answer="2.0794415416798357"),
    _log("log2", "log2", answer="3.0"),
    _log("log10", "log10", answer="0.9030899869919435"),
    ScalarFunction(
        "log",
        first_of(takes(DOUBLE), takes(DOUBLE, DOUBLE)),
        returns(DOUBLE),
        lambda args, _types, _result: (
            f"CASE WHEN {args[0]} > 0 THEN ln({args[0]}) END"
            if len(args) == 1
            else f"CASE WHEN {args[0]} > 1 AND {args[1]} > 0 THEN ln({args[1]}) / ln({args[0]}) END"
        ),
        NullPolicy.CUSTOM,
        usage="log([base, ]x)",
        doc="natural logarithm, or to the given base; NULL unless a > 0 and the base > 1",
        example="log(2, 8)",
        answer="3.0",
    ),
    double_function(
        "log1p",
        "CASE WHEN {0} > -1 THEN ln(1 + {0}) END",
        doc="ln(1 + a)",
        example="log1p(0.5)",
        answer="0.4054651081081644",
    ),
    double_function(
        "expm1",
        "(exp({0}) - 1)",
        doc="exp(a) - 1",
        example="expm1(0.5)",
        answer="0.6487212707001282",
    ),
    ScalarFunction(
        "pow",
        takes(DOUBLE, DOUBLE),
        returns(DOUBLE),
        "pow({0}, {1})",
        usage="pow(x, y)",
        doc="a to the power of b",
        example="pow(2, 10)",
        answer="1024.0",
        aliases=("power",),
    ),
    double_function(
        "sin",
        "sin({0})",
        doc="sine",
        example="sin(0.5)",
        answer="0.479425538604203",
    ),
    double_function(
        "cos",
        "cos({0})",
        doc="cosine",
        example="cos(0.5)",
        answer="0.8775825618903728",
    ),
    double_function(
        "tan",
        "tan({0})",
        doc="tangent",
        example="tan(0.5)",
        answer="0.5463024898437905",
    ),
    double_function(
        "cot",
        "cot({0})",
        doc="cotangent",
        example="cot(0.5)",
        answer="1.830487721712452",
    ),
    double_function(
        "asin",
        "CASE WHEN abs({0}) <= 1 THEN asin({0}) ELSE {0} * CAST('nan' AS DOUBLE) END",
        doc="arc sine",
        example="asin(0.5)",
        answer="0.5235987755982989",
    ),
    double_function(
        "acos",
        "CASE WHEN abs({0}) <= 1 THEN acos({0}) ELSE {0} * CAST('nan' AS DOUBLE) END",
        doc="arc cosine",
        example="acos(0.5)",
        answer="1.0471975511965979",
    ),
    double_function(
        "atan",
        "atan({0})",
        doc="arc tangent",
        example="atan(0.5)",
        answer="0.4636476090008061",
    ),
    double_function(
        "sinh",
        "sinh({0})",
        doc="hyperbolic sine",
        example="sinh(0.5)",
        answer="0.5210953054937474",
    ),
    double_function(
        "cosh",
        "cosh({0})",
        doc="hyperbolic cosine",
        example="cosh(0.5)",
        answer="1.1276259652063807",
    ),
    double_function(
        "tanh",
        "tanh({0})",
        doc="hyperbolic tangent",
        example="tanh(0.5)",
        answer="0.46211715726000974",
    ),
    double_function(
        "degrees",
        "degrees({0})",
        doc="radians to degrees",
        example="degrees(0.5)",
        answer="28.64788975654116",
    ),
    double_function(
        "radians",
        "radians({0})",
        doc="degrees to radians",
        example="radians(0.5)",
        answer="0.008726646259971648",
    ),
    ScalarFunction(
        "atan2",
        takes(DOUBLE, DOUBLE),
        returns(DOUBLE),
        "atan2({0}, {1})",
        usage="atan2(y, x)",
        doc="angle of (b, a)",
        example="atan2(1, 1)",
        answer="0.7853981633974483",
    ),
    ScalarFunction(
        "pi",
        takes(),
        returns(DOUBLE),
        "pi()",
        usage="pi()",
        doc="3.14159…",
        example="pi()",
        answer="3.141592653589793",
    ),
    ScalarFunction(
        "e",
        takes(),
        returns(DOUBLE),
        "exp(1.0e0)",
        usage="e()",
        doc="2.71828…",
        example="e()",
        answer="2.718281828459045",
    ),
    ScalarFunction(
        "hypot",
        takes(DOUBLE, DOUBLE),
        returns(DOUBLE),
        "sqrt({0} * {0} + {1} * {1})",
        usage="hypot(x, y)",
        doc="sqrt(a² + b²)",
        example="hypot(3, 4)",
        answer="5.0",
    ),
)


RANDOM_FUNCTIONS = (
    ScalarFunction(
        "rand",
        takes(BIGINT, optional=1),
        returns(DOUBLE),
        lambda _args, _types, _result: "random()",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="rand([seed])",
        doc="a random number from 0 to 1",
        example="rand()",
        answer=Varying("0.4104024892485749", r"\d\.\d+(E-\d+)?"),
        aliases=("random",),
    ),
    ScalarFunction(
        "randn",
        takes(BIGINT, optional=1),
        returns(DOUBLE),
        lambda _args, _types, _result: "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="randn([seed])",
        doc="a random number of the standard normal distribution",
        example="randn()",
        answer=Varying("-0.7024745320451669", r"-?\d\.\d+(E-\d+)?"),
    ),
    ScalarFunction(
        "uuid",
        takes(),
        returns(STRING),
        "CAST(uuid() AS VARCHAR)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="uuid()",
        doc="a random UUID",
        example="uuid()",
        answer=Varying("44dba0f7-b936-46c4-8c0f-f887f721c660", "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ),
)
