"""to_json: a value of any type as JSON, by DuckDB expressions built for the type."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string
from sharkpy.udf.signatures import Types, kind_of, returns
from sharkpy.values.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER_TYPES,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    is_string,
)


def _quoted(sql: str) -> str:
    return f"CAST(to_json({sql}) AS VARCHAR)"


def _json(sql: str, dtype: DataType, depth: int) -> str:
    """Return the JSON text of a value, NULL for NULL. NULL fields of structs are left out."""
    item = f"json{depth}"
    match dtype:
        case ArrayType(element):
            items = f"list_transform({sql}, lambda {item}: coalesce({_json(item, element, depth + 1)}, 'null'))"
            return f"('[' || array_to_string({items}, ',') || ']')"
        case MapType(key, value):
            name = _quoted(lower_cast(f"{item}.key", key, STRING))
            entry = f"{name} || ':' || coalesce({_json(f'{item}.value', value, depth + 1)}, 'null')"
            return f"('{{' || array_to_string(list_transform(map_entries({sql}), lambda {item}: {entry}), ',') || '}}')"
        case StructType(names, types):
            fields = [_field(sql, name, field, depth) for name, field in zip(names, types, strict=True)]
            return f"CASE WHEN {sql} IS NOT NULL THEN '{{' || concat_ws(',', {', '.join(fields)}) || '}}' END"
    if is_string(dtype):
        return _quoted(sql)
    if dtype == BINARY:
        return _quoted(f"to_base64({sql})")
    if isinstance(dtype, DecimalType):
        return lower_cast(sql, dtype, STRING)
    if dtype == BOOLEAN or dtype in INTEGER_TYPES:
        return f"CAST({sql} AS VARCHAR)"
    if dtype == TIMESTAMP:
        return _quoted(f"strftime({sql}, '%Y-%m-%dT%H:%M:%S.%g')")
    text = lower_cast(sql, dtype, STRING)
    if dtype in (FLOAT, DOUBLE):
        return f"CASE WHEN isfinite({sql}) THEN {text} ELSE {_quoted(text)} END"
    return _quoted(text)


def _field(sql: str, name: str, dtype: DataType, depth: int) -> str:
    value = _json(f"struct_extract({sql}, {quote_string(name)})", dtype, depth)
    return quote_string(f'"{name}":') + f" || {value}"


def _to_json(args: Sequence[str], types: Types, _result: DataType) -> str:
    return _json(args[0], types[0], 0)


TO_JSON_FUNCTIONS = (
    ScalarFunction(
        "to_json",
        kind_of(StructType, MapType, ArrayType),
        returns(STRING),
        _to_json,
        NullPolicy.CUSTOM,
        usage="to_json(x)",
        doc="a struct, map or array as JSON; fields of structs that are NULL are left out",
        example="to_json(named_struct('a', 1, 'b', 'x'))",
        answer='{"a":1,"b":"x"}',
    ),
)
