"""Functions of numbers, texts and times that Spark SQL has and Hive does not."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf.arithmetic_operators import ARITHMETIC
from sharkpy.udf.date_functions import shifted_clock, timestamp_of
from sharkpy.udf.duckdb_sql import string_value
from sharkpy.udf.function import Failure, NullPolicy, ScalarFunction
from sharkpy.udf.page import Page
from sharkpy.udf.pattern_functions import lower_regexp_extract_all
from sharkpy.udf.signatures import (
    Types,
    comparable,
    converts,
    first_of,
    numeric,
    same_as,
    takes,
)
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
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


def _null_for_zero(name: str, operator: str, *, doc: str, answer: str) -> ScalarFunction:
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
    _null_for_zero("try_divide", "divide", doc="a / b; NULL by zero", answer="0.5"),
    _null_for_zero("try_mod", "mod", doc="a % b; NULL by zero", answer="1"),
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


def _timestamp_of(name: str, unit: int, *, doc: str, answer: str) -> ScalarFunction:
    """The time of a number of units after 1970. A unit has `unit` microseconds."""
    return Page(f"{name}(n)", doc, f"{name}(1230219000) -> {answer}").scalar(
        (BIGINT,), TIMESTAMP, timestamp_of("{0}", unit)
    )


def _since_1970(name: str, unit: int, *, doc: str, answer: str) -> ScalarFunction:
    """The number of units from 1970 to a time. A unit has `unit` microseconds."""
    return Page(f"{name}(time)", doc, f"{name}('1970-01-01 00:00:01') -> {answer}").scalar(
        (TIMESTAMP,), BIGINT, f"(epoch_us({{0}}) // {unit})" if unit > 1 else "epoch_us({0})"
    )


def _make_timestamp(args: Sequence[str], _types: Types, _result: DataType) -> str:
    time = _SECONDS.format(*args)
    return time if len(args) == 6 else shifted_clock(time, args[6], to_utc=True)


_SECONDS = "TRY(make_timestamp({0}, {1}, {2}, {3}, {4}, 0e0) + to_microseconds(CAST(round({5} * 1000000) AS BIGINT)))"


SPARK_TIME_FUNCTIONS = (
    Page(
        "convert_timezone(from zone, to zone, time)",
        "the time on a zone's clock as the clock of another zone shows it",
        "convert_timezone('Europe/Brussels', 'America/Los_Angeles', '2021-12-06 00:00:00') -> 2021-12-05 15:00:00",
    ).scalar((STRING, STRING, TIMESTAMP), TIMESTAMP, "shark_zone_shift(shark_zone_shift({2}, {0}, true), {1}, false)"),
    Page("dayname(date)", "Mon, Tue …", "dayname('2009-07-30') -> Thu").scalar((DATE,), STRING, "strftime({0}, '%a')"),
    Page("monthname(date)", "Jan, Feb …", "monthname('2009-07-30') -> Jul").scalar(
        (DATE,), STRING, "strftime({0}, '%b')"
    ),
    Page(
        "make_timestamp(year, month, day, hour, minute, seconds[, zone])",
        "the time of year, month, day, hour, minute, seconds, on the clock of the session or of a zone",
        "make_timestamp(2014, 12, 28, 6, 30, 45.887) -> 2014-12-28 06:30:45.887",
    ).scalar(
        takes(INT, INT, INT, INT, INT, DOUBLE, STRING, optional=1),
        TIMESTAMP,
        _make_timestamp,
        aliases=("make_timestamp_ltz", "make_timestamp_ntz", "try_make_timestamp"),
    ),
    Page(
        "timestamp_seconds(n)",
        "the time n seconds after 1970",
        "timestamp_seconds(1230219000.5) -> 2008-12-25 15:30:00.5",
    ).scalar(
        first_of(lambda types: takes(BIGINT)(types) if types and types[0] in INTEGER_TYPES else None, takes(DOUBLE)),
        TIMESTAMP,
        "make_timestamp(TRY_CAST(CASE WHEN abs({0}) < 9223372022400 THEN round({0} * 1000000) END AS BIGINT))",
    ),
    _timestamp_of("timestamp_millis", 1_000, doc="the time n milliseconds after 1970", answer="1970-01-15 05:43:39"),
    _timestamp_of("timestamp_micros", 1, doc="the time n microseconds after 1970", answer="1970-01-01 00:20:30.219"),
    _since_1970("unix_seconds", 1_000_000, doc="seconds since 1970", answer="1"),
    _since_1970("unix_millis", 1_000, doc="milliseconds since 1970", answer="1000"),
    _since_1970("unix_micros", 1, doc="microseconds since 1970", answer="1000000"),
    Page("unix_date(date)", "days", "unix_date('1970-01-02') -> 1").scalar(
        (DATE,), INT, "CAST({0} - DATE '1970-01-01' AS INTEGER)"
    ),
    Page(
        "date_from_unix_date(days)", "the day so many days after 1970-01-01", "date_from_unix_date(1) -> 1970-01-02"
    ).scalar(
        (INT,), DATE, "CASE WHEN {0} BETWEEN -2147483646 AND 2147483646 THEN CAST(DATE '1970-01-01' + {0} AS DATE) END"
    ),
)
