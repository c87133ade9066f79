"""Functions of numbers that Spark SQL has and Hive does not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.arithmetic_operators import ARITHMETIC
from sharkpy.udf.function import Failure, NullPolicy, ScalarFunction
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import (
    Types,
    comparable,
    converts,
    numeric,
    same_as,
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

    return Page(f"try_{name}(a, b)", f"a {operator} b; NULL on overflow", f"try_{name}(1, 2) -> {answer}").scalar(
        row.arguments, row.result, lower, NullPolicy.CUSTOM
    )


def _same(name: str, operator: str, *, doc: str, answer: str) -> ScalarFunction:
    """try_divide, try_mod: the operator itself, which is NULL for a division by zero."""
    row = _ARITHMETIC[operator]
    return Page(f"{name}(a, b)", doc, f"{name}(1, 2) -> {answer}").scalar(
        row.arguments, row.result, row.lowering, NullPolicy.CUSTOM
    )


SPARK_NUMBER_FUNCTIONS = (
    Page("acosh(x)", "inverse hyperbolic cosine", "acosh(1) -> 0.0").scalar(
        (DOUBLE,), DOUBLE, "CASE WHEN {0} >= 1 THEN acosh({0}) ELSE {0} * CAST('nan' AS DOUBLE) END"
    ),
    Page("asinh(x)", "inverse hyperbolic sine", "asinh(0) -> 0.0").scalar((DOUBLE,), DOUBLE, "asinh({0})"),
    Page("atanh(x)", "inverse of tanh", "atanh(0) -> 0.0").scalar(
        (DOUBLE,), DOUBLE, "CASE WHEN abs({0}) <= 1 THEN atanh({0}) ELSE {0} * CAST('nan' AS DOUBLE) END"
    ),
    Page("sec(x)", "secant", "sec(1) -> 1.8508157176809255").scalar((DOUBLE,), DOUBLE, "(1 / cos({0}))"),
    Page("csc(x)", "cosecant", "csc(1) -> 1.1883951057781212").scalar((DOUBLE,), DOUBLE, "(1 / sin({0}))"),
    Page("rint(x)", "the nearest whole number, half to even", "rint(12.3456) -> 12.0").scalar(
        (DOUBLE,), DOUBLE, "round_even({0}, 0)"
    ),
    _unless_overflow("add", "+", answer="3"),
    _unless_overflow("subtract", "-", answer="-1"),
    _unless_overflow("multiply", "*", answer="2"),
    _same("try_divide", "divide", doc="a / b; NULL by zero", answer="0.5"),
    _same("try_mod", "mod", doc="a % b; NULL by zero", answer="1"),
    Page("bit_count(n)", "bits that are 1, of 64", "bit_count(5) -> 2").scalar(
        lambda types: (BIGINT,) if len(types) == 1 and types[0] in INTEGER_TYPES else None,
        INT,
        "CAST(bit_count({0}) AS INTEGER)",
    ),
    Page("getbit(n, position)", "a bit of a number", "getbit(11, 0) -> 1").scalar(
        (BIGINT, INT), INT, "CAST(({0} >> {1}) & 1 AS INTEGER)", aliases=("bit_get",)
    ),
    Page("nanvl(x, y)", "the first argument, or the second if the first is NaN", "nanvl(1.5, 2) -> 1.5").scalar(
        lambda types: (DOUBLE, DOUBLE) if len(types) == 2 and all(converts(t, DOUBLE) for t in types) else None,
        DOUBLE,
        "CASE WHEN isnan({0}) THEN {1} ELSE {0} END",
        NullPolicy.CUSTOM,
    ),
    Page("zeroifnull(x)", "0 for NULL", "zeroifnull(1) -> 1").scalar(
        numeric, same_as(0), "coalesce({0}, 0)", NullPolicy.CUSTOM
    ),
    Page("nullifzero(x)", "NULL for 0", "nullifzero(0) -> NULL").scalar(
        lambda types: types if len(types) == 1 and is_numeric(types[0]) else None,
        same_as(0),
        "nullif({0}, 0)",
        NullPolicy.CUSTOM,
    ),
    Page("equal_null(a, b)", "a <=> b", "equal_null(1, 1) -> true").scalar(
        comparable(2, 2), BOOLEAN, "({0} IS NOT DISTINCT FROM {1})", NullPolicy.CUSTOM
    ),
    Page(
        "raise_error(message)",
        "an error with this message",
        "raise_error('odd numbers')",
        answer=Failure("odd numbers"),
    ).scalar((STRING,), NULL, "error(coalesce({0}, 'NULL'))", NullPolicy.CUSTOM, is_deterministic=False),
)
