"""Search in strings and comparison of strings. Positions count characters from 1."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.udf.string_functions import string_function
from sharkpy.values.types import (
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
    DataType,
)

_FEW_PAIRS = 10_000


def _levenshtein(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """DuckDB's function counts bytes and cannot be cancelled. It is used for short ASCII texts."""
    left, right = args[:2]
    is_ascii = " AND ".join(f"strlen({text}) = length({text})" for text in (left, right))
    short = f"CASE WHEN strlen({left}) * strlen({right}) <= {_FEW_PAIRS} AND {is_ascii} THEN {left} END"
    distance = f"coalesce(CAST(levenshtein({short}, {right}) AS INTEGER), shark_levenshtein({left}, {right}))"
    return distance if len(args) == 2 else f"CASE WHEN {distance} <= {args[2]} THEN {distance} ELSE -1 END"


STRING_SEARCH_FUNCTIONS = (
    ScalarFunction(
        "instr",
        takes(STRING, STRING),
        returns(INT),
        "CAST(strpos({0}, {1}) AS INTEGER)",
        usage="instr(str, part)",
        doc="position of a string in the first one; 0 if it is absent",
        example="instr('hello', 'l')",
        answer="3",
    ),
    ScalarFunction(
        "locate",
        takes(STRING, STRING, INT, optional=1),
        returns(INT),
        lambda args, _types, _result: (
            f"CAST(strpos({args[1]}, {args[0]}) AS INTEGER)"
            if len(args) == 2
            else f"CAST(shark_locate({args[0]}, {args[1]}, coalesce({args[2]}, 0)) AS INTEGER)"
        ),
        NullPolicy.CUSTOM,
        usage="locate(part, str[, position])",
        doc="position of the first argument in the second, from a position on",
        example="locate('l', 'hello', 4)",
        answer="4",
    ),
    ScalarFunction(
        "find_in_set",
        takes(STRING, STRING),
        returns(INT),
        "CASE WHEN contains({0}, ',') THEN 0 ELSE CAST(coalesce(list_position(string_split({1}, ','), {0}),"
        " CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN 0 END) AS INTEGER) END",
        NullPolicy.CUSTOM,
        usage="find_in_set(str, list)",
        doc="position in a list separated by commas; 0 if it is absent",
        example="find_in_set('b', 'a,b')",
        answer="2",
    ),
    string_function(
        "soundex",
        "shark_soundex({0})",
        usage="soundex(str)",
        doc="American Soundex code",
        example="soundex('Miller')",
        answer="M460",
    ),
    ScalarFunction(
        "levenshtein",
        takes(STRING, STRING, INT, optional=1),
        returns(INT),
        _levenshtein,
        usage="levenshtein(a, b[, limit])",
        doc="edit distance; -1 if it exceeds the third argument",
        example="levenshtein('kitten', 'sitting')",
        answer="3",
    ),
    ScalarFunction(
        "sentences",
        takes(STRING, STRING, STRING, optional=2),
        returns(ArrayType(ArrayType(STRING))),
        "shark_sentences({0})",
        NullPolicy.CUSTOM,
        usage="sentences(str[, language[, country]])",
        doc="the words of each sentence, by the rules of European languages",
        example="sentences('Hello there! How are you?')",
        answer='[["Hello","there"],["How","are","you"]]',
    ),
    ScalarFunction(
        "startswith",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "starts_with({0}, {1})",
        usage="startswith(str, part)",
        doc="whether it begins so",
        example="startswith('abc', 'ab')",
        answer="true",
    ),
    ScalarFunction(
        "endswith",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "ends_with({0}, {1})",
        usage="endswith(str, part)",
        doc="whether it ends so",
        example="endswith('abc', 'bc')",
        answer="true",
    ),
    ScalarFunction(
        "contains",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "contains({0}, {1})",
        usage="contains(str, part)",
        doc="whether it contains",
        example="contains('abc', 'b')",
        answer="true",
    ),
    ScalarFunction(
        "ilike",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "({0} ILIKE {1})",
        usage="ilike(str, pattern)",
        doc="LIKE without regard to case",
        example="ilike('ABC', 'a%')",
        answer="true",
    ),
)
