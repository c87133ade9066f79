"""Structs of values, elements of arrays and maps, and fields of structs."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import BindError, InternalError
from sharkpy.udf.arithmetic_operators import both_decimal
from sharkpy.udf.duckdb_sql import integer_value, quote_identifier
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import (
    Types,
    anything,
    converts,
)
from sharkpy.values.types import (
    INT,
    INTEGER_TYPES,
    NULL,
    STRING,
    ArrayType,
    DataType,
    MapType,
    StructType,
    is_nested,
    is_string,
)


def _struct_type(types: Types) -> DataType:
    return StructType(tuple(f"col{index}" for index in range(1, len(types) + 1)), tuple(types))


def _struct(args: Sequence[str], _types: Types, result: DataType) -> str:
    if not isinstance(result, StructType):
        raise InternalError(f"struct of type {result}")
    fields = (f"{quote_identifier(name)} := {arg}" for name, arg in zip(result.names, args, strict=True))
    return f"struct_pack({', '.join(fields)})"


def _named_struct_arguments(types: Types) -> Types | None:
    if not types or len(types) % 2 or not all(converts(dtype, STRING) for dtype in types[::2]):
        return None
    return types


def _named_struct_type(_types: Types) -> DataType:
    raise InternalError("the type of named_struct needs its names: literal_result")


def _named_struct_literal_type(types: Types, values: Sequence[object]) -> DataType:
    names = values[::2]
    if not all(isinstance(name, str) for name in names):
        raise BindError("named_struct: its names must be constant strings")
    if not all(names):
        raise BindError("named_struct: a field has no name", hint="its odd arguments are names, which are not empty")
    lowered = tuple(str(name).lower() for name in names)
    if twice := next((name for place, name in enumerate(lowered) if name in lowered[:place]), None):
        raise BindError(f'named_struct: two fields are called "{twice}"; case does not count', sqlstate="42701")
    return StructType(lowered, tuple(types[1::2]))


def _named_struct(args: Sequence[str], types: Types, result: DataType) -> str:
    return _struct(args[1::2], types[1::2], result)


STRUCT_FUNCTIONS = (
    Page(
        "struct(x [AS name], …)",
        "struct with fields of these names, else col1, col2 …",
        'struct(1, \'a\') -> {"col1":1,"col2":"a"}',
    ).scalar(anything(1), _struct_type, _struct, NullPolicy.CUSTOM),
    Page(
        "named_struct(name, x, …)",
        "struct of names and values",
        "named_struct('a', 1, 'b', 'x') -> {\"a\":1,\"b\":\"x\"}",
    ).scalar(
        _named_struct_arguments,
        _named_struct_type,
        _named_struct,
        NullPolicy.CUSTOM,
        literal_result=_named_struct_literal_type,
    ),
)


def _element_arguments(types: Types) -> Types | None:
    match types:
        case [ArrayType() as array, index] if index in INTEGER_TYPES or index == NULL:
            return (array, index if index in INTEGER_TYPES else INT)
        case [MapType(key, _) as mapping, given] if converts(given, key):
            return (mapping, key)
    return None


def _element_type(types: Types) -> DataType:
    match types[0]:
        case ArrayType(element):
            return element
        case MapType(_, value):
            return value
    raise InternalError(f"element_at of {types[0]}")


def _element_at(args: Sequence[str], types: Types, _result: DataType) -> str:
    if isinstance(types[0], MapType):
        return f"map_extract_value({args[0]}, {args[1]})"
    position = integer_value(args[1])
    if position is not None:
        return f"{args[0]}[{position + 1 if position >= 0 else 0}]"
    return f"{args[0]}[CASE WHEN {args[1]} >= 0 THEN CAST({args[1]} AS BIGINT) + 1 END]"


def _field_arguments(types: Types) -> Types | None:
    """A struct and a name, or Hive's field(value, item, …), which returns a position."""
    if types and isinstance(types[0], StructType):
        return types if len(types) == 2 and is_string(types[1]) else None
    return types if len(types) >= 2 and not any(map(is_nested, types)) else None


def _field(args: Sequence[str], types: Types, _result: DataType) -> str:
    if isinstance(types[0], StructType):
        return f"struct_extract({args[0]}, {args[1]})"
    if isinstance(types[0], ArrayType):
        return f"list_transform({args[0]}, lambda element: struct_extract(element, {args[1]}))"
    branches = " ".join(
        f"WHEN {args[0]} = {arg} THEN {index}"
        for index, (arg, dtype) in enumerate(zip(args[1:], types[1:], strict=True), 1)
        if dtype == types[0] or (is_string(dtype) and is_string(types[0])) or both_decimal(dtype, types[0])
    )
    return f"CASE {branches} ELSE 0 END" if branches else "0"


def _field_type(_types: Types) -> DataType:
    raise InternalError("the type of a field needs its name: literal_result")


def _field_literal_type(types: Types, values: Sequence[object]) -> DataType:
    struct = types[0]
    if not isinstance(struct, StructType):
        return INT
    if str(values[1]).lower() in struct.names:
        return struct.types[struct.names.index(str(values[1]).lower())]
    raise InternalError(f"no field {values[1]!r} in {struct}")


ACCESS = (
    Page(
        "element_at(array, position), element_at(map, key), array[index], map[key]",
        "an element by its position from 1, from the end if it is negative, or by its index from "
        "0, or the value of a key; NULL if there is none",
        "element_at(array(1, 2), 1) -> 1",
    ).scalar(_element_arguments, _element_type, _element_at, NullPolicy.CUSTOM, aliases=("index",)),
    Page(
        "field(x, item, …)",
        "struct.name; or the position of a value among the following ones, 0 if it is absent",
        "field('b', 'a', 'b') -> 2",
    ).scalar(_field_arguments, _field_type, _field, NullPolicy.CUSTOM, literal_result=_field_literal_type),
)
