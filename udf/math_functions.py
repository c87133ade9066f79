"""Numbers: extremes, remainders, digits in other bases; elementary functions of DOUBLE; random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf import decimals
from sharkpy.udf.arithmetic_operators import ARITHMETIC
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.duckdb_sql import duckdb_type, integer_value
from sharkpy.udf.function import NullPolicy, ScalarFunction, Varying
from sharkpy.udf.ordering import extreme
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, all_common, converts, first_of, numeric, same_as, takes
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
    Page("abs(x)", "absolute value", "abs(-3) -> 3").scalar(numeric, same_as(0), _absolute, unchecked="abs({0})"),
    Page("sign(x)", "-1.0, 0.0 or 1.0", "sign(-3) -> -1.0").scalar(
        numeric,
        DOUBLE,
        "CAST(CASE WHEN isnan(CAST({0} AS DOUBLE)) THEN {0} ELSE sign({0}) END AS DOUBLE)",
        aliases=("signum",),
    ),
    Page("pmod(a, b)", "the positive remainder", "pmod(-7, 3) -> 2").scalar(
        _remainder_arguments, _remainder_type, _pmod
    ),
    Page("factorial(n)", "a!; NULL outside 0..20", "factorial(5) -> 120").scalar(
        (INT,), BIGINT, "CASE WHEN {0} BETWEEN 0 AND 20 THEN CAST(factorial({0}) AS BIGINT) END", NullPolicy.CUSTOM
    ),
    Page("bin(n)", "binary digits, two's complement of 64 bits", "bin(13) -> 1101").scalar(
        (BIGINT,), STRING, "bin({0})"
    ),
    Page("hex(x)", "hexadecimal digits of a number, string or binary", "hex(255) -> FF").scalar(
        lambda types: (
            None
            if len(types) != 1
            else types
            if str(types[0]) == "binary" or is_string(types[0])
            else (BIGINT,)
            if converts(types[0], BIGINT)
            else None
        ),
        STRING,
        _hex,
    ),
    Page("conv(n, from_base, to_base)", "number from one base to another", "conv('ff', 16, 10) -> 255").scalar(
        (STRING, INT, INT), STRING, "shark_conv({0}, {1}, {2})"
    ),
    Page("greatest(x, y, …)", "the greatest; NULL if any is NULL", "greatest(1, 3, 2) -> 3").scalar(
        all_common(2), same_as(0), _extreme("greatest")
    ),
    Page("least(x, y, …)", "the least; NULL if any is NULL", "least(1, 3, 2) -> 1").scalar(
        all_common(2), same_as(0), _extreme("least")
    ),
    Page(
        "width_bucket(x, low, high, n)",
        "number of the bucket of an equi-width histogram",
        "width_bucket(5.3, 0.2, 10.6, 5) -> 3",
    ).scalar(
        (DOUBLE, DOUBLE, DOUBLE, INT),
        INT,
        "CASE WHEN {3} <= 0 OR {3} = 2147483647 OR {1} = {2} THEN NULL"
        " WHEN ({0} < {1}) = ({1} < {2}) AND {0} <> {1} THEN 0"
        " WHEN abs({0} - {1}) >= abs({2} - {1}) THEN {3} + 1"
        " ELSE TRY_CAST(floor(({0} - {1}) * {3} / ({2} - {1})) AS INTEGER) + 1 END",
        NullPolicy.CUSTOM,
    ),
    Page("isnan(x)", "whether a is NaN", "isnan(1.0) -> false").scalar((DOUBLE,), BOOLEAN, "isnan({0})"),
)


def double_function(name: str, lowering: str, *, doc: str, example: str, answer: str) -> ScalarFunction:
    """A function of one number."""
    return Page(f"{name}(x)", doc, f"{example} -> {answer}").scalar((DOUBLE,), DOUBLE, lowering)


def _log(name: str, function: str, *, answer: str) -> ScalarFunction:
    lowering = f"CASE WHEN {{0}} > 0 THEN {function}({{0}}) END"
    return Page(f"{name}(x)", f"{name} of x; NULL unless x > 0", f"{name}(8.0) -> {answer}").scalar(
        (DOUBLE,), DOUBLE, lowering, NullPolicy.CUSTOM
    )


ELEMENTARY_FUNCTIONS = (
    double_function("sqrt", "sqrt({0})", doc="square root; NaN below zero", example="sqrt(16.0)", answer="4.0"),
    double_function("cbrt", "shark_cbrt({0})", doc="cube root", example="cbrt(27.0)", answer="3.0"),
    double_function("exp", "exp({0})", doc="e to the power of a", example="exp(1.0)", answer="2.718281828459045"),
    _log("ln", "ln", answer="2.0794415416798357"),
    _log("log2", "log2", answer="3.0"),
    _log("log10", "log10", answer="0.9030899869919435"),
    Page(
        "log([base, ]x)",
        "natural logarithm, or to the given base; NULL unless a > 0 and the base > 1",
        "log(2, 8) -> 3.0",
    ).scalar(
        first_of(takes(DOUBLE), takes(DOUBLE, DOUBLE)),
        DOUBLE,
        lambda args, _types, _result: (
            f"CASE WHEN {args[0]} > 0 THEN ln({args[0]}) END"
            if len(args) == 1
            else f"CASE WHEN {args[0]} > 1 AND {args[1]} > 0 THEN ln({args[1]}) / ln({args[0]}) END"
        ),
        NullPolicy.CUSTOM,
    ),
    double_function(
        "log1p",
        "CASE WHEN {0} > -1 THEN ln(1 + {0}) END",
        doc="ln(1 + a)",
        example="log1p(0.5)",
        answer="0.4054651081081644",
    ),
    double_function("expm1", "(exp({0}) - 1)", doc="exp(a) - 1", example="expm1(0.5)", answer="0.6487212707001282"),
    Page("pow(x, y)", "a to the power of b", "pow(2, 10) -> 1024.0").scalar(
        (DOUBLE, DOUBLE), DOUBLE, "pow({0}, {1})", aliases=("power",)
    ),
    double_function("sin", "sin({0})", doc="sine", example="sin(0.5)", answer="0.479425538604203"),
    double_function("cos", "cos({0})", doc="cosine", example="cos(0.5)", answer="0.8775825618903728"),
    double_function("tan", "tan({0})", doc="tangent", example="tan(0.5)", answer="0.5463024898437905"),
    double_function("cot", "cot({0})", doc="cotangent", example="cot(0.5)", answer="1.830487721712452"),
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
    double_function("atan", "atan({0})", doc="arc tangent", example="atan(0.5)", answer="0.4636476090008061"),
    double_function("sinh", "sinh({0})", doc="hyperbolic sine", example="sinh(0.5)", answer="0.5210953054937474"),
    double_function("cosh", "cosh({0})", doc="hyperbolic cosine", example="cosh(0.5)", answer="1.1276259652063807"),
    double_function("tanh", "tanh({0})", doc="hyperbolic tangent", example="tanh(0.5)", answer="0.46211715726000974"),
    double_function(
        "degrees", "degrees({0})", doc="radians to degrees", example="degrees(0.5)", answer="28.64788975654116"
    ),
    double_function(
        "radians", "radians({0})", doc="degrees to radians", example="radians(0.5)", answer="0.008726646259971648"
    ),
    Page("atan2(y, x)", "angle of (b, a)", "atan2(1, 1) -> 0.7853981633974483").scalar(
        (DOUBLE, DOUBLE), DOUBLE, "atan2({0}, {1})"
    ),
    Page("pi()", "3.14159…", "pi() -> 3.141592653589793").scalar((), DOUBLE, "pi()"),
    Page("e()", "2.71828…", "e() -> 2.718281828459045").scalar((), DOUBLE, "exp(1.0e0)"),
    Page("hypot(x, y)", "sqrt(a² + b²)", "hypot(3, 4) -> 5.0").scalar(
        (DOUBLE, DOUBLE), DOUBLE, "sqrt({0} * {0} + {1} * {1})"
    ),
)


RANDOM_FUNCTIONS = (
    Page(
        "rand([seed])",
        "a random number from 0 to 1",
        "rand()",
        answer=Varying("0.4104024892485749", r"\d\.\d+(E-\d+)?"),
    ).scalar(
        takes(BIGINT, optional=1),
        DOUBLE,
        lambda _args, _types, _result: "random()",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        aliases=("random",),
    ),
    Page(
        "randn([seed])",
        "a random number of the standard normal distribution",
        "randn()",
        answer=Varying("-0.7024745320451669", r"-?\d\.\d+(E-\d+)?"),
    ).scalar(
        takes(BIGINT, optional=1),
        DOUBLE,
        lambda _args, _types, _result: "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())",
        NullPolicy.CUSTOM,
        is_deterministic=False,
    ),
    Page(
        "uuid()",
        "a random UUID",
        "uuid()",
        answer=Varying("44dba0f7-b936-46c4-8c0f-f887f721c660", "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ).scalar((), STRING, "CAST(uuid() AS VARCHAR)", NullPolicy.CUSTOM, is_deterministic=False),
)
