"""Extents of results by function: the only table of functions whose result can be larger than their arguments.

The result of any other function has at most the bytes of its largest argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf.duckdb_sql import balanced, integer_value, string_value
from sharkpy.udf.pattern_functions import lower_regexp_extract_all
from sharkpy.udf.value_size import ITEM_BYTES, Extent, Size, Sized, greatest, has_extent, total
from sharkpy.values.types import DATE, INTEGER_TYPES, INTERVAL_YEAR_MONTH, STRING, TIMESTAMP, ArrayType, MapType

Arguments = Sequence[Sized]
SizeRule = Callable[[Arguments], Extent]
"""Arguments (with known extents, if their types have any) -> the extent of the result."""
_PLAIN_DELIMITERS = ",;:/-_ \t\n"


def _values(args: Arguments) -> list[Sized]:
    return [arg for arg in args if has_extent(arg.dtype)]


def largest_argument(args: Arguments) -> Extent:
    """Return the extent of a result that is a part, or another form, of one of the arguments."""
    values = _values(args)
    exact = values[0].exact if len(values) == 1 and values[0].has_exact else ""
    return Extent(greatest([arg.content for arg in values]), greatest([arg.items for arg in values]), exact=exact)


def joined(args: Arguments) -> Extent:
    """Return the extent of all arguments together. It is NULL if one of them is NULL."""
    exact = balanced("+", [arg.exact for arg in args]) if any(arg.has_exact for arg in args) else ""
    return Extent(total(arg.content for arg in args), total(arg.items for arg in args), True, exact)


def listed(args: Arguments) -> Extent:
    """Return the extent of a collection whose items are arguments, or arrays of them."""
    items = total(arg.items.over_null() for arg in _values(args)) + Size(len(args))
    return Extent(total(arg.num_bytes for arg in args), items, True)


def joined_with(args: Arguments) -> Extent:
    separator, *parts = args
    items = total(part.items.over_null() for part in parts)
    return Extent(total(part.content.over_null() for part in parts) + separator.content.times(items), grows=True)


def _times(factor: int) -> SizeRule:
    def rule(args: Arguments) -> Extent:
        inner = largest_argument(args)
        exact = f"{factor} * ({inner.exact})" if inner.exact else ""
        return Extent(inner.content.times(Size(factor)), grows=True, exact=exact)

    return rule


def _pieces(args: Arguments) -> Extent:
    """Parts of a text: at most one for each of its bytes."""
    text, content = args[0], args[0].content
    delimiter = string_value(args[1].sql) if len(args) > 1 else None
    exact = ""
    if delimiter and text.is_repeatable and (delimiter in _PLAIN_DELIMITERS or delimiter.isalnum()):
        exact = f"strlen({text.sql}) + {ITEM_BYTES} * {_occurrences(text, args[1])}"
    return Extent(content, content + Size(1), grows=True, exact=exact)


def _occurrences(text: Sized, part: Sized) -> str:
    rest = f"strlen(replace({text.sql}, {part.sql}, ''))"
    return f"((strlen({text.sql}) - {rest}) // greatest(strlen({part.sql}), 1))"


def _array_join(args: Arguments) -> Extent:
    array, *texts = args
    return Extent(array.content + total(text.content for text in texts).times(array.items), grows=True)


def _repeat(args: Arguments) -> Extent:
    return Extent(args[0].content.times(args[1].count), grows=True)


def _space(args: Arguments) -> Extent:
    return Extent(args[0].count, grows=True)


def _pad(args: Arguments) -> Extent:
    """The given number of characters, of at most four bytes each."""
    padding = string_value(args[2].sql) if len(args) > 2 else " "
    exact = ""
    if padding is not None and padding.isascii() and args[0].is_repeatable:
        exact = f"strlen({args[0].sql}) + {args[1].count.sql}"
    return Extent(args[1].count.times(Size(4)), grows=True, exact=exact)


def _replace(args: Arguments) -> Extent:
    text = args[0]
    if len(args) == 2:
        return Extent(text.content)
    found, put = string_value(args[1].sql), string_value(args[2].sql)
    if put == "" or (found and put is not None and len(put.encode()) <= len(found.encode())):
        return Extent(text.content)
    exact = ""
    if all(arg.is_repeatable for arg in args):
        added = f"greatest(strlen({args[2].sql}) - strlen({args[1].sql}), 0)"
        exact = f"strlen({text.sql}) + CAST({_occurrences(text, args[1])} AS DOUBLE) * {added}"
    return Extent(text.content.times(args[2].content + Size(1)), grows=True, exact=exact)


def _regexp_replace(args: Arguments) -> Extent:
    """A replacement at each match in the text. Each of its group references has at most the size of the match."""
    text, pattern, put = args[:3]
    exact = ""
    if all(arg.is_repeatable for arg in args):
        references = f"(strlen({put.sql}) - strlen(replace({put.sql}, '$', '')))"
        matches = lower_regexp_extract_all([text.sql, pattern.sql, "0"], (), ArrayType(STRING))
        found = f"{references} * strlen(array_to_string({matches}, '')) + len({matches}) * strlen({put.sql})"
        exact = f"strlen({text.sql}) + {found}"
    places = text.content + Size(1)
    return Extent(places.times(put.content + put.content + Size(1)), grows=True, exact=exact)


def _translate(args: Arguments) -> Extent:
    put = string_value(args[2].sql)
    is_ascii = put is not None and put.isascii()
    return Extent(args[0].content if is_ascii else args[0].content.times(Size(4)), grows=not is_ascii)


def _array_repeat(args: Arguments) -> Extent:
    return Extent(args[0].num_bytes.times(args[1].count), args[1].count, grows=True)


def _array_insert(args: Arguments) -> Extent:
    """NULLs fill the array up to the position of the new item."""
    place = integer_value(args[1].sql)
    reached = Size(0, (f"abs(CAST({args[1].sql} AS BIGINT))",)) if place is None else Size(abs(place))
    return Extent(args[0].content + args[2].num_bytes, args[0].items + reached + Size(1), grows=True)


def _sequence(args: Arguments) -> Extent:
    first, last, *steps = args
    if first.dtype in (DATE, TIMESTAMP):
        unit = "day" if not steps else "month" if steps[0].dtype == INTERVAL_YEAR_MONTH else "microsecond"
        distance = f"datediff('{unit}', CAST({first.sql} AS TIMESTAMP), CAST({last.sql} AS TIMESTAMP))"
    else:
        distance = f"(CAST({last.sql} AS DOUBLE) - {first.sql})"
    step = f"greatest(abs(CAST({steps[0].sql} AS BIGINT)), 1)" if steps else "1"
    bounds = [integer_value(arg.sql) for arg in args]
    match bounds:
        case [int(begin), int(end), *rest] if None not in rest and first.dtype in INTEGER_TYPES:
            items = Size(abs(end - begin) // max(abs(rest[0] or 1) if rest else 1, 1) + 1)
        case _:
            items = Size(1, (f"abs({distance}) / {step}",))
    return Extent(Size(), items, grows=True)


def _each_item(args: Arguments) -> Extent:
    """The results of a function over each item of the preceding arrays or maps."""
    *sources, function = args
    values = _values(sources)
    items = greatest([source.items for source in values])
    made = function.content.outside_functions()
    return Extent(total(source.content for source in values) + made.times(items), items, grows=True)


def _flattened(args: Arguments) -> Extent:
    """The content of the outer array includes the items of the inner arrays."""
    return Extent(args[0].content, args[0].items + args[0].content)


def _pattern(args: Arguments) -> Extent:
    """Each letter of a date pattern yields at most the name of a quarter, or a year."""
    return Extent(total(arg.content for arg in args).times(Size(ITEM_BYTES)), grows=True)


SIZE_RULES: dict[str, SizeRule] = {
    # Concatenated texts
    "concat": joined,
    "concat_ws": joined_with,
    "overlay": joined,
    "array_join": _array_join,
    # Texts of a given length, and replacements
    "repeat": _repeat,
    "space": _space,
    "lpad": _pad,
    "rpad": _pad,
    "replace": _replace,
    "regexp_replace": _regexp_replace,
    "translate": _translate,
    "date_format": _pattern,
    "from_unixtime": _pattern,
    # Texts in another encoding
    "base64": _times(2),
    "decode": _times(3),
    "encode": _times(4),
    "hex": _times(2),
    "mask": _times(4),
    "mask_first_n": _times(4),
    "mask_last_n": _times(4),
    "mask_show_first_n": _times(4),
    "mask_show_last_n": _times(4),
    "quote": _times(2),
    "to_json": _times(6),
    "url_encode": _times(3),
    # Parts of a text
    "json_object_keys": _pieces,
    "regexp_extract_all": _pieces,
    "sentences": _pieces,
    "split": _pieces,
    "str_to_map": _pieces,
    "xpath": _pieces,
    # Arrays, maps and structs built from several values
    "array": listed,
    "array_append": listed,
    "array_prepend": listed,
    "array_union": joined,
    "flatten": _flattened,
    "arrays_zip": listed,
    "map": listed,
    "map_concat": joined,
    "map_from_arrays": joined,
    "named_struct": listed,
    "struct": listed,
    # Arrays of a given length
    "array_insert": _array_insert,
    "array_repeat": _array_repeat,
    "sequence": _sequence,
    # Results of a function over items
    "map_zip_with": _each_item,
    "transform": _each_item,
    "transform_keys": _each_item,
    "transform_values": _each_item,
    "zip_with": _each_item,
}
"""Name of a row -> the extent of its result."""
GUESSED = frozenset(
    (
        *("replace", "regexp_replace", "translate", "base64", "decode", "encode", "quote", "to_json", "url_encode"),
        *("json_object_keys", "regexp_extract_all", "sentences", "split", "str_to_map", "xpath"),
        *("mask", "mask_first_n", "mask_last_n", "mask_show_first_n", "mask_show_last_n"),
    )
)
"""Functions whose bound may be several times the true size: deeply nested calls of these are measured instead."""
COVERING: tuple[SizeRule, ...] = (joined, joined_with, listed)
"""Rules whose check covers the checks of the arguments."""
ITEM_OF = frozenset(("aggregate", "array_max", "array_min", "element_at", "field", "get", "try_element_at"))
"""Functions whose result has the size of one item, or a size that only the call reveals."""
CARRIERS: dict[str, int] = {
    **dict.fromkeys(
        ("array_join", "base64", "concat", "hex", "overlay", "quote", "regexp_extract_all", "regexp_replace"), 0
    ),
    **dict.fromkeys(("replace", "sentences", "sequence", "space", "split", "transform", "translate", "zip_with"), 0),
    **dict.fromkeys(("array_insert", "array_repeat", "concat_ws", "lpad", "repeat", "rpad"), 1),
}
"""Name of a row -> the argument that carries the check. For other functions, which add little to their arguments, the
check is around the call. No lowering expects a constant in these arguments.
"""
MOST_STEPS = 100_000_000
"""Steps that one call may take in DuckDB, which cannot be cancelled: about a second of work."""


def _sorted_by_function(args: Arguments) -> Size:
    """Each item is compared with the items before it."""
    return args[0].items.times(args[0].items) if len(args) > 1 else Size()


def _hashed(args: Arguments) -> Size:
    """Items of arrays are hashed in sequence, each with the previous hash."""
    return total(arg.items for arg in args if isinstance(arg.dtype, (ArrayType, MapType))).times(Size(100))


def _looked_up(args: Arguments) -> Size:
    """Each key is looked up among the keys of the other map, and its values in both maps."""
    keys = args[0].items + args[1].items
    return keys.times(keys)


def _similarity(args: Arguments) -> Size:
    """Each character is looked up in the other text, 64 characters at a time."""
    pairs = args[0].content.times(args[1].content)
    return Size(pairs.fixed // 64, tuple(f"{term} / 64" for term in pairs.terms))


WORK_RULES: dict[str, Callable[[Arguments], Size]] = {
    "array_sort": _sorted_by_function,
    "hash": _hashed,
    "jaro_winkler_similarity": _similarity,
    "map_zip_with": _looked_up,
}
"""Name of a row -> the steps of a call, for functions that take more than a few steps per byte."""
