"""Strings and binaries: concatenation, parts, padding, replacement, search, comparison. Positions count from 1."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.array_functions import joined_items
from sharkpy.udf.duckdb_sql import balanced, integer_value, quote_string, string_value
from sharkpy.udf.function import Lowering, NullPolicy
from sharkpy.udf.map_functions import map_of_entries
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, all_common, converts, first_of, kind_of, same_as, takes
from sharkpy.udf.string_kernels import lower_sql, overlaps_itself, upper_sql
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


def _concat_arguments(types: Types) -> Types | None:
    if not types:
        return None
    if all(dtype == BINARY for dtype in types):
        return types
    if all(isinstance(dtype, ArrayType) for dtype in types):
        return all_common()(types)
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
        parts.append(joined_items(f"list_filter({arg}, lambda ws: ws IS NOT NULL)", args[0]) if is_list else arg)
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
    """Trim of a text, or of characters from a text as in TRIM(characters FROM text)."""

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
    """Pairs of key and value. A later pair with the same key wins. A key without a delimiter has NULL."""
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


def _replace(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"replace({args[0]}, {args[1]}, {args[2] if len(args) > 2 else quote_string('')})"


_MOST_SPLIT = 1_000_000
"""Bytes of a text up to which its parts are built at once, without a check for cancellation."""


def _substring_index(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Short texts are split into parts. A delimiter that overlaps itself is searched by position."""
    text, delimiter, count = args
    constant = string_value(delimiter)
    by_places = f"shark_substring_index({', '.join(args)})"
    if constant is None or overlaps_itself(constant):
        return by_places
    # DuckDB also computes constants in a branch that is not taken.
    parts = f"string_split(CASE WHEN strlen({text}) <= {_MOST_SPLIT} THEN {text} END, {delimiter})"
    before = joined_items(f"{parts}[1:{count}]", delimiter)
    behind = joined_items(f"{parts}[greatest(len({parts}) + {count} + 1, 1):]", delimiter)
    return (
        f"CASE WHEN strlen({text}) > {_MOST_SPLIT} THEN {by_places}"
        f" WHEN {count} > 0 THEN {before} WHEN {count} < 0 THEN {behind}"
        f" WHEN {count} = 0 AND {text} IS NOT NULL THEN '' END"
    )


