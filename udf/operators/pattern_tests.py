"""LIKE and RLIKE."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.regexp_lowering import lower_rlike
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.values.types import BOOLEAN, STRING, DataType

_LONG_PATTERN = 1000
_MOST_STEPS = 1_000_000_000


def _like(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = string_value(args[1])
    if pattern is None:
        return _limited(args, f"({args[0]} LIKE shark_like_pattern({args[1]}) ESCAPE '\\')")
    if "\\" not in pattern:
        test = f"({args[0]} LIKE {args[1]})"
    else:
        test = f"({args[0]} LIKE {quote_string(_escape_like(pattern))} ESCAPE '\\')"
    return test if len(pattern) <= _LONG_PATTERN else _limited(args, test)


def _limited(args: Sequence[str], test: str) -> str:
    """Return `test`, or an error if text and pattern are both so long that DuckDB takes minutes. DuckDB compares at
    each position and cannot be cancelled within a text.
    """
    steps = f"CAST(strlen({args[0]}) AS BIGINT) * strlen({args[1]})"
    too_long = "error('LIKE: the text and the pattern are too long for one another [SQLSTATE 54001]')"
    return f"CASE WHEN {steps} > {_MOST_STEPS} THEN {too_long} ELSE {test} END"


def _escape_like(pattern: str) -> str:
    """Escape backslashes that escape nothing, so that they match themselves."""
    parts, position = [], 0
    while position < len(pattern):
        pair = pattern[position : position + 2]
        if pair in ("\\_", "\\%", "\\\\"):
            parts.append(pair)
            position += 2
            continue
        parts.append("\\\\" if pair[0] == "\\" else pair[0])
        position += 1
    return "".join(parts)


def _like_each(word: str, *, answer: str) -> ScalarFunction:
    """likeany, likeall: NULL if the text or any of the patterns is NULL."""

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        tests = [_like((args[0], pattern), types, result) for pattern in args[1:]]
        known = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
        return f"CASE WHEN {known} THEN {f' {word} '.join(tests)} END"

    name, spoken = ("likeany", "ANY") if word == "OR" else ("likeall", "ALL")
    return ScalarFunction(
        name,
        takes(STRING, STRING, repeat=True),
        returns(BOOLEAN),
        lower,
        NullPolicy.CUSTOM,
        usage=f"{name}(str, pattern, …)",
        doc=f"str LIKE {spoken} (pattern, …); NULL if one of them is NULL",
        example=f"{name}('abc', 'a%', '%d')",
        answer=answer,
    )


PATTERN_TESTS = (
    ScalarFunction(
        "like",
        takes(STRING, STRING),
        returns(BOOLEAN),
        _like,
        usage="str [NOT] LIKE pattern",
        doc="whether all of a matches a pattern of % and _",
        example="'abc' LIKE 'a%'",
        answer="true",
    ),
    _like_each("OR", answer="true"),
    _like_each("AND", answer="false"),
    ScalarFunction(
        "rlike",
        takes(STRING, STRING),
        returns(BOOLEAN),
        lower_rlike,
        usage="str [NOT] {} pattern",
        doc="whether a part of the string matches the Java regular expression",
        example="'abc' RLIKE 'b+'",
        answer="true",
        aliases=("regexp",),
    ),
)
