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


def _log(name: str, function: str, *, answer: str) -> ScalarFunction:
    lowering = f"CASE WHEN {{0}} > 0 THEN {function}({{0}}) END"
    return Page(f"{name}(x)", f"{name} of x; NULL unless x > 0", f"{name}(8.0) -> {answer}").scalar(
        (DOUBLE,), DOUBLE, lowering, NullPolicy.CUSTOM
    )


ELEMENTARY_FUNCTIONS = (
    Page("sqrt(x)", "square root; NaN below zero", "sqrt(16.0) -> 4.0").scalar((DOUBLE,), DOUBLE, "sqrt({0})"),
    Page("cbrt(x)", "cube root", "cbrt(27.0) -> 3.0").scalar((DOUBLE,), DOUBLE, "shark_cbrt({0})"),
    Page("exp(x)", "e to the power of a", "exp(1.0) -> 2.718281828459045").scalar((DOUBLE,), DOUBLE, "exp({0})"),
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
    Page("log1p(x)", "ln(1 + a)", "log1p(0.5) -> 0.4054651081081644").scalar(
        (DOUBLE,), DOUBLE, "CASE WHEN {0} > -1 THEN ln(1 + {0}) END"
    ),
    Page("expm1(x)", "exp(a) - 1", "expm1(0.5) -> 0.6487212707001282").scalar((DOUBLE,), DOUBLE, "(exp({0}) - 1)"),
    Page("pow(x, y)", "a to the power of b", "pow(2, 10) -> 1024.0").scalar(
        (DOUBLE, DOUBLE), DOUBLE, "pow({0}, {1})", aliases=("power",)
    ),
    Page("sin(x)", "sine", "sin(0.5) -> 0.479425538604203").scalar((DOUBLE,), DOUBLE, "sin({0})"),
    Page("cos(x)", "cosine", "cos(0.5) -> 0.8775825618903728").scalar((DOUBLE,), DOUBLE, "cos({0})"),
    Page("tan(x)", "tangent", "tan(0.5) -> 0.5463024898437905").scalar((DOUBLE,), DOUBLE, "tan({0})"),
    Page("cot(x)", "cotangent", "cot(0.5) -> 1.830487721712452").scalar((DOUBLE,), DOUBLE, "cot({0})"),
    Page("asin(x)", "arc sine", "asin(0.5) -> 0.5235987755982989").scalar(
        (DOUBLE,), DOUBLE, "CASE WHEN abs({0}) <= 1 THEN asin({0}) ELSE {0} * CAST('nan' AS DOUBLE) END"
    ),
    Page("acos(x)", "arc cosine", "acos(0.5) -> 1.0471975511965979").scalar(
        (DOUBLE,), DOUBLE, "CASE WHEN abs({0}) <= 1 THEN acos({0}) ELSE {0} * CAST('nan' AS DOUBLE) END"
    ),
    Page("atan(x)", "arc tangent", "atan(0.5) -> 0.4636476090008061").scalar((DOUBLE,), DOUBLE, "atan({0})"),
    Page("sinh(x)", "hyperbolic sine", "sinh(0.5) -> 0.5210953054937474").scalar((DOUBLE,), DOUBLE, "sinh({0})"),
    Page("cosh(x)", "hyperbolic cosine", "cosh(0.5) -> 1.1276259652063807").scalar((DOUBLE,), DOUBLE, "cosh({0})"),
    Page("tanh(x)", "hyperbolic tangent", "tanh(0.5) -> 0.46211715726000974").scalar((DOUBLE,), DOUBLE, "tanh({0})"),
    Page("degrees(x)", "radians to degrees", "degrees(0.5) -> 28.64788975654116").scalar(
        (DOUBLE,), DOUBLE, "degrees({0})"
    ),
    Page("radians(x)", "degrees to radians", "radians(0.5) -> 0.008726646259971648").scalar(
        (DOUBLE,), DOUBLE, "radians({0})"
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
