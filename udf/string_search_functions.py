"""Search in strings and comparison of strings. Positions count characters from 1."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import NullPolicy
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, takes
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
    Page(
        "instr(str, part)", "position of a string in the first one; 0 if it is absent", "instr('hello', 'l') -> 3"
    ).scalar((STRING, STRING), INT, "CAST(strpos({0}, {1}) AS INTEGER)"),
    Page(
        "locate(part, str[, position])",
        "position of the first argument in the second, from a position on",
        "locate('l', 'hello', 4) -> 4",
    ).scalar(
        takes(STRING, STRING, INT, optional=1),
        INT,
        lambda args, _types, _result: (
            f"CAST(strpos({args[1]}, {args[0]}) AS INTEGER)"
            if len(args) == 2
            else f"CAST(shark_locate({args[0]}, {args[1]}, coalesce({args[2]}, 0)) AS INTEGER)"
        ),
        NullPolicy.CUSTOM,
    ),
    Page(
        "find_in_set(str, list)",
        "position in a list separated by commas; 0 if it is absent",
        "find_in_set('b', 'a,b') -> 2",
    ).scalar(
        (STRING, STRING),
        INT,
        "CASE WHEN contains({0}, ',') THEN 0 ELSE CAST(coalesce(list_position(string_split({1}, ','), {0}),"
        " CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN 0 END) AS INTEGER) END",
        NullPolicy.CUSTOM,
    ),
    Page("soundex(str)", "American Soundex code", "soundex('Miller') -> M460").scalar(
        (STRING,), STRING, "shark_soundex({0})"
    ),
    Page(
        "levenshtein(a, b[, limit])",
        "edit distance; -1 if it exceeds the third argument",
        "levenshtein('kitten', 'sitting') -> 3",
    ).scalar(takes(STRING, STRING, INT, optional=1), INT, _levenshtein),
    Page(
        "sentences(str[, language[, country]])",
        "the words of each sentence, by the rules of European languages",
        'sentences(\'Hello there! How are you?\') -> [["Hello","there"],["How","are","you"]]',
    ).scalar(
        takes(STRING, STRING, STRING, optional=2),
        ArrayType(ArrayType(STRING)),
        "shark_sentences({0})",
        NullPolicy.CUSTOM,
    ),
    Page("startswith(str, part)", "whether it begins so", "startswith('abc', 'ab') -> true").scalar(
        (STRING, STRING), BOOLEAN, "starts_with({0}, {1})"
    ),
    Page("endswith(str, part)", "whether it ends so", "endswith('abc', 'bc') -> true").scalar(
        (STRING, STRING), BOOLEAN, "ends_with({0}, {1})"
    ),
    Page("contains(str, part)", "whether it contains", "contains('abc', 'b') -> true").scalar(
        (STRING, STRING), BOOLEAN, "contains({0}, {1})"
    ),
    Page("ilike(str, pattern)", "LIKE without regard to case", "ilike('ABC', 'a%') -> true").scalar(
        (STRING, STRING), BOOLEAN, "({0} ILIKE {1})"
    ),
)
