"""The mask functions: private values are made unreadable, but keep their shape."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction, TypeRule
from sharkpy.udf.literals import string_value
from sharkpy.udf.signatures import Types, converts, same_as
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import BIGINT, DATE, INTEGER_TYPES, NULL, STRING, DataType, is_nested, is_string

_CHARACTERS = ("X", "x", "n", None)
"""Replacements of upper case, lower case, digits and other characters. None: unchanged."""
_NUMBERS = (1, 1, 0, 0)
"""Replacements of the digits of numbers, and of day, month (from 0) and year of dates."""


def _arguments(counted: bool) -> TypeRule:
    most = 1 + counted + len(_CHARACTERS) + len(_NUMBERS)

    def rule(types: Types) -> Types | None:
        options = types[1:]
        fits = all(dtype in INTEGER_TYPES or is_string(dtype) or dtype == NULL for dtype in options)
        return types if 1 <= len(types) <= most and not is_nested(types[0]) and fits else None

    return rule


def _code(sql: str, dtype: DataType, default: str | None) -> str:
    """Return SQL of an option's code point. An integer option is a code point itself, with -1 for none."""
    code = -1 if default is None else ord(default)
    if dtype == NULL:
        return str(code)
    if dtype in INTEGER_TYPES:
        return f"coalesce(CAST({sql} AS INTEGER), {code})"
    text = string_value(sql)
    if text is not None:
        return str(ord(text[0]) if text else code)
    return f"CASE WHEN {sql} <> '' THEN unicode({sql}) ELSE {code} END"


def _number(sql: str, dtype: DataType, default: int) -> str:
    return str(default) if dtype == NULL else f"coalesce(TRY_CAST({sql} AS INTEGER), {default})"


def _mask(which: str) -> Lowering:
    counted = which != "all"

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        options = list(zip(args[1:], types[1:], strict=True))
        count = _number(*options.pop(0), 4) if counted and options else "4"
        options += [("NULL", NULL)] * (len(_CHARACTERS) + len(_NUMBERS) - len(options))
        characters = [_code(*option, default) for option, default in zip(options, _CHARACTERS, strict=False)]
        numbers = [_number(*option, default) for option, default in zip(options[4:], _NUMBERS, strict=True)]
        if is_string(types[0]):
            return f"shark_mask_text({args[0]}, '{which}', {count}, {', '.join(characters)})"
        if types[0] in INTEGER_TYPES:
            masked = f"shark_mask_number(CAST({args[0]} AS BIGINT), '{which}', {count}, {numbers[0]})"
            return masked if result == BIGINT else wrap_integer(masked, result)
        if types[0] == DATE:
            return f"shark_mask_date({args[0]}, {', '.join(numbers[1:])})"
        return f"CAST(NULL AS {duckdb_type(result)})"

    return lower


def _row(name: str, which: str, *, usage: str, doc: str, answer: str) -> ScalarFunction:
    counted = which != "all"
    example = f"{name}('TestString-123', 4)" if counted else f"{name}('TestString-123')"
    return ScalarFunction(
        name,
        _arguments(counted),
        same_as(0),
        _mask(which),
        NullPolicy.CUSTOM,
        usage=usage,
        doc=f"{doc}: X for upper case, x for lower case, n for digits",
        example=example,
        answer=answer,
    )


MASK_FUNCTIONS = (
    _row(
        "mask",
        "all",
        usage="mask(x[, upper[, lower[, digit[, other[, number[, day[, month[, year]]]]]]]])",
        doc="all characters masked",
        answer="XxxxXxxxxx-nnn",
    ),
    _row(
        "mask_first_n",
        "first",
        usage="mask_first_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="the first n characters masked",
        answer="XxxxString-123",
    ),
    _row(
        "mask_last_n",
        "last",
        usage="mask_last_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="the last n characters masked",
        answer="TestString-nnn",
    ),
    _row(
        "mask_show_first_n",
        "not_first",
        usage="mask_show_first_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="all but the first n characters masked",
        answer="TestXxxxxx-nnn",
    ),
    _row(
        "mask_show_last_n",
        "not_last",
        usage="mask_show_last_n(x[, n[, upper[, lower[, digit[, other[, number]]]]]])",
        doc="all but the last n characters masked",
        answer="XxxxXxxxxx-123",
    ),
    ScalarFunction(
        "mask_hash",
        lambda types: types if len(types) == 1 and not is_nested(types[0]) and converts(types[0], STRING) else None,
        same_as(0),
        lambda args, types, result: (
            f"sha256({args[0]})" if is_string(types[0]) else f"CAST(NULL AS {duckdb_type(result)})"
        ),
        NullPolicy.CUSTOM,
        usage="mask_hash(x)",
        doc="SHA-256 of a string in hexadecimal digits; NULL for other types",
        example="mask_hash('secret')",
        answer="2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    ),
)
