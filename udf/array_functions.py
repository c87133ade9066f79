"""Arrays: construction, size, search, slices and joins; their order and extremes; arrays as sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.errors import BindError, did_you_mean
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.duckdb_sql import duckdb_type, quote_string, string_value
from sharkpy.udf.function import Lowering, NullPolicy, SqlArguments
from sharkpy.udf.ordering import flagged_keys, list_extreme, sorted_list
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import (
    Types,
    all_common,
    array_and_element,
    converts,
    element_type,
    kind_of,
    same_as,
)
from sharkpy.values.types import (
    BOOLEAN,
    INT,
    NULL,
    STRING,
    ArrayType,
    DataType,
    MapType,
    StructType,
    is_string,
)


def _array(args: Sequence[str], _types: Types, result: DataType) -> str:
    return f"CAST([{', '.join(args)}] AS {duckdb_type(result)})"


def _array_type(types: Types) -> DataType:
    return ArrayType(types[0] if types else NULL)


def _size_arguments(types: Types) -> Types | None:
    return types if len(types) == 1 and (isinstance(types[0], (ArrayType, MapType)) or types[0] == NULL) else None


def _one_array(types: Types) -> Types | None:
    return types if len(types) == 1 and (isinstance(types[0], ArrayType) or types[0] == NULL) else None


def _size(args: Sequence[str], types: Types, _result: DataType) -> str:
    function = "cardinality" if isinstance(types[0], MapType) else "len"
    return f"coalesce(CAST({function}({args[0]}) AS INTEGER), -1)"


def _slice(args: Sequence[str], _types: Types, _result: DataType) -> str:
    start = f"CASE WHEN {args[1]} < 0 THEN len({args[0]}) + {args[1]} + 1 ELSE {args[1]} END"
    return (
        f"CASE WHEN {args[2]} >= 0 AND {args[1]} <> 0 THEN list_slice({args[0]}, {start}, {start} + {args[2]} - 1) END"
    )


def _array_join(args: Sequence[str], types: Types, _result: DataType) -> str:
    texts = lower_cast(args[0], types[0], ArrayType(STRING))
    if len(args) == 3:
        texts = f"list_transform({texts}, lambda joined: coalesce(joined, {args[2]}))"
    else:
        texts = f"list_filter({texts}, lambda joined: joined IS NOT NULL)"
    return joined_items(texts, args[1])


def joined_items(texts: str, delimiter: str) -> str:
    """Return SQL that joins the texts of an array. DuckDB's own function needs a constant delimiter."""
    if string_value(delimiter) is not None:
        return f"array_to_string({texts}, {delimiter})"
    behind = f"list_transform({texts}, lambda item: {delimiter} || item)"
    return f"substr(array_to_string({behind}, ''), length({delimiter}) + 1)"


def _flatten_type(types: Types) -> DataType:
    return element_type(types[0])


def _nested_array(types: Types) -> Types | None:
    return types if len(types) == 1 and isinstance(element_type(types[0]), ArrayType) else None


