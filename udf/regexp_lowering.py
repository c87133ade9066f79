"""Lowerings of functions with Java regular expressions: RE2 if it agrees with Java, else a Python kernel.

RE2 is linear in the text, but takes up to one step per state of the pattern and character. DuckDB cannot be cancelled
within a text. So a long text under a large pattern is also matched by the kernel, which has a time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf.java_regex.pattern import JavaPattern, translate
from sharkpy.udf.java_regex.replacement import re2_replacement
from sharkpy.udf.literals import integer_value, quote_string, string_value
from sharkpy.values.types import DataType

Types = Sequence[DataType]
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
