"""LIKE, RLIKE and functions of Java's regular expressions: RE2 if it agrees with Java, else a Python kernel.

RE2 is linear in the text, but takes up to one step per state of the pattern and character. DuckDB cannot be cancelled
within a text. So a long text under a large pattern is also matched by the kernel, which has a time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf.duckdb_sql import integer_value, quote_string, string_value
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.java_regex.pattern import JavaPattern, re2_replacement, translate
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, takes
from sharkpy.values.types import (
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
    DataType,
)

SMALL_SIZE = 16
"""Size up to which patterns take few steps per character."""
MOST_STEPS = 1_000_000
"""Largest product of a pattern's size and a text's bytes for RE2: at most a tenth of a second."""
_SHORT_SQL = 200
_TERMINATORS = (10, 13, 0x85, 0x2028, 0x2029)


def _constant_pattern(sql: str) -> JavaPattern | None:
    text = string_value(sql)
    return None if text is None else translate(text)


def _guarded(text: str, fast: Callable[[str], str], kernel: Callable[[str], str], pattern: JavaPattern) -> str:
    """Return SQL that uses `fast` for texts on which RE2 is correct and quick, else `kernel`."""
    if not pattern.has_final and pattern.size <= SMALL_SIZE:
        return fast(text)
    if len(text) > _SHORT_SQL:
        # Nested calls would otherwise make the text of the query grow with each level.
        return f"list_transform([{text}], lambda guarded: {_guarded('guarded', fast, kernel, pattern)})[1]"
    tests = [f"ends_with({text}, chr({code}))" for code in _TERMINATORS] if pattern.has_final else []
    if pattern.size > SMALL_SIZE:
        tests.append(f"strlen({text}) > {MOST_STEPS // pattern.size}")
    return f"CASE WHEN {' OR '.join(tests)} THEN {kernel(text)} ELSE {fast(text)} END"


def lower_rlike(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = _constant_pattern(args[1])

    def kernel(text: str) -> str:
        return f"shark_rlike({text}, {args[1]})"

    if pattern is None or pattern.re2 is None or not pattern.text:
        return kernel(args[0])
    if pattern.literal is not None:
        return f"contains({args[0]}, {quote_string(pattern.literal)})"
    spelled = quote_string(pattern.re2)
    return _guarded(args[0], lambda text: f"regexp_matches({text}, {spelled})", kernel, pattern)


def lower_regexp_replace(args: Sequence[str], types: Types, result: DataType) -> str:
    if len(args) == 4:
        text, start = args[0], args[3]
        rest = lower_regexp_replace([f"substr({text}, {start})", *args[1:3]], types, result)
        return f"(left({text}, {start} - 1) || {rest})"
    pattern, replacement = _constant_pattern(args[1]), string_value(args[2])

    def kernel(text: str) -> str:
        return f"shark_regexp_replace({text}, {args[1]}, {args[2]})"

    if pattern is None or replacement is None or pattern.re2 is None:
        return kernel(args[0])
    if pattern.matches_empty or not pattern.has_same_spans:
        return kernel(args[0])
    target = re2_replacement(replacement, pattern)
    if target is None:
        return kernel(args[0])
    if pattern.literal is not None and "\\" not in target:
        return f"replace({args[0]}, {quote_string(pattern.literal)}, {quote_string(target)})"
    spelled = f"{quote_string(pattern.re2)}, {quote_string(target)}, 'g'"
    return _guarded(args[0], lambda text: f"regexp_replace({text}, {spelled})", kernel, pattern)


def lower_regexp_extract(args: Sequence[str], _types: Types, _result: DataType) -> str:
    group_sql = args[2] if len(args) > 2 else "1"
    pattern, group = _constant_pattern(args[1]), integer_value(group_sql)

    def kernel(text: str) -> str:
        return f"shark_regexp_extract({text}, {args[1]}, CAST({group_sql} AS INTEGER))"

    if pattern is None or pattern.re2 is None or not pattern.has_same_spans:
        return kernel(args[0])
    if group is None or not 0 <= group <= min(pattern.groups, 9):
        return kernel(args[0])
    spelled = quote_string(pattern.re2)
    return _guarded(args[0], lambda text: f"regexp_extract({text}, {spelled}, {group})", kernel, pattern)


def lower_regexp_extract_all(args: Sequence[str], _types: Types, _result: DataType) -> str:
    group_sql = args[2] if len(args) > 2 else "1"
    pattern, group = _constant_pattern(args[1]), integer_value(group_sql)

    def kernel(text: str) -> str:
        return f"shark_regexp_extract_all({text}, {args[1]}, CAST({group_sql} AS INTEGER))"

    if pattern is None or pattern.re2 is None or pattern.matches_empty or not pattern.has_same_spans:
        return kernel(args[0])
    if group is None or not 0 <= group <= min(pattern.groups, 9):
        return kernel(args[0])
    spelled = quote_string(pattern.re2)
    return _guarded(args[0], lambda text: f"regexp_extract_all({text}, {spelled}, {group})", kernel, pattern)


def lower_split(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = _constant_pattern(args[1])
    limit = args[2] if len(args) > 2 else "-1"

    def kernel(text: str) -> str:
        return f"shark_split({text}, {args[1]}, CAST({limit} AS INTEGER))"

    bound = integer_value(limit)
    if pattern is None or pattern.re2 is None or bound is None or bound > 0:
        return kernel(args[0])
    if pattern.matches_empty or not pattern.has_same_spans:
        return kernel(args[0])
    if pattern.literal is not None:
        return f"string_split({args[0]}, {quote_string(pattern.literal)})"
    spelled = quote_string(pattern.re2)
    return _guarded(args[0], lambda text: f"string_split_regex({text}, {spelled})", kernel, pattern)


_EXTRACT = takes(STRING, STRING, INT, optional=1)


REGEXP_FUNCTIONS = (
    Page(
        "regexp_replace(str, pattern, replacement[, position])",
        "every match of a Java regular expression replaced, from a position on; $1 names a group",
        "regexp_replace('100-200', '(\\\\d+)', 'num') -> num-num",
    ).scalar(takes(STRING, STRING, STRING, INT, optional=1), STRING, lower_regexp_replace),
    Page(
        "regexp_extract(str, pattern[, group])",
        "a group (default 1) of the first match; '' if there is none",
        "regexp_extract('100-200', '(\\\\d+)-(\\\\d+)', 2) -> 200",
    ).scalar(_EXTRACT, STRING, lower_regexp_extract),
    Page(
        "regexp_extract_all(str, pattern[, group])",
        "a group (default 1) of every match",
        "regexp_extract_all('1a2b', '(\\\\d)', 1) -> [\"1\",\"2\"]",
    ).scalar(_EXTRACT, ArrayType(STRING), lower_regexp_extract_all),
    Page("regexp_like(str, pattern)", "whether a part matches", "regexp_like('abc', 'b') -> true").scalar(
        (STRING, STRING), BOOLEAN, lower_rlike
    ),
    Page(
        "split(str, pattern[, limit])",
        "parts between matches of a regular expression",
        "split('a,b', ',') -> [\"a\",\"b\"]",
    ).scalar(takes(STRING, STRING, INT, optional=1), ArrayType(STRING), lower_split),
)


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
    return Page(
        f"{name}(str, pattern, …)",
        f"str LIKE {spoken} (pattern, …); NULL if one of them is NULL",
        f"{name}('abc', 'a%', '%d') -> {answer}",
    ).scalar(takes(STRING, STRING, repeat=True), BOOLEAN, lower, NullPolicy.CUSTOM)


PATTERN_TESTS = (
    Page(
        "str [NOT] LIKE pattern",
        "whether all of a matches a pattern of % and _",
        "'abc' LIKE 'a%' -> true",
        name="like",
    ).scalar((STRING, STRING), BOOLEAN, _like),
    _like_each("OR", answer="true"),
    _like_each("AND", answer="false"),
    Page(
        "str [NOT] {} pattern",
        "whether a part of the string matches the Java regular expression",
        "'abc' RLIKE 'b+' -> true",
        name="rlike",
    ).scalar((STRING, STRING), BOOLEAN, lower_rlike, aliases=("regexp",)),
)
