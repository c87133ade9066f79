"""JSON in strings: from_json and schema_of_json, to_json, get_json_object.

from_json reads a text as a value of a type that is given as text. DuckDB parses the text once, to the type's shape with
JSON at its leaves. Each leaf is then read by its own type. to_json builds a DuckDB expression for the value's type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sharkpy.base.errors import ParseError, SharkError, TypeMismatchError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.duckdb_sql import duckdb_type, quote_identifier, quote_string, string_value
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.java_datetime import has_zone
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, kind_of, takes
from sharkpy.values.type_parser import parse_columns, parse_type
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_TYPES,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    is_string,
)

_PATTERNS = {DATE: "dateformat", TIMESTAMP: "timestampformat"}
"""The option with the pattern for texts of a type."""


SESSION_ZONE = "session zone"
"""The option that the binder adds for a session zone other than UTC: the zone of the clock that TIMESTAMPs show."""


def _parse_schema(text: str) -> DataType:
    """Parse a schema text as a type, or as columns of a struct. Names of fields keep their case."""
    try:
        return parse_type(text, keep_case=True)
    except SharkError:
        columns = parse_columns(text, keep_case=True)
        return StructType(tuple(name for name, _ in columns), tuple(dtype for _, dtype in columns))


def _from_json_type(_types: Types, values: Sequence[object]) -> DataType:
    schema = values[1]
    if not isinstance(schema, str):
        raise TypeMismatchError("from_json takes its schema as a constant text", hint="from_json(x, 'a INT, b STRING')")
    try:
        dtype = _parse_schema(schema)
    except ParseError as error:
        raise TypeMismatchError(f'from_json: "{schema}" is not a schema: {error.message}') from None
    if not isinstance(dtype, (StructType, ArrayType, MapType)):
        raise TypeMismatchError(f"from_json gives a struct, an array or a map, not {dtype}")
    return _in_lower_case(dtype)


def _in_lower_case(dtype: DataType) -> DataType:
    match dtype:
        case StructType(names, types):
            return StructType(tuple(map(str.lower, names)), tuple(map(_in_lower_case, types)))
        case ArrayType(element):
            return ArrayType(_in_lower_case(element))
        case MapType(key, value):
            return MapType(key, _in_lower_case(value))
    return dtype


def _json_shape(dtype: DataType) -> str:
    """Return DuckDB's type of a value's JSON, with JSON at the leaves. Decimals are parsed at once, since rewritten
    JSON has the digits of DOUBLE.
    """
    match dtype:
        case StructType(names, types):
            fields = zip(names, types, strict=True)
            return f"STRUCT({', '.join(f'{quote_identifier(name)} {_json_shape(field)}' for name, field in fields)})"
        case ArrayType(element):
            return f"{_json_shape(element)}[]"
        case MapType(_, value):
            return f"MAP(VARCHAR, {_json_shape(value)})"
    return duckdb_type(dtype) if isinstance(dtype, DecimalType) else "JSON"


def _from_json(args: Sequence[str], _types: Types, result: DataType) -> str:
    text, dtype = args[0], _parse_schema(string_value(args[1]) or "")
    if isinstance(dtype, ArrayType) and isinstance(dtype.element, StructType):
        text = (
            f"CASE WHEN json_valid({text}) AND json_type({text}) = 'OBJECT' THEN '[' || {text} || ']' ELSE {text} END"
        )
    tree = (
        f"CASE WHEN json_valid({text}) THEN json_transform({text}, {quote_string(json.dumps(_json_shape(dtype)))}) END"
    )
    options = json.loads(string_value(args[2]) or "{}") if len(args) > 2 else {}
    if not isinstance(dtype, StructType):
        return f"CAST({_read_value(tree, dtype, options, 0)} AS {duckdb_type(result)})"
    # A text that is not such an object is a struct of NULLs; a text of spaces is NULL.
    value = f"list_transform([{tree}], lambda tree: {_read_struct('tree', dtype, options, 0)})[1]"
    return f"CASE WHEN trim({args[0]}) <> '' THEN CAST({value} AS {duckdb_type(result)}) END"


def _read_value(sql: str, dtype: DataType, options: Mapping[str, str], depth: int) -> str:
    item = f"json{depth}"
    match dtype:
        case StructType():
            return f"CASE WHEN {sql} IS NOT NULL THEN {_read_struct(sql, dtype, options, depth)} END"
        case ArrayType(element):
            return f"list_transform({sql}, lambda {item}: {_read_value(item, element, options, depth + 1)})"
        case MapType(key, value):
            name = lower_cast(f"{item}.key", STRING, key)
            pair = f"struct_pack(key := {name}, value := {_read_value(f'{item}.value', value, options, depth + 1)})"
            return f"map_from_entries(list_transform(map_entries({sql}), lambda {item}: {pair}))"
    return _read_leaf(sql, dtype, options)


def _read_struct(sql: str, dtype: StructType, options: Mapping[str, str], depth: int) -> str:
    fields = (
        f"{quote_identifier(name.lower())} := "
        + _read_value(f"struct_extract({sql}, {quote_string(name)})", field, options, depth)
        for name, field in zip(dtype.names, dtype.types, strict=True)
    )
    return f"struct_pack({', '.join(fields)})"


def _read_leaf(sql: str, dtype: DataType, options: Mapping[str, str]) -> str:
    """Return SQL of a leaf in its type, or NULL if the JSON is of another kind."""
    if isinstance(dtype, DecimalType):
        return sql
    text, kind = f"json_extract_string({sql}, '$')", f"json_type({sql})"
    if dtype in INTEGER_TYPES:
        return f"CASE WHEN {kind} IN ('BIGINT', 'UBIGINT') THEN TRY_CAST({text} AS {duckdb_type(dtype)}) END"
    if dtype in (FLOAT, DOUBLE):
        numbers = "'BIGINT', 'UBIGINT', 'DOUBLE'"
        names = f"{kind} = 'VARCHAR' AND {text} IN ('NaN', 'Infinity', '-Infinity', '+Infinity', 'INF', '-INF', '+INF')"
        return f"CASE WHEN {kind} IN ({numbers}) OR ({names}) THEN TRY_CAST({text} AS {duckdb_type(dtype)}) END"
    if dtype == BOOLEAN:
        return f"CASE WHEN {kind} = 'BOOLEAN' THEN {text} = 'true' END"
    if dtype == BINARY:
        return f"CASE WHEN {kind} = 'VARCHAR' THEN shark_unbase64({text}) END"
    if dtype in _PATTERNS:
        return f"CASE WHEN {kind} = 'VARCHAR' THEN {_read_time(text, dtype, options)} END"
    return lower_cast(text, STRING, dtype)


def _read_time(text: str, dtype: DataType, options: Mapping[str, str]) -> str:
    from sharkpy.udf.date_functions import parse_timestamp, shifted_clock, zoned_timestamp

    zone = options.get(SESSION_ZONE)
    if pattern := options.get(_PATTERNS[dtype]):
        if zone is not None and has_zone(pattern):
            moment = f"shark_parse_moment({text}, {quote_string(pattern)}, {quote_string(zone)})"
            return f"CAST({shifted_clock(moment, quote_string(zone), to_utc=False)} AS {duckdb_type(dtype)})"
        return f"CAST({parse_timestamp(text, quote_string(pattern))} AS {duckdb_type(dtype)})"
    return lower_cast(text, STRING, DATE) if dtype == DATE else zoned_timestamp(text, zone)


def schema_of_json(text: str) -> str:
    """Return the type with which from_json reads texts like this one. The type of an array's items fits all of them."""
    check_json_nesting(text)
    return _schema_text(_type_of_json(json.loads(text)))


