"""Elementary functions of DOUBLE: roots, powers, logarithms, trigonometry."""

from __future__ import annotations

from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.signatures import first_of, returns, takes
from sharkpy.values.types import (
    DOUBLE,
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
