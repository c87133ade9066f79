"""String and binary functions. Positions count characters from 1."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.collection_functions import map_of_entries
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.literals import integer_value, quote_string
from sharkpy.udf.patterns import (
    lower_regexp_extract,
    lower_regexp_extract_all,
    lower_regexp_replace,
    lower_rlike,
    lower_split,
)
from sharkpy.udf.signatures import Types, converts, first_of, kind_of, returns, same_as, takes
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
    DataType,
    MapType,
)


def _text(name: str, lowering: Lowering, doc: str, example: str, *more: DataType, optional: int = 0) -> ScalarFunction:
    """A function of a string and more arguments to a string."""
    return ScalarFunction(
        name, takes(STRING, *more, optional=optional), returns(STRING), lowering, doc=doc, example=example
    )


def _concat_arguments(types: Types) -> Types | None:
    if not types:
        return None
    if all(dtype == BINARY for dtype in types):
        return types
    if all(isinstance(dtype, ArrayType) for dtype in types):
        return types if len(set(types)) == 1 else None
    return [STRING] * len(types) if all(converts(dtype, STRING) for dtype in types) else None


def _concat_ws_arguments(types: Types) -> Types | None:
    if not types or not converts(types[0], STRING):
        return None
    wanted: list[DataType] = [STRING]
    for dtype in types[1:]:
        if isinstance(dtype, ArrayType):
            wanted.append(ArrayType(STRING))
        elif converts(dtype, STRING):
            wanted.append(STRING)
        else:
            return None
    return wanted


def _concat_ws(args: Sequence[str], types: Types, _result: DataType) -> str:
    if len(args) == 1:
        return f"CASE WHEN {args[0]} IS NOT NULL THEN '' END"
    parts = []
    for arg, dtype in zip(args[1:], types[1:], strict=True):
        is_list = isinstance(dtype, ArrayType)
        parts.append(f"array_to_string(list_filter({arg}, lambda ws: ws IS NOT NULL), {args[0]})" if is_list else arg)
    return f"CASE WHEN {args[0]} IS NOT NULL THEN concat_ws({args[0]}, {', '.join(parts)}) END"


def _substr_arguments(types: Types) -> Types | None:
    if not 2 <= len(types) <= 3 or not all(converts(dtype, INT) for dtype in types[1:]):
        return None
    first = BINARY if types[0] == BINARY else STRING
    return (first, INT, INT)[: len(types)] if converts(types[0], first) else None


def _substr(args: Sequence[str], types: Types, _result: DataType) -> str:
    length_sql = args[2] if len(args) > 2 else "2147483647"
    if types[0] == BINARY:
        return f"shark_substr_blob({args[0]}, {args[1]}, {length_sql})"
    start, length = integer_value(args[1]), integer_value(length_sql)
    if start is not None and start >= 0 and length is not None and length >= 0:
        return f"substr({args[0]}, {max(start, 1)}" + (f", {length})" if len(args) > 2 else ")")
    return f"shark_substr({args[0]}, {args[1]}, {length_sql})"


def _trim(function: str) -> Lowering:
    """Of a text, or of characters and a text as in TRIM(characters FROM text)."""

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        *characters, text = args
        return f"{function}({text}, {characters[0] if characters else quote_string(' ')})"

    return lower


def _length_arguments(types: Types) -> Types | None:
    if len(types) != 1:
        return None
    return types if types[0] == BINARY else takes(STRING)(types)


def _length(args: Sequence[str], types: Types, _result: DataType) -> str:
    return f"CAST({'octet_length' if types[0] == BINARY else 'length'}({args[0]}) AS INTEGER)"


def _translate(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"translate({args[0]}, {args[1]}, {args[2]})"


def _pad(side: str) -> Lowering:
    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        padding = args[2] if len(args) > 2 else "' '"
        return f"shark_pad_{side}({args[0]}, {args[1]}, {padding})"

    return lower


def _str_to_map(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Pairs of key and value; a later pair with the same key wins, a key without delimiter has NULL."""
    pairs = args[1] if len(args) > 1 else "','"
    values = args[2] if len(args) > 2 else "':'"
    entries = (
        f"list_transform(string_split({args[0]}, {pairs}), lambda pair:"
        f" struct_pack(k := string_split(pair, {values})[1],"
        f" v := CASE WHEN contains(pair, {values}) THEN substr(pair, strpos(pair, {values}) + length({values})) END))"
    )
    return map_of_entries(entries)


def _elt(args: Sequence[str], _types: Types, _result: DataType) -> str:
    branches = " ".join(f"WHEN {index} THEN {arg}" for index, arg in enumerate(args[1:], 1))
    return f"CASE {args[0]} {branches} END"


