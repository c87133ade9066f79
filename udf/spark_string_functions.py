"""Functions of texts and bytes that Spark SQL has and Hive does not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf.duckdb_sql import string_value
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.pattern_functions import lower_regexp_extract_all
from sharkpy.udf.signatures import (
    Types,
    returns,
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
    ScalarFunction(
        "split_part",
        takes(STRING, STRING, INT),
        returns(STRING),
        "CASE WHEN {2} = 0 THEN error('split_part: parts count from 1')"
        " WHEN {1} = '' THEN CASE WHEN abs({2}) = 1 THEN {0} ELSE '' END ELSE split_part({0}, {1}, {2}) END",
        usage="split_part(str, delimiter, n)",
        doc="a part between delimiters, counted from the end if n is negative",
        example="split_part('a.b.c', '.', 2)",
        answer="b",
    ),
    ScalarFunction(
        "luhn_check",
        takes(STRING),
        returns(BOOLEAN),
        _luhn_check,
        usage="luhn_check(str)",
        doc="whether a number's last digit is the check digit by Luhn's rule",
        example="luhn_check('8112189876')",
        answer="true",
    ),
    ScalarFunction(
        "to_binary",
        takes(STRING, STRING, optional=1),
        returns(BINARY),
        _to_binary,
        NullPolicy.CUSTOM,
        usage="to_binary(str[, format])",
        doc="the bytes of hex digits (the default), base64 or utf-8; NULL if the text is malformed",
        example="to_binary('616263', 'hex')",
        answer="abc",
        aliases=("try_to_binary",),
    ),
    ScalarFunction(
        "btrim",
        takes(STRING, STRING, optional=1),
        returns(STRING),
        lambda args, _types, _result: f"trim({args[0]}, {args[1] if len(args) > 1 else chr(39) + ' ' + chr(39)})",
        usage="btrim(str[, characters])",
        doc="without characters at both ends, spaces by default",
        example="btrim(' a ')",
        answer="a",
    ),
    ScalarFunction(
        "quote",
        takes(STRING),
        returns(STRING),
        "chr(39) || replace({0}, chr(39), chr(92) || chr(39)) || chr(39)",
        usage="quote(str)",
        doc="the text in single quotes; quotes in it get a backslash",
        example="quote('it')",
        answer="'it'",
    ),
    ScalarFunction(
        "regexp_instr",
        takes(STRING, STRING, INT, optional=1),
        returns(INT),
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN"
        " CAST(coalesce(strpos({0}, nullif(shark_regexp_extract_all({0}, {1}, 0)[1], '')), 0) AS INTEGER) END",
        usage="regexp_instr(str, pattern[, group])",
        doc="position of the first match of a Java regular expression; 0 if there is none",
        example="regexp_instr('a1b2', '\\\\d')",
        answer="2",
    ),
    ScalarFunction(
        "jaro_winkler_similarity",
        takes(STRING, STRING),
        returns(DOUBLE),
        "jaro_winkler_similarity({0}, {1})",
        usage="jaro_winkler_similarity(a, b)",
        doc="likeness from 0 to 1",
        example="jaro_winkler_similarity('MARTHA', 'MARHTA')",
        answer="0.9611111111111111",
    ),
    ScalarFunction(
        "overlay",
        takes(STRING, STRING, INT, INT, optional=1),
        returns(STRING),
        _overlay,
        usage="overlay(str, part, position[, length])",
        doc="the text with a part from a position replaced; without a length, the part is as long as the replacement",
        example="overlay('Spark SQL', '_', 6)",
        answer="Spark_SQL",
    ),
    ScalarFunction(
        "bit_length",
        lambda types: types if types == [BINARY] else takes(STRING)(types),
        returns(INT),
        lambda args, types, _result: (
            f"CAST({'octet_length' if types[0] == BINARY else 'strlen'}({args[0]}) * 8 AS INTEGER)"
        ),
        usage="bit_length(x)",
        doc="bits in UTF-8",
        example="bit_length('abc')",
        answer="24",
    ),
    ScalarFunction(
        "regexp_count",
        takes(STRING, STRING),
        returns(INT),
        lambda args, types, result: f"CAST(len({_matches(args, types, result)}) AS INTEGER)",
        usage="regexp_count(str, pattern)",
        doc="matches of a Java regular expression",
        example="regexp_count('a1b2', '\\\\d')",
        answer="2",
    ),
    ScalarFunction(
        "regexp_substr",
        takes(STRING, STRING),
        returns(STRING),
        lambda args, types, result: f"{_matches(args, types, result)}[1]",
        usage="regexp_substr(str, pattern)",
        doc="the first match of a Java regular expression; NULL if there is none",
        example="regexp_substr('a1b2', '\\\\d')",
        answer="1",
    ),
    ScalarFunction(
        "json_array_length",
        takes(STRING),
        returns(INT),
        "CAST(CASE WHEN json_valid({0}) AND json_type({0}) = 'ARRAY' THEN json_array_length({0}) END AS INTEGER)",
        usage="json_array_length(json)",
        doc="elements of a JSON array; NULL for other texts",
        example="json_array_length('[1, 2]')",
        answer="2",
    ),
    ScalarFunction(
        "json_object_keys",
        takes(STRING),
        returns(ArrayType(STRING)),
        "CASE WHEN json_valid({0}) AND json_type({0}) = 'OBJECT' THEN json_keys({0}) END",
        usage="json_object_keys(json)",
        doc="the keys of a JSON object; NULL for other texts",
        example="json_object_keys('{\"a\": 1}')",
        answer='["a"]',
    ),
)
