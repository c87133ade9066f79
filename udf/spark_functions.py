"""Functions that Hive lacks and Spark SQL has, of one row: numbers, texts, times, arrays and maps."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf.collection_functions import map_of_entries
from sharkpy.udf.function import Failure, Lowering, NullPolicy, ScalarFunction, TypeRule, Varying
from sharkpy.udf.literals import string_value
from sharkpy.udf.operators import OPERATORS
from sharkpy.udf.signatures import (
    Types,
    comparable,
    converts,
    element_type,
    first_of,
    kind_of,
    numeric,
    returns,
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
    MapType,
    StructType,
    is_numeric,
)

_OPERATORS = {row.name: row for row in OPERATORS}


def _row(
    name: str,
    arguments: TypeRule,
    result: DataType,
    lowering: Lowering,
    *,
    usage: str,
    doc: str,
    example: str,
    answer: str,
    aliases: tuple[str, ...] = (),
) -> ScalarFunction:
    """A function of one result type."""
    return ScalarFunction(
        name,
        arguments,
        returns(result),
        lowering,
        usage=usage,
        doc=doc,
        example=example,
        answer=answer,
        aliases=aliases,
    )


def _double(name: str, lowering: str, *, doc: str, example: str, answer: str) -> ScalarFunction:
    """A function of one number."""
    return _row(name, takes(DOUBLE), DOUBLE, lowering, usage=f"{name}(x)", doc=doc, example=example, answer=answer)


def _unless_overflow(name: str, operator: str, *, answer: str) -> ScalarFunction:
    """try_add and its like: NULL where integers leave their type, as nothing else does here."""
    row = _OPERATORS[name]

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if result in INTEGER_TYPES:
            return f"TRY({args[0]} {operator} {args[1]})"
        return row.lowering(args, types, result) if callable(row.lowering) else row.lowering.format(*args)

    return ScalarFunction(
        f"try_{name}",
        row.arguments,
        row.result,
        lower,
        NullPolicy.CUSTOM,
        usage=f"try_{name}(a, b)",
        doc=f"a {operator} b; NULL on overflow",
        example=f"try_{name}(1, 2)",
        answer=answer,
    )


def _same(name: str, operator: str, *, doc: str, answer: str) -> ScalarFunction:
    """try_divide, try_mod: the operator itself, NULL by zero."""
    row = _OPERATORS[operator]
    return ScalarFunction(
        name,
        row.arguments,
        row.result,
        row.lowering,
        NullPolicy.CUSTOM,
        usage=f"{name}(a, b)",
        doc=doc,
        example=f"{name}(1, 2)",
        answer=answer,
    )


def _overlay(args: Sequence[str], _types: Types, _result: DataType) -> str:
    text, part, start = args[:3]
    length = f"CASE WHEN {args[3]} < 0 THEN length({part}) ELSE {args[3]} END" if len(args) > 3 else f"length({part})"
    return f"(left({text}, greatest({start} - 1, 0)) || {part} || shark_substr({text}, {start} + {length}, 2147483647))"


def _array_and_item(types: Types) -> Types | None:
    match types:
        case [ArrayType(element) as array, item] if converts(item, element):
            return (array, element)
    return None


def _map_and_key(types: Types) -> Types | None:
    match types:
        case [MapType(key) as mapping, given] if converts(given, key):
            return (mapping, key)
    return None


def _array_insert_arguments(types: Types) -> Types | None:
    match types:
        case [ArrayType(element) as array, index, item] if converts(index, INT) and converts(item, element):
            return (array, INT, element)
    return None


def _array_insert(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Before a position from 1, or behind one from the end; NULLs fill a gap."""
    array, index, item = args
    nulls = "list_resize([], {})"
    behind = f"list_concat(list_resize({array}, {index} - 1), [{item}], {array}[{index}:])"
    place = f"len({array}) + {index} + 1"
    before = (
        f"CASE WHEN {place} < 0 THEN list_concat([{item}], {nulls.format(f'-({place})')}, {array})"
        f" ELSE list_concat({array}[:{place}], [{item}], {array}[{place} + 1:]) END"
    )
    return f"CASE WHEN {array} IS NULL THEN NULL WHEN {index} > 0 THEN {behind} WHEN {index} < 0 THEN {before} END"


def _arrays(types: Types) -> Types | None:
    return types if types and all(isinstance(dtype, ArrayType) for dtype in types) else None


def _zipped_type(types: Types) -> DataType:
    names = tuple(str(index) for index in range(len(types)))
    return ArrayType(StructType(names, tuple(map(element_type, types))))