def _type_of_json(value: Any) -> DataType:
    if isinstance(value, dict):
        return StructType(tuple(value), tuple(map(_type_of_json, value.values())))
    if isinstance(value, list):
        return ArrayType(_type_of_all([_type_of_json(item) for item in value if item is not None]))
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return BIGINT if -(2**63) <= value < 2**63 else DOUBLE
    return DOUBLE if isinstance(value, float) else STRING


def _type_of_all(types: Sequence[DataType]) -> DataType:
    found = types[0] if types else STRING
    for dtype in types[1:]:
        found = _type_of_both(found, dtype)
    return found


def _type_of_both(left: DataType, right: DataType) -> DataType:
    if left == right:
        return left
    match left, right:
        case StructType(), StructType():
            fields = dict(zip(left.names, left.types, strict=True))
            for name, dtype in zip(right.names, right.types, strict=True):
                fields[name] = _type_of_both(fields[name], dtype) if name in fields else dtype
            return StructType(tuple(fields), tuple(fields.values()))
        case ArrayType(one), ArrayType(other):
            return ArrayType(_type_of_both(one, other))
    return DOUBLE if {left, right} == {BIGINT, DOUBLE} else STRING


def _schema_text(dtype: DataType) -> str:
    match dtype:
        case StructType(names, types):
            fields = (f"{_quoted_name(name)}: {_schema_text(field)}" for name, field in zip(names, types, strict=True))
            return f"STRUCT<{', '.join(fields)}>"
        case ArrayType(element):
            return f"ARRAY<{_schema_text(element)}>"
    return str(dtype).upper()


