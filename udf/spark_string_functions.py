"""Functions of texts and bytes that Spark SQL has and Hive does not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf.duckdb_sql import string_value
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.page import Page
from sharkpy.udf.pattern_functions import lower_regexp_extract_all
from sharkpy.udf.signatures import (
    Types,
    takes,
)
from sharkpy.values.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    DataType,
)


def _overlay(args: Sequence[str], _types: Types, _result: DataType) -> str:
    text, part, start = args[:3]
    length = f"CASE WHEN {args[3]} < 0 THEN length({part}) ELSE {args[3]} END" if len(args) > 3 else f"length({part})"
    end = f"CAST(least(greatest(CAST({start} AS BIGINT) + {length}, -2147483647), 2147483647) AS INTEGER)"
    return f"(left({text}, greatest({start}, 1) - 1) || {part} || shark_substr({text}, {end}, 2147483647))"


def _luhn_check(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Luhn's rule: every second digit from the end counts twice, less 9 if that exceeds 9."""
    digits = f"list_reverse(list_transform(string_split({args[0]}, ''), lambda digit: TRY_CAST(digit AS INTEGER)))"
    twice = "CASE WHEN digit > 4 THEN digit * 2 - 9 ELSE digit * 2 END"
    counted = f"list_transform({digits}, lambda digit, place: CASE WHEN place % 2 = 0 THEN {twice} ELSE digit END)"
    return f"(regexp_full_match({args[0]}, '[0-9]+') AND list_sum({counted}) % 10 = 0)"


def _to_binary(args: Sequence[str], _types: Types, _result: DataType) -> str:
    form = (string_value(args[1]) or "").lower() if len(args) > 1 else "hex"
    if form == "hex":
        return f"TRY(unhex({args[0]}))"
    if form == "base64":
        return f"shark_unbase64({args[0]})"
    if form in ("utf-8", "utf8"):
        return f"encode({args[0]})"
    raise TypeMismatchError("to_binary takes 'hex', 'base64' or 'utf-8' as its second argument")


def _matches(args: Sequence[str], types: Types, result: DataType) -> str:
    """Return the texts of all matches of a Java regular expression."""
    return lower_regexp_extract_all([*args[:2], "0"], types, result)


SPARK_STRING_FUNCTIONS = (
    Page(
        "split_part(str, delimiter, n)",
        "a part between delimiters, counted from the end if n is negative",
        "split_part('a.b.c', '.', 2) -> b",
    ).scalar(
        (STRING, STRING, INT),
        STRING,
        "CASE WHEN {2} = 0 THEN error('split_part: parts count from 1')"
        " WHEN {1} = '' THEN CASE WHEN abs({2}) = 1 THEN {0} ELSE '' END ELSE split_part({0}, {1}, {2}) END",
    ),
    Page(
        "luhn_check(str)",
        "whether a number's last digit is the check digit by Luhn's rule",
        "luhn_check('8112189876') -> true",
    ).scalar((STRING,), BOOLEAN, _luhn_check),
    Page(
        "to_binary(str[, format])",
        "the bytes of hex digits (the default), base64 or utf-8; NULL if the text is malformed",
        "to_binary('616263', 'hex') -> abc",
    ).scalar(takes(STRING, STRING, optional=1), BINARY, _to_binary, NullPolicy.CUSTOM, aliases=("try_to_binary",)),
    Page("btrim(str[, characters])", "without characters at both ends, spaces by default", "btrim(' a ') -> a").scalar(
        takes(STRING, STRING, optional=1),
        STRING,
        lambda args, _types, _result: f"trim({args[0]}, {args[1] if len(args) > 1 else chr(39) + ' ' + chr(39)})",
    ),
    Page("quote(str)", "the text in single quotes; quotes in it get a backslash", "quote('it') -> 'it'").scalar(
        (STRING,), STRING, "chr(39) || replace({0}, chr(39), chr(92) || chr(39)) || chr(39)"
    ),
    Page(
        "regexp_instr(str, pattern[, group])",
        "position of the first match of a Java regular expression; 0 if there is none",
        "regexp_instr('a1b2', '\\\\d') -> 2",
    ).scalar(
        takes(STRING, STRING, INT, optional=1),
        INT,
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN"
        " CAST(coalesce(strpos({0}, nullif(shark_regexp_extract_all({0}, {1}, 0)[1], '')), 0) AS INTEGER) END",
    ),
    Page(
        "jaro_winkler_similarity(a, b)",
        "likeness from 0 to 1",
        "jaro_winkler_similarity('MARTHA', 'MARHTA') -> 0.9611111111111111",
    ).scalar((STRING, STRING), DOUBLE, "jaro_winkler_similarity({0}, {1})"),
    Page(
        "overlay(str, part, position[, length])",
        "the text with a part from a position replaced; without a length, the part is as long as the replacement",
        "overlay('Spark SQL', '_', 6) -> Spark_SQL",
    ).scalar(takes(STRING, STRING, INT, INT, optional=1), STRING, _overlay),
    Page("bit_length(x)", "bits in UTF-8", "bit_length('abc') -> 24").scalar(
        lambda types: types if types == [BINARY] else takes(STRING)(types),
        INT,
        lambda args, types, _result: (
            f"CAST({'octet_length' if types[0] == BINARY else 'strlen'}({args[0]}) * 8 AS INTEGER)"
        ),
    ),
    Page(
        "regexp_count(str, pattern)", "matches of a Java regular expression", "regexp_count('a1b2', '\\\\d') -> 2"
    ).scalar(
        (STRING, STRING), INT, lambda args, types, result: f"CAST(len({_matches(args, types, result)}) AS INTEGER)"
    ),
    Page(
        "regexp_substr(str, pattern)",
        "the first match of a Java regular expression; NULL if there is none",
        "regexp_substr('a1b2', '\\\\d') -> 1",
    ).scalar((STRING, STRING), STRING, lambda args, types, result: f"{_matches(args, types, result)}[1]"),
    Page(
        "json_array_length(json)", "elements of a JSON array; NULL for other texts", "json_array_length('[1, 2]') -> 2"
    ).scalar(
        (STRING,),
        INT,
        "CAST(CASE WHEN json_valid({0}) AND json_type({0}) = 'ARRAY' THEN json_array_length({0}) END AS INTEGER)",
    ),
    Page(
        "json_object_keys(json)",
        "the keys of a JSON object; NULL for other texts",
        'json_object_keys(\'{"a": 1}\') -> ["a"]',
    ).scalar(
        (STRING,), ArrayType(STRING), "CASE WHEN json_valid({0}) AND json_type({0}) = 'OBJECT' THEN json_keys({0}) END"
    ),
)