def _arrays_zip(args: Sequence[str], _types: Types, _result: DataType) -> str:
    fields = ", ".join(f'"{index}" := {arg}[place]' for index, arg in enumerate(args))
    length = f"greatest({', '.join(f'len({arg})' for arg in args)})"
    known = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
    zipped = f"list_transform(generate_series(1, {length}), lambda place: struct_pack({fields}))"
    return f"CASE WHEN {known} THEN {zipped} END"


def _entries(types: Types) -> Types | None:
    match types:
        case [ArrayType(StructType(_, [_, _]))]:
            return types
    return None


def _entries_type(types: Types) -> DataType:
    struct = element_type(types[0])
    return MapType(*struct.types) if isinstance(struct, StructType) else NULL


def _map_from_entries(args: Sequence[str], types: Types, _result: DataType) -> str:
    struct = element_type(types[0])
    key, value = struct.names if isinstance(struct, StructType) else ("", "")
    fields = f"k := struct_extract(item, '{key}'), v := struct_extract(item, '{value}')"
    return map_of_entries(f"list_transform({args[0]}, lambda item: struct_pack({fields}))")


def _luhn_check(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Every second digit from the end counts twice, its own digits summed up: 2n, less 9 where over 9."""
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


def _timestamp_of(name: str, unit: int, *, doc: str, answer: str) -> ScalarFunction:
    """The time that a number of units after 1970 is; a unit is so many microseconds."""
    return _row(
        name,
        takes(BIGINT),
        TIMESTAMP,
        f"make_timestamp({{0}} * {unit})",
        usage=f"{name}(n)",
        doc=doc,
        example=f"{name}(1230219000)",
        answer=answer,
    )


def _since_1970(name: str, unit: int, *, doc: str, answer: str) -> ScalarFunction:
    """The number of units from 1970 to a time; a unit is so many microseconds."""
    return _row(
        name,
        takes(TIMESTAMP),
        BIGINT,
        f"(epoch_us({{0}}) // {unit})" if unit > 1 else "epoch_us({0})",
        usage=f"{name}(time)",
        doc=doc,
        example=f"{name}('1970-01-01 00:00:01')",
        answer=answer,
    )


def _make_timestamp(args: Sequence[str], _types: Types, _result: DataType) -> str:
    time = _SECONDS.format(*args)
    return time if len(args) == 6 else f"CAST(timezone({args[6]}, {time}) AS TIMESTAMP)"


_SECONDS = "TRY(make_timestamp({0}, {1}, {2}, {3}, {4}, 0e0) + to_microseconds(CAST(round({5} * 1000000) AS BIGINT)))"

SPARK_FUNCTIONS = (
    _double(
        "acosh",
        "CASE WHEN {0} >= 1 THEN acosh({0}) ELSE {0} * CAST('nan' AS DOUBLE) END",
        doc="inverse hyperbolic cosine",
        example="acosh(1)",
        answer="0.0",
    ),
    _double(
        "asinh",
        "asinh({0})",
        doc="inverse hyperbolic sine",
        example="asinh(0)",
        answer="0.0",
    ),
    _double(
        "atanh",
        "CASE WHEN abs({0}) <= 1 THEN atanh({0}) ELSE {0} * CAST('nan' AS DOUBLE) END",
        doc="inverse of tanh",
        example="atanh(0)",
        answer="0.0",
    ),
    _double(
        "sec",
        "(1 / cos({0}))",
        doc="secant",
        example="sec(1)",
        answer="1.8508157176809255",
    ),
    _double(
        "csc",
        "(1 / sin({0}))",
        doc="cosecant",
        example="csc(1)",
        answer="1.1883951057781212",
    ),
    _double(
        "rint",
        "round_even({0}, 0)",
        doc="the nearest whole number, half to even",
        example="rint(12.3456)",
        answer="12.0",
    ),
    _unless_overflow("add", "+", answer="3"),
    _unless_overflow("subtract", "-", answer="-1"),
    _unless_overflow("multiply", "*", answer="2"),
    _same(
        "try_divide",
        "divide",
        doc="a / b; NULL by zero",
        answer="0.5",
    ),
    _same("try_mod", "mod", doc="a % b; NULL by zero", answer="1"),
    _row(
        "bit_count",
        lambda types: (BIGINT,) if len(types) == 1 and types[0] in INTEGER_TYPES else None,
        INT,
        "CAST(bit_count({0}) AS INTEGER)",
        usage="bit_count(n)",
        doc="bits that are 1, of 64",
        example="bit_count(5)",
        answer="2",
    ),
    _row(
        "getbit",
        takes(BIGINT, INT),
        INT,
        "CAST(({0} >> {1}) & 1 AS INTEGER)",
        usage="getbit(n, position)",
        doc="a bit of a number",
        example="getbit(11, 0)",
        answer="1",
        aliases=("bit_get",),
    ),
    ScalarFunction(
        "nanvl",
        lambda types: (DOUBLE, DOUBLE) if len(types) == 2 and all(converts(t, DOUBLE) for t in types) else None,
        returns(DOUBLE),
        "CASE WHEN isnan({0}) THEN {1} ELSE {0} END",
        NullPolicy.CUSTOM,
        usage="nanvl(x, y)",
        doc="the first, or the second where it is NaN",
        example="nanvl(1.5, 2)",
        answer="1.5",
    ),
    ScalarFunction(
        "zeroifnull",
        numeric,
        same_as(0),
        "coalesce({0}, 0)",
        NullPolicy.CUSTOM,
        usage="zeroifnull(x)",
        doc="0 for NULL",
        example="zeroifnull(1)",
        answer="1",
    ),
    ScalarFunction(
        "nullifzero",
        lambda types: types if len(types) == 1 and is_numeric(types[0]) else None,
        same_as(0),
        "nullif({0}, 0)",
        NullPolicy.CUSTOM,
        usage="nullifzero(x)",
        doc="NULL for 0",
        example="nullifzero(0)",
        answer="NULL",
    ),
    ScalarFunction(
        "equal_null",
        comparable(2, 2),
        returns(BOOLEAN),
        "({0} IS NOT DISTINCT FROM {1})",
        NullPolicy.CUSTOM,
        usage="equal_null(a, b)",
        doc="a <=> b",
        example="equal_null(1, 1)",
        answer="true",
    ),
    ScalarFunction(
        "raise_error",
        takes(STRING),
        returns(NULL),
        "error(coalesce({0}, 'NULL'))",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="raise_error(message)",
        doc="an error with this message",
        example="raise_error('odd numbers')",
        answer=Failure("odd numbers"),
    ),
    _row(
        "split_part",
        takes(STRING, STRING, INT),
        STRING,
        "CASE WHEN {2} = 0 THEN error('split_part: parts count from 1')"
        " WHEN {1} = '' THEN CASE WHEN abs({2}) = 1 THEN {0} ELSE '' END ELSE split_part({0}, {1}, {2}) END",
        usage="split_part(str, delimiter, n)",
        doc="a part between delimiters, counted from the end where negative",
        example="split_part('a.b.c', '.', 2)",
        answer="b",
    ),
    _row(
        "luhn_check",
        takes(STRING),
        BOOLEAN,
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
        doc="the bytes that hex digits (the default), base64 or utf-8 say; NULL where they do not",
        example="to_binary('616263', 'hex')",
        answer="abc",
        aliases=("try_to_binary",),
    ),
    _row(
        "btrim",
        takes(STRING, STRING, optional=1),
        STRING,
        lambda args, _types, _result: f"trim({args[0]}, {args[1] if len(args) > 1 else chr(39) + ' ' + chr(39)})",
        usage="btrim(str[, characters])",
        doc="without characters at both ends, spaces by default",
        example="btrim(' a ')",
        answer="a",
    ),
    _row(
        "quote",
        takes(STRING),
        STRING,
        "chr(39) || replace({0}, chr(39), chr(92) || chr(39)) || chr(39)",
        usage="quote(str)",
        doc="in single quotes, those in it behind a backslash",
        example="quote('it')",
        answer="'it'",
    ),
    _row(
        "regexp_instr",
        takes(STRING, STRING, INT, optional=1),
        INT,
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN"
        " CAST(coalesce(strpos({0}, nullif(shark_regexp_extract_all({0}, {1}, 0)[1], '')), 0) AS INTEGER) END",
        usage="regexp_instr(str, pattern[, group])",
        doc="where the first match of a Java regular expression begins, 0 where there is none",
        example="regexp_instr('a1b2', '\\\\d')",
        answer="2",
    ),
    _row(
        "jaro_winkler_similarity",
        takes(STRING, STRING),
        DOUBLE,
        "jaro_winkler_similarity({0}, {1})",
        usage="jaro_winkler_similarity(a, b)",
        doc="likeness from 0 to 1",
        example="jaro_winkler_similarity('MARTHA', 'MARHTA')",
        answer="0.9611111111111111",
    ),
    _row(
        "convert_timezone",
        takes(STRING, STRING, TIMESTAMP),
        TIMESTAMP,
        "shark_zone_shift(shark_zone_shift({2}, {0}, true), {1}, false)",
        usage="convert_timezone(from zone, to zone, time)",
        doc="what a zone's clock shows as that of another zone",
        example="convert_timezone('Europe/Brussels', 'America/Los_Angeles', '2021-12-06 00:00:00')",
        answer="2021-12-05 15:00:00",
    ),
    ScalarFunction(
        "randn",
        takes(BIGINT, optional=1),
        returns(DOUBLE),
        lambda _args, _types, _result: "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        usage="randn([seed])",
        doc="a random number of the standard normal distribution",
        example="randn()",
        answer=Varying("-0.7024745320451669", r"-?\d\.\d+(E-\d+)?"),
    ),
    _row(
        "overlay",
        takes(STRING, STRING, INT, INT, optional=1),
        STRING,
        _overlay,
        usage="overlay(str, part, position[, length])",
        doc="a part from a position replaced, as long as the replacement where no length is given",
        example="overlay('Spark SQL', '_', 6)",
        answer="Spark_SQL",
    ),
    _row(
        "bit_length",
        lambda types: types if types == [BINARY] else takes(STRING)(types),
        INT,
        lambda args, types, _result: (
            f"CAST({'octet_length' if types[0] == BINARY else 'strlen'}({args[0]}) * 8 AS INTEGER)"
        ),
        usage="bit_length(x)",
        doc="bits in UTF-8",
        example="bit_length('abc')",
        answer="24",
    ),
    _row(
        "regexp_count",
        takes(STRING, STRING),
        INT,
        "CAST(len(shark_regexp_extract_all({0}, {1}, 0)) AS INTEGER)",
        usage="regexp_count(str, pattern)",
        doc="matches of a Java regular expression",
        example="regexp_count('a1b2', '\\\\d')",
        answer="2",
    ),
    _row(
        "regexp_substr",
        takes(STRING, STRING),
        STRING,
        "shark_regexp_extract_all({0}, {1}, 0)[1]",
        usage="regexp_substr(str, pattern)",
        doc="the first match of a Java regular expression, NULL where there is none",
        example="regexp_substr('a1b2', '\\\\d')",
        answer="1",
    ),
    _row(
        "dayname",
        takes(DATE),
        STRING,
        "strftime({0}, '%a')",
        usage="dayname(date)",
        doc="Mon, Tue …",
        example="dayname('2009-07-30')",
        answer="Thu",
    ),
    _row(
        "monthname",
        takes(DATE),
        STRING,
        "strftime({0}, '%b')",
        usage="monthname(date)",
        doc="Jan, Feb …",
        example="monthname('2009-07-30')",
        answer="Jul",
    ),
    _row(
        "make_timestamp",
        takes(INT, INT, INT, INT, INT, DOUBLE, STRING, optional=1),
        TIMESTAMP,
        _make_timestamp,
        usage="make_timestamp(year, month, day, hour, minute, seconds[, zone])",
        doc="the time of year, month, day, hour, minute, seconds, on the clock of the session or of a zone",
        example="make_timestamp(2014, 12, 28, 6, 30, 45.887)",
        answer="2014-12-28 06:30:45.887",
        aliases=("make_timestamp_ltz", "make_timestamp_ntz", "try_make_timestamp"),
    ),
    _row(
        "timestamp_seconds",
        first_of(lambda types: takes(BIGINT)(types) if types and types[0] in INTEGER_TYPES else None, takes(DOUBLE)),
        TIMESTAMP,
        "make_timestamp(CAST(round({0} * 1000000) AS BIGINT))",
        usage="timestamp_seconds(n)",
        doc="the time so many seconds after 1970",
        example="timestamp_seconds(1230219000.5)",
        answer="2008-12-25 15:30:00.5",
    ),
    _timestamp_of(
        "timestamp_millis",
        1_000,
        doc="the time so many milliseconds after 1970",
        answer="1970-01-15 05:43:39",
    ),
    _timestamp_of(
        "timestamp_micros",
        1,
        doc="the time so many microseconds after 1970",
        answer="1970-01-01 00:20:30.219",
    ),
    _since_1970(
        "unix_seconds",
        1_000_000,
        doc="seconds since 1970",
        answer="1",
    ),
    _since_1970(
        "unix_millis",
        1_000,
        doc="milliseconds since 1970",
        answer="1000",
    ),
    _since_1970(
        "unix_micros",
        1,
        doc="microseconds since 1970",
        answer="1000000",
    ),
    _row(
        "unix_date",
        takes(DATE),
        INT,
        "CAST({0} - DATE '1970-01-01' AS INTEGER)",
        usage="unix_date(date)",
        doc="days",
        example="unix_date('1970-01-02')",
        answer="1",
    ),
    _row(
        "date_from_unix_date",
        takes(INT),
        DATE,
        "CAST(DATE '1970-01-01' + {0} AS DATE)",
        usage="date_from_unix_date(days)",
        doc="the day so many days after 1970-01-01",
        example="date_from_unix_date(1)",
        answer="1970-01-02",
    ),
    ScalarFunction(
        "get",
        lambda types: (types[0], INT) if len(types) == 2 and isinstance(types[0], ArrayType) else None,
        lambda types: element_type(types[0]),
        "CASE WHEN {1} >= 0 THEN {0}[CAST({1} AS BIGINT) + 1] END",
        NullPolicy.CUSTOM,
        usage="get(array, index)",
        doc="an element by its position from 0; NULL outside",
        example="get(array(1, 2), 1)",
        answer="2",
    ),
    ScalarFunction(
        "shuffle",
        kind_of(ArrayType),
        same_as(0),
        "list_select({0}, list_grade_up(list_transform({0}, lambda _: random())))",
        is_deterministic=False,
        usage="shuffle(array)",
        doc="the elements in a random order, another one each time",
        example="shuffle(array(1, 2))",
        answer=Varying("[2,1]", r"\[1,2\]|\[2,1\]"),
    ),
    ScalarFunction(
        "try_element_at",
        first_of(kind_of(ArrayType, then=(INT,)), _map_and_key),
        lambda types: types[0].value if isinstance(types[0], MapType) else element_type(types[0]),
        "{0}[{1}]",
        NullPolicy.CUSTOM,
        usage="try_element_at(array, position), try_element_at(map, key)",
        doc="an element by its position from 1, from the end where negative; NULL where there is none",
        example="try_element_at(array(1, 2), -1)",
        answer="2",
    ),
    ScalarFunction(
        "array_prepend",
        _array_and_item,
        same_as(0),
        "CASE WHEN {0} IS NOT NULL THEN list_prepend({1}, {0}) END",
        NullPolicy.CUSTOM,
        usage="array_prepend(array, x)",
        doc="with an element before",
        example="array_prepend(array(2), 1)",
        answer="[1,2]",
    ),
    ScalarFunction(
        "array_insert",
        _array_insert_arguments,
        same_as(0),
        _array_insert,
        NullPolicy.CUSTOM,
        usage="array_insert(array, position, x)",
        doc="with an element at a position from 1, or from the end",
        example="array_insert(array(1, 3), 2, 2)",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "array_compact",
        kind_of(ArrayType),
        same_as(0),
        "list_filter({0}, lambda item: item IS NOT NULL)",
        usage="array_compact(array)",
        doc="without NULLs",
        example="array_compact(array(1, NULL))",
        answer="[1]",
    ),
    ScalarFunction(
        "arrays_zip",
        _arrays,
        _zipped_type,
        _arrays_zip,
        NullPolicy.CUSTOM,
        usage="arrays_zip(array, …)",
        doc="structs of the elements at each position",
        example="arrays_zip(array(1, 2), array('a', 'b'))",
        answer='[{"0":1,"1":"a"},{"0":2,"1":"b"}]',
    ),
    ScalarFunction(
        "map_from_entries",
        _entries,
        _entries_type,
        _map_from_entries,
        usage="map_from_entries(array of structs)",
        doc="map of an array of keys and values",
        example="map_from_entries(array(struct('a', 1)))",
        answer='{"a":1}',
    ),
    _row(
        "json_array_length",
        takes(STRING),
        INT,
        "CAST(CASE WHEN json_valid({0}) AND json_type({0}) = 'ARRAY' THEN json_array_length({0}) END AS INTEGER)",
        usage="json_array_length(json)",
        doc="elements of a JSON array; NULL for other texts",
        example="json_array_length('[1, 2]')",
        answer="2",
    ),
    _row(
        "json_object_keys",
        takes(STRING),
        ArrayType(STRING),
        "CASE WHEN json_valid({0}) AND json_type({0}) = 'OBJECT' THEN json_keys({0}) END",
        usage="json_object_keys(json)",
        doc="the keys of a JSON object; NULL for other texts",
        example="json_object_keys('{\"a\": 1}')",
        answer='["a"]',
    ),
)