def _levenshtein(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """DuckDB's, which counts bytes, where each is a character."""
    ascii_only = " AND ".join(f"strlen({text}) = length({text})" for text in args[:2])
    native = f"CAST(levenshtein({args[0]}, {args[1]}) AS INTEGER)"
    distance = f"CASE WHEN {ascii_only} THEN {native} ELSE shark_levenshtein({args[0]}, {args[1]}) END"
    return distance if len(args) == 2 else f"CASE WHEN {distance} <= {args[2]} THEN {distance} ELSE -1 END"


def _replace(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"replace({args[0]}, {args[1]}, {args[2] if len(args) > 2 else quote_string('')})"


_EXTRACT = takes(STRING, STRING, INT, optional=1)

STRING_FUNCTIONS = (
    ScalarFunction(
        "concat",
        _concat_arguments,
        same_as(0),
        lambda args, _types, _result: "(" + " || ".join(args) + ")",
        doc="joined strings, binaries or arrays; NULL if any is NULL",
        example="concat('a', 1)",
    ),
    ScalarFunction(
        "concat_ws",
        _concat_ws_arguments,
        returns(STRING),
        _concat_ws,
        NullPolicy.CUSTOM,
        doc="strings and arrays of strings joined by the first argument, NULLs left out",
        example="concat_ws('-', 'a', NULL, 'b')",
    ),
    ScalarFunction(
        "substr",
        _substr_arguments,
        same_as(0),
        _substr,
        doc="part from a position, counted from the end where negative; 0 counts as 1",
        example="substr('hello', -3, 2)",
    ),
    ScalarFunction(
        "substring_index",
        takes(STRING, STRING, INT),
        returns(STRING),
        "CASE WHEN {1} = '' AND {0} IS NOT NULL AND {2} IS NOT NULL THEN ''"
        " WHEN {1} IS NULL THEN NULL WHEN {2} > 0 THEN array_to_string(string_split({0}, {1})[1:{2}], {1})"
        " WHEN {2} < 0 THEN array_to_string("
        "string_split({0}, {1})[greatest(len(string_split({0}, {1})) + {2} + 1, 1):], {1})"
        " WHEN {2} = 0 AND {0} IS NOT NULL AND {1} IS NOT NULL THEN '' END",
        NullPolicy.CUSTOM,
        doc="the part before so many delimiters; behind them where negative",
        example="substring_index('a.b.c', '.', 2)",
    ),
    ScalarFunction(
        "length",
        _length_arguments,
        returns(INT),
        _length,
        doc="characters, or bytes of a binary",
        example="length('abc')",
    ),
    ScalarFunction(
        "octet_length",
        _length_arguments,
        returns(INT),
        lambda args, types, _result: (
            f"CAST({'octet_length' if types[0] == BINARY else 'strlen'}({args[0]}) AS INTEGER)"
        ),
        doc="bytes in UTF-8",
        example="octet_length('abc')",
    ),
    _text("upper", "upper(replace({0}, 'ß', 'SS'))", "in upper case", "upper('aB')"),
    _text("lower", "lower({0})", "in lower case", "lower('aB')"),
    _text("initcap", "shark_initcap({0})", "each word with a capital", "initcap('hello world')"),
    _text("trim", _trim("trim"), "without spaces at both ends", "trim(' a ')", STRING, optional=1),
    _text("ltrim", _trim("ltrim"), "without spaces at the start", "ltrim(' a')", STRING, optional=1),
    _text("rtrim", _trim("rtrim"), "without spaces at the end", "rtrim('a ')", STRING, optional=1),
    ScalarFunction(
        "reverse",
        first_of(kind_of(ArrayType), takes(STRING)),
        same_as(0),
        lambda args, types, _result: f"{'list_reverse' if isinstance(types[0], ArrayType) else 'reverse'}({args[0]})",
        doc="backwards",
        example="reverse('abc')",
    ),
    _text("repeat", "repeat({0}, greatest({1}, 0))", "so many times", "repeat('ab', 2)", INT),
    ScalarFunction(
        "space", takes(INT), returns(STRING), "repeat(' ', greatest({0}, 0))", doc="so many spaces", example="space(2)"
    ),
    _text("lpad", _pad("left"), "padded or cut to a length", "lpad('5', 3, '0')", INT, STRING, optional=1),
    _text("rpad", _pad("right"), "padded or cut to a length", "rpad('5', 3, '0')", INT, STRING, optional=1),
    _text("left", "left({0}, greatest({1}, 0))", "the first characters", "left('abc', 2)", INT),
    _text("right", "right({0}, greatest({1}, 0))", "the last characters", "right('abc', 2)", INT),
    _text(
        "replace",
        _replace,
        "every occurrence replaced, or left out",
        "replace('abc', 'b', 'x')",
        STRING,
        STRING,
        optional=1,
    ),
    _text(
        "translate",
        _translate,
        "each character of the second argument replaced by that of the third, or dropped",
        "translate('abc', 'ab', 'x')",
        STRING,
        STRING,
    ),
    ScalarFunction(
        "instr",
        takes(STRING, STRING),
        returns(INT),
        "CAST(strpos({0}, {1}) AS INTEGER)",
        doc="position of a string in the first; 0 where absent",
        example="instr('hello', 'l')",
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
        doc="position of the first argument in the second, from a position on",
        example="locate('l', 'hello', 4)",
    ),
    ScalarFunction(
        "find_in_set",
        takes(STRING, STRING),
        returns(INT),
        "CASE WHEN contains({0}, ',') THEN 0 ELSE CAST(coalesce(list_position(string_split({1}, ','), {0}),"
        " CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN 0 END) AS INTEGER) END",
        NullPolicy.CUSTOM,
        doc="position in a list separated by commas; 0 where absent",
        example="find_in_set('b', 'a,b')",
    ),
    ScalarFunction(
        "ascii",
        takes(STRING),
        returns(INT),
        "ascii({0})",
        doc="code point of the first character; 0 for an empty string",
        example="ascii('A')",
    ),
    ScalarFunction(
        "chr",
        takes(BIGINT),
        returns(STRING),
        "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} % 256 AS INTEGER)) END",
        doc="character of a code modulo 256",
        example="chr(65)",
    ),
    _text("soundex", "shark_soundex({0})", "American Soundex code", "soundex('Miller')"),
    ScalarFunction(
        "levenshtein",
        takes(STRING, STRING, INT, optional=1),
        returns(INT),
        _levenshtein,
        doc="edit distance; -1 where it is over a third argument",
        example="levenshtein('kitten', 'sitting')",
    ),
    ScalarFunction(
        "sentences",
        takes(STRING, STRING, STRING, optional=2),
        returns(ArrayType(ArrayType(STRING))),
        "shark_sentences({0})",
        NullPolicy.CUSTOM,
        doc="the words of each sentence, by the rules of European languages",
        example="sentences('Hello there! How are you?')",
    ),
    _text(
        "regexp_replace",
        lower_regexp_replace,
        "every match of a Java regular expression replaced, from a position on; $1 names a group",
        "regexp_replace('100-200', '(\\\\d+)', 'num')",
        STRING,
        STRING,
        INT,
        optional=1,
    ),
    ScalarFunction(
        "regexp_extract",
        _EXTRACT,
        returns(STRING),
        lower_regexp_extract,
        doc="a group (default 1) of the first match; '' where there is none",
        example="regexp_extract('100-200', '(\\\\d+)-(\\\\d+)', 2)",
    ),
    ScalarFunction(
        "regexp_extract_all",
        _EXTRACT,
        returns(ArrayType(STRING)),
        lower_regexp_extract_all,
        doc="a group (default 1) of every match",
        example="regexp_extract_all('1a2b', '(\\\\d)', 1)",
    ),
    ScalarFunction(
        "regexp_like",
        takes(STRING, STRING),
        returns(BOOLEAN),
        lower_rlike,
        doc="whether a part matches",
        example="regexp_like('abc', 'b')",
    ),
    ScalarFunction(
        "split",
        takes(STRING, STRING, INT, optional=1),
        returns(ArrayType(STRING)),
        lower_split,
        doc="parts between matches of a regular expression",
        example="split('a,b', ',')",
    ),
    ScalarFunction(
        "str_to_map",
        takes(STRING, STRING, STRING, optional=2),
        returns(MapType(STRING, STRING)),
        _str_to_map,
        doc="map from text; delimiters ',' and ':' by default",
        example="str_to_map('a:1,b:2')",
    ),
    ScalarFunction(
        "elt",
        lambda types: (
            [INT] + [STRING] * (len(types) - 1)
            if len(types) >= 2 and converts(types[0], INT) and all(converts(t, STRING) for t in types[1:])
            else None
        ),
        returns(STRING),
        _elt,
        NullPolicy.CUSTOM,
        doc="the argument at a position",
        example="elt(2, 'a', 'b')",
    ),
    ScalarFunction(
        "startswith",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "starts_with({0}, {1})",
        doc="whether it begins so",
        example="startswith('abc', 'ab')",
    ),
    ScalarFunction(
        "endswith",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "ends_with({0}, {1})",
        doc="whether it ends so",
        example="endswith('abc', 'bc')",
    ),
    ScalarFunction(
        "contains",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "contains({0}, {1})",
        doc="whether it contains",
        example="contains('abc', 'b')",
    ),
    ScalarFunction(
        "ilike",
        takes(STRING, STRING),
        returns(BOOLEAN),
        "({0} ILIKE {1})",
        doc="LIKE without regard to case",
        example="ilike('ABC', 'a%')",
    ),
)