ARRAY_FUNCTIONS = (
    Page("array(x, …)", "array of its arguments", "array(1, 2, 3) -> [1,2,3]").scalar(
        lambda types: all_common()(types) if types else (), _array_type, _array, NullPolicy.CUSTOM
    ),
    Page("size(array), size(map)", "number of elements; -1 for NULL", "size(array(1, 2)) -> 2").scalar(
        _size_arguments, INT, _size, NullPolicy.CUSTOM, aliases=("cardinality",)
    ),
    Page("array_size(array)", "number of elements; NULL for NULL", "array_size(array(1, 2)) -> 2").scalar(
        _one_array, INT, "CAST(len({0}) AS INTEGER)"
    ),
    Page("array_contains(array, x)", "whether an element is equal", "array_contains(array(1, 2), 2) -> true").scalar(
        array_and_element,
        BOOLEAN,
        "CASE WHEN {0} IS NULL THEN false ELSE coalesce(list_contains({0}, {1}), false) END",
        NullPolicy.CUSTOM,
    ),
    Page(
        "array_position(array, x)", "position from 1; 0 if it is absent", "array_position(array(3, 2), 2) -> 2"
    ).scalar(
        array_and_element,
        INT,
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN CAST(coalesce(list_position({0}, {1}), 0) AS INTEGER) END",
        NullPolicy.CUSTOM,
    ),
    Page("array_remove(array, x)", "without elements that are equal", "array_remove(array(1, 2), 2) -> [1]").scalar(
        array_and_element,
        same_as(0),
        "CASE WHEN {1} IS NOT NULL THEN list_filter({0}, lambda element: element IS DISTINCT FROM {1}) END",
    ),
    Page("array_append(array, x)", "with an element more", "array_append(array(1), 2) -> [1,2]").scalar(
        array_and_element, same_as(0), "CASE WHEN {0} IS NOT NULL THEN list_append({0}, {1}) END", NullPolicy.CUSTOM
    ),
    Page(
        "array_join(array, delimiter[, text for NULL])",
        "elements as one text",
        "array_join(array('a', 'b'), ',') -> a,b",
    ).scalar(kind_of(ArrayType, then=(STRING, STRING), optional=1), STRING, _array_join),
    Page("array_repeat(x, n)", "an array of the element, n times", 'array_repeat(\'a\', 2) -> ["a","a"]').scalar(
        lambda types: (types[0], INT) if len(types) == 2 and converts(types[1], INT) else None,
        lambda types: ArrayType(types[0]),
        "list_transform(generate_series(1, {1}), lambda unused: {0})",
        NullPolicy.CUSTOM,
    ),
    Page(
        "slice(array, start, length)",
        "the elements from a position on, as many as length says",
        "slice(array(1, 2, 3), 2, 2) -> [2,3]",
    ).scalar(kind_of(ArrayType, then=(INT, INT)), same_as(0), _slice),
    Page("array_reverse(array)", "elements backwards", "array_reverse(array(1, 2)) -> [2,1]").scalar(
        kind_of(ArrayType), same_as(0), "list_reverse({0})"
    ),
    Page(
        "flatten(array)",
        "one array of the arrays' elements; NULL if one of them is NULL",
        "flatten(array(array(1), array(2))) -> [1,2]",
    ).scalar(
        _nested_array, _flatten_type, "CASE WHEN len({0}) = list_count({0}) THEN flatten({0}) END", NullPolicy.CUSTOM
    ),
)


def _sort_array(args: Sequence[str], types: Types, _result: DataType) -> str:
    ascending = sorted_list(args[0], element_type(types[0]), ascending=True, nulls_first=True)
    if len(args) == 1:
        return ascending
    descending = sorted_list(args[0], element_type(types[0]), ascending=False, nulls_first=False)
    return f"CASE WHEN {args[1]} THEN {ascending} ELSE {descending} END"


def _list_extreme(function: str) -> Lowering:
    return lambda args, types, _result: list_extreme(function, args[0], element_type(types[0]))


def _sort_array_by_arguments(types: Types) -> Types | None:
    match types:
        case [ArrayType(StructType()), _, *_] if all(is_string(name) for name in types[1:]):
            return types
    return None


def _sort_fields(values: Sequence[object]) -> tuple[list[str], str]:
    """Return the fields and the order that the arguments after the array name."""
    words = [str(value).strip().lower() for value in values]
    order = words.pop() if len(words) > 1 and words[-1] in ("asc", "desc") else "asc"
    return words, order


def _sort_array_by_type(types: Types, values: Sequence[object]) -> DataType:
    if not all(isinstance(value, str) for value in values[1:]):
        raise BindError("sort_array_by: its fields and order must be constant strings")
    struct = element_type(types[0])
    names = struct.names if isinstance(struct, StructType) else ()
    for word in _sort_fields(values[1:])[0]:
        if word not in names:
            raise BindError(f'sort_array_by: no field "{word}" in {struct}', hint=did_you_mean(word, names))
    return types[0]