STRING_FUNCTIONS = (
    Page("concat(x, …)", "joined strings, binaries or arrays; NULL if any is NULL", "concat('a', 1) -> a1").scalar(
        _concat_arguments, same_as(0), lambda args, _types, _result: balanced("||", args)
    ),
    Page(
        "concat_ws(separator, x, …)",
        "strings and arrays of strings joined by the first argument, NULLs left out",
        "concat_ws('-', 'a', NULL, 'b') -> a-b",
    ).scalar(_concat_ws_arguments, STRING, _concat_ws, NullPolicy.CUSTOM),
    Page(
        "substr(str, position[, length])",
        "part from a position, counted from the end if it is negative; 0 counts as 1",
        "substr('hello', -3, 2) -> ll",
    ).scalar(_substr_arguments, same_as(0), _substr, aliases=("mid", "substring")),
    Page(
        "substring_index(str, delimiter, n)",
        "the part before the n-th delimiter; if n is negative, the part after it, counted from the end",
        "substring_index('a.b.c', '.', 2) -> a.b",
    ).scalar((STRING, STRING, INT), STRING, _substring_index, NullPolicy.CUSTOM),
    Page("length(x)", "characters, or bytes of a binary", "length('abc') -> 3").scalar(
        _length_arguments, INT, _length, aliases=("char_length", "character_length", "len")
    ),
    Page("octet_length(x)", "bytes in UTF-8", "octet_length('abc') -> 3").scalar(
        _length_arguments,
        INT,
        lambda args, types, _result: (
            f"CAST({'octet_length' if types[0] == BINARY else 'strlen'}({args[0]}) AS INTEGER)"
        ),
    ),
    Page("upper(str)", "in upper case", "upper('aB') -> AB").scalar(
        (STRING,), STRING, lambda args, _types, _result: upper_sql(args[0]), aliases=("ucase",)
    ),
    Page("lower(str)", "in lower case", "lower('aB') -> ab").scalar(
        (STRING,), STRING, lambda args, _types, _result: lower_sql(args[0]), aliases=("lcase",)
    ),
    Page("initcap(str)", "each word with a capital", "initcap('hello world') -> Hello World").scalar(
        (STRING,), STRING, "shark_initcap({0})"
    ),
    Page("trim([characters, ]str)", "without spaces at both ends", "trim(' a ') -> a").scalar(
        takes(STRING, STRING, optional=1), STRING, _trim("trim")
    ),
    Page("ltrim([characters, ]str)", "without spaces at the start", "ltrim(' a') -> a").scalar(
        takes(STRING, STRING, optional=1), STRING, _trim("ltrim")
    ),
    Page("rtrim([characters, ]str)", "without spaces at the end", "rtrim('a ') -> a").scalar(
        takes(STRING, STRING, optional=1), STRING, _trim("rtrim")
    ),
    Page("reverse(str)", "backwards", "reverse('abc') -> cba").scalar(
        first_of(kind_of(ArrayType), takes(STRING)),
        same_as(0),
        lambda args, types, _result: f"{'list' if isinstance(types[0], ArrayType) else 'shark'}_reverse({args[0]})",
    ),
    Page("repeat(str, n)", "the text n times", "repeat('ab', 2) -> abab").scalar(
        (STRING, INT), STRING, "repeat({0}, greatest({1}, 0))"
    ),
    Page("space(n)", "so many spaces", "space(2) ->   ").scalar((INT,), STRING, "repeat(' ', greatest({0}, 0))"),
    Page("lpad(str, length[, pad])", "padded or cut to a length", "lpad('5', 3, '0') -> 005").scalar(
        takes(STRING, INT, STRING, optional=1), STRING, _pad("left")
    ),
    Page("rpad(str, length[, pad])", "padded or cut to a length", "rpad('5', 3, '0') -> 500").scalar(
        takes(STRING, INT, STRING, optional=1), STRING, _pad("right")
    ),
    Page("left(str, n)", "the first characters", "left('abc', 2) -> ab").scalar(
        (STRING, INT), STRING, "left({0}, greatest({1}, 0))"
    ),
    Page("right(str, n)", "the last characters", "right('abc', 2) -> bc").scalar(
        (STRING, INT), STRING, "right({0}, greatest({1}, 0))"
    ),
    Page(
        "replace(str, part[, replacement])", "every occurrence replaced, or left out", "replace('abc', 'b', 'x') -> axc"
    ).scalar(takes(STRING, STRING, STRING, optional=1), STRING, _replace),
    Page(
        "translate(str, from, to)",
        "each character of the second argument replaced by the one at its place in the third, or dropped",
        "translate('abc', 'ab', 'x') -> xc",
    ).scalar((STRING, STRING, STRING), STRING, _translate),
    Page("ascii(str)", "code point of the first character; 0 for an empty string", "ascii('A') -> 65").scalar(
        (STRING,), INT, "ascii({0})"
    ),
    Page("chr(n)", "character of a code modulo 256", "chr(65) -> A").scalar(
        (BIGINT,), STRING, "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} % 256 AS INTEGER)) END", aliases=("char",)
    ),
    Page(
        "str_to_map(str[, delimiter of pairs[, delimiter of values]])",
        "map from text; delimiters ',' and ':' by default",
        'str_to_map(\'a:1,b:2\') -> {"a":"1","b":"2"}',
    ).scalar(takes(STRING, STRING, STRING, optional=2), MapType(STRING, STRING), _str_to_map),
    Page("elt(n, str, …)", "the argument at a position", "elt(2, 'a', 'b') -> b").scalar(
        lambda types: (
            [INT] + [STRING] * (len(types) - 1)
            if len(types) >= 2 and converts(types[0], INT) and all(converts(t, STRING) for t in types[1:])
            else None
        ),
        STRING,
        _elt,
        NullPolicy.CUSTOM,
    ),
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
