"""Arrays in order, and their extremes."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import BindError, did_you_mean
from sharkpy.udf.function import Lowering, ScalarFunction
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.ordering import flagged_keys, list_extreme, sorted_list
from sharkpy.udf.signatures import (
    Types,
    element_type,
    kind_of,
    same_as,
)
from sharkpy.values.types import (
    BOOLEAN,
    ArrayType,
    DataType,
    StructType,
    is_string,
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
    ScalarFunction(
        "sort_array",
        kind_of(ArrayType, then=(BOOLEAN,), optional=1),
        same_as(0),
        _sort_array,
        usage="sort_array(array[, ascending])",
        doc="elements in order; NULL comes first in ascending order",
        example="sort_array(array(3, 1, 2))",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "sort_array_by",
        _sort_array_by_arguments,
        same_as(0),
        _sort_array_by,
        usage="sort_array_by(array of structs, field, …[, 'ASC' | 'DESC'])",
        doc="structs in the order of fields; 'ASC' or 'DESC' may follow them",
        example="sort_array_by(array(named_struct('a', 2), named_struct('a', 1)), 'a')",
        answer='[{"a":1},{"a":2}]',
        literal_result=_sort_array_by_type,
    ),
    ScalarFunction(
        "array_max",
        kind_of(ArrayType),
        lambda t: element_type(t[0]),
        _list_extreme("max"),
        usage="array_max(array)",
        doc="greatest element",
        example="array_max(array(1, 3))",
        answer="3",
    ),
    ScalarFunction(
        "array_min",
        kind_of(ArrayType),
        lambda t: element_type(t[0]),
        _list_extreme("min"),
        usage="array_min(array)",
        doc="least element",
        example="array_min(array(1, 3))",
        answer="1",
    ),
)