def _sort_array_by(args: Sequence[str], types: Types, _result: DataType) -> str:
    """Sort with an array of keys and positions."""
    words, order = _sort_fields([string_value(arg) for arg in args[1:]])
    struct = element_type(types[0])
    dtypes = dict(zip(struct.names, struct.types, strict=True)) if isinstance(struct, StructType) else {}
    keys = flagged_keys((f"struct_extract(item, {quote_string(word)})", dtypes[word]) for word in words)
    place = "place" if order == "asc" else "-place"
    packed = f"list_transform({args[0]}, lambda item, place: struct_pack(key := row({keys}), place := {place}))"
    sorted_keys = f"list_sort({packed}, '{order.upper()}', 'NULLS FIRST')"
    return f"list_transform({sorted_keys}, lambda key: {args[0]}[abs(key.place)])"


ARRAY_ORDER_FUNCTIONS = (
    Page(
        "sort_array(array[, ascending])",
        "elements in order; NULL comes first in ascending order",
        "sort_array(array(3, 1, 2)) -> [1,2,3]",
    ).scalar(kind_of(ArrayType, then=(BOOLEAN,), optional=1), same_as(0), _sort_array),
    Page(
        "sort_array_by(array of structs, field, …[, 'ASC' | 'DESC'])",
        "structs in the order of fields; 'ASC' or 'DESC' may follow them",
        "sort_array_by(array(named_struct('a', 2), named_struct('a', 1)), 'a') -> [{\"a\":1},{\"a\":2}]",
    ).scalar(_sort_array_by_arguments, same_as(0), _sort_array_by, literal_result=_sort_array_by_type),
    Page("array_max(array)", "greatest element", "array_max(array(1, 3)) -> 3").scalar(
        kind_of(ArrayType), lambda t: element_type(t[0]), _list_extreme("max")
    ),
    Page("array_min(array)", "least element", "array_min(array(1, 3)) -> 1").scalar(
        kind_of(ArrayType), lambda t: element_type(t[0]), _list_extreme("min")
    ),
)


def _computed_once(macro: str) -> Callable[[SqlArguments, Sequence[DataType], DataType], str]:
    """Lower to a macro that repeats its arguments. Computed arguments become fields of a variable first."""

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        if not any("(" in arg for arg in args):
            return f"{macro}({', '.join(args)})"
        fields = ", ".join(f"a{index} := {arg}" for index, arg in enumerate(args))
        names = ", ".join(f"sets.a{index}" for index in range(len(args)))
        return f"list_transform([struct_pack({fields})], lambda sets: {macro}({names}))[1]"

    return lower


def _array_union(args: Sequence[str], types: Types, result: DataType) -> str:
    return _computed_once("shark_array_distinct")([f"list_concat({', '.join(args)})"], types, result)


def _two_arrays(types: Types) -> Types | None:
    return all_common(2, 2)(types) if all(isinstance(dtype, ArrayType) for dtype in types) else None


ARRAY_SET_FUNCTIONS = (
    Page("array_distinct(array)", "elements once each, in order", "array_distinct(array(1, 2, 1)) -> [1,2]").scalar(
        kind_of(ArrayType), same_as(0), _computed_once("shark_array_distinct")
    ),
    Page(
        "array_union(a, b)", "elements of either, once each", "array_union(array(1, 2), array(2, 3)) -> [1,2,3]"
    ).scalar(_two_arrays, same_as(0), _array_union),
    Page(
        "array_intersect(a, b)", "elements of both, once each", "array_intersect(array(1, 2), array(2, 3)) -> [2]"
    ).scalar(_two_arrays, same_as(0), _computed_once("shark_array_intersect")),
    Page(
        "array_except(a, b)", "elements of the first only, once each", "array_except(array(1, 2), array(2, 3)) -> [1]"
    ).scalar(_two_arrays, same_as(0), _computed_once("shark_array_except")),
    Page(
        "arrays_overlap(a, b)", "whether they share an element", "arrays_overlap(array(1, 2), array(2, 3)) -> true"
    ).scalar(_two_arrays, BOOLEAN, "list_has_any({0}, {1})"),
)
