"""Structs of values, with or without names."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import BindError, InternalError
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.signatures import (
    Types,
    anything,
    converts,
)
from sharkpy.udf.types_duckdb import quote_identifier
from sharkpy.values.types import (
    STRING,
    DataType,
    StructType,
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
    ScalarFunction(
        "struct",
        anything(1),
        _struct_type,
        _struct,
        NullPolicy.CUSTOM,
        usage="struct(x [AS name], …)",
        doc="struct with fields of these names, else col1, col2 …",
        example="struct(1, 'a')",
        answer='{"col1":1,"col2":"a"}',
    ),
    ScalarFunction(
        "named_struct",
        _named_struct_arguments,
        _named_struct_type,
        _named_struct,
        NullPolicy.CUSTOM,
        usage="named_struct(name, x, …)",
        doc="struct of names and values",
        example="named_struct('a', 1, 'b', 'x')",
        answer='{"a":1,"b":"x"}',
        literal_result=_named_struct_literal_type,
    ),
)