def _quoted_name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else f"`{name}`"


FROM_JSON = Page(
    "from_json(text, schema[, options])",
    "the struct, array or map of a JSON text; what does not fit its type is NULL",
    'from_json(\'{"a": 1}\', \'a INT, b STRING\') -> {"a":1,"b":null}',
).scalar(takes(STRING, STRING, STRING, optional=1), NULL, _from_json, NullPolicy.CUSTOM, literal_result=_from_json_type)
"""Its options are passed as a JSON text."""


def _json_string(sql: str) -> str:
    return f"CAST(to_json({sql}) AS VARCHAR)"


def _json_text(sql: str, dtype: DataType, depth: int) -> str:
    """Return the JSON text of a value, NULL for NULL. NULL fields of structs are left out."""
    item = f"json{depth}"
    match dtype:
        case ArrayType(element):
            items = f"list_transform({sql}, lambda {item}: coalesce({_json_text(item, element, depth + 1)}, 'null'))"
            return f"('[' || array_to_string({items}, ',') || ']')"
        case MapType(key, value):
            name = _json_string(lower_cast(f"{item}.key", key, STRING))
            entry = f"{name} || ':' || coalesce({_json_text(f'{item}.value', value, depth + 1)}, 'null')"
            return f"('{{' || array_to_string(list_transform(map_entries({sql}), lambda {item}: {entry}), ',') || '}}')"
        case StructType(names, types):
            fields = [_json_field(sql, name, field, depth) for name, field in zip(names, types, strict=True)]
            return f"CASE WHEN {sql} IS NOT NULL THEN '{{' || concat_ws(',', {', '.join(fields)}) || '}}' END"
    if is_string(dtype):
        return _json_string(sql)
    if dtype == BINARY:
        return _json_string(f"to_base64({sql})")
    if isinstance(dtype, DecimalType):
        return lower_cast(sql, dtype, STRING)
    if dtype == BOOLEAN or dtype in INTEGER_TYPES:
        return f"CAST({sql} AS VARCHAR)"
    if dtype == TIMESTAMP:
        return _json_string(f"strftime({sql}, '%Y-%m-%dT%H:%M:%S.%g')")
    text = lower_cast(sql, dtype, STRING)
    if dtype in (FLOAT, DOUBLE):
        return f"CASE WHEN isfinite({sql}) THEN {text} ELSE {_json_string(text)} END"
    return _json_string(text)


def _json_field(sql: str, name: str, dtype: DataType, depth: int) -> str:
    value = _json_text(f"struct_extract({sql}, {quote_string(name)})", dtype, depth)
    return quote_string(f'"{name}":') + f" || {value}"


def _to_json(args: Sequence[str], types: Types, _result: DataType) -> str:
    return _json_text(args[0], types[0], 0)


TO_JSON_FUNCTIONS = (
    Page(
        "to_json(x)",
        "a struct, map or array as JSON; fields of structs that are NULL are left out",
        "to_json(named_struct('a', 1, 'b', 'x')) -> {\"a\":1,\"b\":\"x\"}",
    ).scalar(kind_of(StructType, MapType, ArrayType), STRING, _to_json, NullPolicy.CUSTOM),
)


_SIMPLE_PATH = re.compile(r"\$(?:\.[A-Za-z_]\w*|(?<!\])\[\d{1,9}\])+", re.ASCII)


def lower_get_json_object(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Lower get_json_object to DuckDB's JSON reader for paths of names and indexes.

    A kernel handles wildcards, texts that only Jackson accepts as JSON, and names that DuckDB did not find, since Hive
    steps into lists there.
    """
    path = string_value(args[1])
    kernel = f"shark_get_json_object({args[0]}, {args[1]})"
    if path is None or not _SIMPLE_PATH.fullmatch(path):
        return kernel
    found = f"json_extract_string({args[0]}, {quote_string(path)})"
    if path.count(".") > 1 or "]." in path:
        found = f"coalesce({found}, {kernel})"
    return f"CASE WHEN json_valid({args[0]}) THEN {found} ELSE {kernel} END"


JSON_FUNCTIONS = (
    FROM_JSON,
    Page(
        "get_json_object(json, path)",
        "the part of a JSON text at a path such as $.a[0].b; [*] takes all",
        "get_json_object('{\"a\": [1, 2]}', '$.a[1]') -> 2",
    ).scalar((STRING, STRING), STRING, lower_get_json_object, NullPolicy.CUSTOM),
)
