"""Arrays: construction, size, search, slices and joins."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import string_value
from sharkpy.udf.signatures import (
    Types,
    all_common,
    array_and_element,
    converts,
    element_type,
    kind_of,
    returns,
    same_as,
)
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import (
    BOOLEAN,
    INT,
    NULL,
    STRING,
    ArrayType,
    DataType,
    MapType,
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
    ScalarFunction(
        "array",
        lambda types: all_common()(types) if types else (),
        _array_type,
        _array,
        NullPolicy.CUSTOM,
        usage="array(x, …)",
        doc="array of its arguments",
        example="array(1, 2, 3)",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "size",
        _size_arguments,
        returns(INT),
        _size,
        NullPolicy.CUSTOM,
        usage="size(array), size(map)",
        doc="number of elements; -1 for NULL",
        example="size(array(1, 2))",
        answer="2",
        aliases=("cardinality",),
    ),
    ScalarFunction(
        "array_size",
        _one_array,
        returns(INT),
        "CAST(len({0}) AS INTEGER)",
        usage="array_size(array)",
        doc="number of elements; NULL for NULL",
        example="array_size(array(1, 2))",
        answer="2",
    ),
    ScalarFunction(
        "array_contains",
        array_and_element,
        returns(BOOLEAN),
        "CASE WHEN {0} IS NULL THEN false ELSE coalesce(list_contains({0}, {1}), false) END",
        NullPolicy.CUSTOM,
        usage="array_contains(array, x)",
        doc="whether an element is equal",
        example="array_contains(array(1, 2), 2)",
        answer="true",
    ),
    ScalarFunction(
        "array_position",
        array_and_element,
        returns(INT),
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN CAST(coalesce(list_position({0}, {1}), 0) AS INTEGER) END",
        NullPolicy.CUSTOM,
        usage="array_position(array, x)",
        doc="position from 1; 0 if it is absent",
        example="array_position(array(3, 2), 2)",
        answer="2",
    ),
    ScalarFunction(
        "array_remove",
        array_and_element,
        same_as(0),
        "CASE WHEN {1} IS NOT NULL THEN list_filter({0}, lambda element: element IS DISTINCT FROM {1}) END",
        usage="array_remove(array, x)",
        doc="without elements that are equal",
        example="array_remove(array(1, 2), 2)",
        answer="[1]",
    ),
    ScalarFunction(
        "array_append",
        array_and_element,
        same_as(0),
        "CASE WHEN {0} IS NOT NULL THEN list_append({0}, {1}) END",
        NullPolicy.CUSTOM,
        usage="array_append(array, x)",
        doc="with an element more",
        example="array_append(array(1), 2)",
        answer="[1,2]",
    ),
    ScalarFunction(
        "array_join",
        kind_of(ArrayType, then=(STRING, STRING), optional=1),
        returns(STRING),
        _array_join,
        usage="array_join(array, delimiter[, text for NULL])",
        doc="elements as one text",
        example="array_join(array('a', 'b'), ',')",
        answer="a,b",
    ),
    ScalarFunction(
        "array_repeat",
        lambda types: (types[0], INT) if len(types) == 2 and converts(types[1], INT) else None,
        lambda types: ArrayType(types[0]),
        "list_transform(generate_series(1, {1}), lambda unused: {0})",
        NullPolicy.CUSTOM,
        usage="array_repeat(x, n)",
        doc="an array of the element, n times",
        example="array_repeat('a', 2)",
        answer='["a","a"]',
    ),
    ScalarFunction(
        "slice",
        kind_of(ArrayType, then=(INT, INT)),
        same_as(0),
        _slice,
        usage="slice(array, start, length)",
        doc="the elements from a position on, as many as length says",
        example="slice(array(1, 2, 3), 2, 2)",
        answer="[2,3]",
    ),
    ScalarFunction(
        "array_reverse",
        kind_of(ArrayType),
        same_as(0),
        "list_reverse({0})",
        usage="array_reverse(array)",
        doc="elements backwards",
        example="array_reverse(array(1, 2))",
        answer="[2,1]",
    ),
    ScalarFunction(
        "flatten",
        _nested_array,
        _flatten_type,
        "CASE WHEN len({0}) = list_count({0}) THEN flatten({0}) END",
        NullPolicy.CUSTOM,
        usage="flatten(array)",
        doc="one array of the arrays' elements; NULL if one of them is NULL",
        example="flatten(array(array(1), array(2)))",
        answer="[1,2]",
    ),
)
