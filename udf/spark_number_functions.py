"""Functions of numbers that Spark SQL has and Hive does not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.arithmetic_operators import ARITHMETIC
from sharkpy.udf.function import Failure, NullPolicy, ScalarFunction
from sharkpy.udf.math_functions import double_function
from sharkpy.udf.signatures import (
    Types,
    comparable,
    converts,
    numeric,
    returns,
    same_as,
    takes,
)
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    NULL,
    STRING,
    DataType,
    is_numeric,
)

_ARITHMETIC = {row.name: row for row in ARITHMETIC}


def _unless_overflow(name: str, operator: str, *, answer: str) -> ScalarFunction:
    """try_add and similar functions. They are NULL if integers overflow, while ordinary operators wrap."""
    row = _ARITHMETIC[name]

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if result in INTEGER_TYPES:
            return f"TRY({args[0]} {operator} {args[1]})"
        return row.lowering(args, types, result) if callable(row.lowering) else row.lowering.format(*args)

    return ScalarFunction(
        f"try_{name}",
        row.arguments,
        row.result,
        lower,
        NullPolicy.CUSTOM,
        usage=f"try_{name}(a, b)",
        doc=f"a {operator} b; NULL on overflow",
        example=f"try_{name}(1, 2)",
        answer=answer,
    )


def _same(name: str, operator: str, *, doc: str, answer: str) -> ScalarFunction:
    """try_divide, try_mod: the operator itself, which is NULL for a division by zero."""
    row = _ARITHMETIC[operator]
    return ScalarFunction(
        name,
        row.arguments,
        row.result,
        row.lowering,
        NullPolicy.CUSTOM,
        usage=f"{name}(a, b)",
        doc=doc,
        example=f"{name}(1, 2)",
        answer=answer,
    )


SPARK_NUMBER_FUNCTIONS = (
    double_function(
        "acosh",
        "CASE WHEN {0} >= 1 THEN acosh({0}) ELSE {0} * CAST('nan' AS DOUBLE) END",
        doc="inverse hyperbolic cosine",
        example="acosh(1)",
        answer="0.0",
    ),
    double_function(
        "asinh",
        "asinh({0})",
        doc="inverse hyperbolic sine",
        example="asinh(0)",
        answer="0.0",
    ),
    double_function(
        "atanh",
        "CASE WHEN abs({0}) <= 1 THEN atanh({0}) ELSE {0} * CAST('nan' AS DOUBLE) END",
        doc="inverse of tanh",
        example="atanh(0)",
        answer="0.0",
    ),
    double_function(
        "sec",
        "(1 / cos({0}))",
        doc="secant",
        example="sec(1)",
        answer="1.8508157176809255",
    ),
    double_function(
        "csc",
        "(1 / sin({0}))",
        doc="cosecant",
        example="csc(1)",
        answer="1.1883951057781212",
    ),
    double_function(
        "rint",
        "round_even({0}, 0)",
        doc="the nearest whole number, half to even",
        example="rint(12.3456)",
        answer="12.0",
    ),
    _unless_overflow("add", "+", answer="3"),
    _unless_overflow("subtract", "-", answer="-1"),
    _unless_overflow("multiply", "*", answer="2"),
    _same(
        "try_divide",
        "divide",
        doc="a / b; NULL by zero",
        answer="0.5",
    ),
    _same("try_mod", "mod", doc="a % b; NULL by zero", answer="1"),
    ScalarFunction(
        "bit_count",
        lambda types: (BIGINT,) if len(types) == 1 and types[0] in INTEGER_TYPES else None,
        returns(INT),
        "CAST(bit_count({0}) AS INTEGER)",
        usage="bit_count(n)",
        doc="bits that are 1, of 64",
        example="bit_count(5)",
        answer="2",
    ),
    ScalarFunction(
        "getbit",
        takes(BIGINT, INT),
        returns(INT),
        "CAST(({0} >> {1}) & 1 AS INTEGER)",
        usage="getbit(n, position)",
        doc="a bit of a number",
        example="getbit(11, 0)",
        answer="1",
        aliases=("bit_get",),
    ),
    ScalarFunction(
        "nanvl",
        lambda types: (DOUBLE, DOUBLE) if len(types) == 2 and all(converts(t, DOUBLE) for t in types) else None,
        returns(DOUBLE),
        "CASE WHEN isnan({0}) THEN {1} ELSE {0} END",
        NullPolicy.CUSTOM,
        usage="nanvl(x, y)",
        doc="the first argument, or the second if the first is NaN",
        example="nanvl(1.5, 2)",
        answer="1.5",
    ),
    ScalarFunction(
        "zeroifnull",
        numeric,
        same_as(0),
        "coalesce({0}, 0)",
        NullPolicy.CUSTOM,
        usage="zeroifnull(x)",
        doc="0 for NULL",
        example="zeroifnull(1)",
        answer="1",
    ),
    ScalarFunction(
        "nullifzero",
        lambda types: types if len(types) == 1 and is_numeric(types[0]) else None,
        same_as(0),
        "nullif({0}, 0)",
        NullPolicy.CUSTOM,
        usage="nullifzero(x)",
        doc="NULL for 0",
        example="nullifzero(0)",
        answer="NULL",
    ),
    ScalarFunction(
        "equal_null",
        comparable(2, 2),
        returns(BOOLEAN),
        "({0} IS NOT DISTINCT FROM {1})",
        NullPolicy.CUSTOM,
        usage="equal_null(a, b)",
        doc="a <=> b",
        example="equal_null(1, 1)",
        answer="true",
    ),
    ScalarFunction(
        "raise_error",
        takes(STRING),
        returns(NULL),
        "error(coalesce({0}, 'NULL'))",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="raise_error(message)",
        doc="an error with this message",
        example="raise_error('odd numbers')",
        answer=Failure("odd numbers"),
    ),
)
