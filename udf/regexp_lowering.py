"""Lowerings of the functions that take Java regular expressions: RE2 where it agrees, else a Python kernel."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.java_regex import JavaPattern, re2_replacement, translate
from sharkpy.udf.literals import integer_value, quote_string, string_value
from sharkpy.values.types import DataType

Types = Sequence[DataType]


def _constant_pattern(sql: str) -> JavaPattern | None:
    text = string_value(sql)
    return None if text is None else translate(text)


def _guarded(text: str, fast: str, kernel: str, pattern: JavaPattern) -> str:
    """RE2's `$` does not see the end before a final line feed: texts with one go to the kernel."""
    if not pattern.has_end_anchor:
        return fast
    return f"CASE WHEN contains({text}, chr(10)) THEN {kernel} ELSE {fast} END"


def lower_rlike(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = _constant_pattern(args[1])
    kernel = f"shark_rlike({args[0]}, {args[1]})"
    if pattern is None or pattern.re2 is None:
        return kernel
    if pattern.literal is not None:
        return f"contains({args[0]}, {quote_string(pattern.literal)})"
    return _guarded(args[0], f"regexp_matches({args[0]}, {quote_string(pattern.re2)})", kernel, pattern)


def lower_regexp_replace(args: Sequence[str], types: Types, result: DataType) -> str:
    if len(args) == 4:
        text, start = args[0], args[3]
        rest = lower_regexp_replace([f"substr({text}, {start})", *args[1:3]], types, result)
        return f"(left({text}, {start} - 1) || {rest})"
    pattern, replacement = _constant_pattern(args[1]), string_value(args[2])
    kernel = f"shark_regexp_replace({args[0]}, {args[1]}, {args[2]})"
    if pattern is None or replacement is None or pattern.re2 is None or pattern.matches_empty:
        return kernel
    target = re2_replacement(replacement)
    if target is None:
        return kernel
    if pattern.literal is not None and "\\" not in target:
        return f"replace({args[0]}, {quote_string(pattern.literal)}, {quote_string(target)})"
    fast = f"regexp_replace({args[0]}, {quote_string(pattern.re2)}, {quote_string(target)}, 'g')"
    return _guarded(args[0], fast, kernel, pattern)


def lower_regexp_extract(args: Sequence[str], _types: Types, _result: DataType) -> str:
    group_sql = args[2] if len(args) > 2 else "1"
    pattern, group = _constant_pattern(args[1]), integer_value(group_sql)
    kernel = f"shark_regexp_extract({args[0]}, {args[1]}, CAST({group_sql} AS INTEGER))"
    if pattern is None or pattern.re2 is None or group is None or not 0 <= group <= 9:
        return kernel
    if group > _group_count(pattern):
        return kernel
    fast = f"regexp_extract({args[0]}, {quote_string(pattern.re2)}, {group})"
    return _guarded(args[0], fast, kernel, pattern)


def _group_count(pattern: JavaPattern) -> int:
    import re

    return re.compile(pattern.python, re.ASCII).groups


def lower_regexp_extract_all(args: Sequence[str], _types: Types, _result: DataType) -> str:
    group = args[2] if len(args) > 2 else "1"
    return f"shark_regexp_extract_all({args[0]}, {args[1]}, CAST({group} AS INTEGER))"


def lower_split(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = _constant_pattern(args[1])
    limit = args[2] if len(args) > 2 else "-1"
    kernel = f"shark_split({args[0]}, {args[1]}, CAST({limit} AS INTEGER))"
    bound = integer_value(limit)
    if pattern is None or pattern.re2 is None or pattern.matches_empty or bound is None or bound > 0:
        return kernel
    if pattern.literal is not None:
        return f"string_split({args[0]}, {quote_string(pattern.literal)})"
    return _guarded(args[0], f"string_split_regex({args[0]}, {quote_string(pattern.re2)})", kernel, pattern)
