"""from_json and schema_of_json: JSON texts as values of a type that is given as text.

DuckDB parses a text once, to the type's shape with JSON at its leaves. Each leaf is then read by its own type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sharkpy.base.errors import ParseError, SharkError, TypeMismatchError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.java_datetime import has_zone
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.udf.types_duckdb import duckdb_type, quote_identifier
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
)

_PATTERNS = {DATE: "dateformat", TIMESTAMP: "timestampformat"}
"""The option with the pattern for texts of a type."""


SESSION_ZONE = "session zone"
"""The option that the binder adds for a session zone other than UTC: the zone of the clock that TIMESTAMPs show."""


def _schema(text: str) -> DataType:
    """Parse a schema text as a type, or as columns of a struct. Names of fields keep their case."""
    try:
        return parse_type(text, keep_case=True)
    except SharkError:
        columns = parse_columns(text, keep_case=True)
        return StructType(tuple(name for name, _ in columns), tuple(dtype for _, dtype in columns))


def _result(_types: Types, values: Sequence[object]) -> DataType:
    schema = values[1]
    if not isinstance(schema, str):
        raise TypeMismatchError("from_json takes its schema as a constant text", hint="from_json(x, 'a INT, b STRING')")
    try:
        dtype = _schema(schema)
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


def _shape(dtype: DataType) -> str:
    """Return DuckDB's type of a value's JSON, with JSON at the leaves. Decimals are parsed at once, since rewritten
    JSON has the digits of DOUBLE.
    """
    match dtype:
        case StructType(names, types):
            fields = zip(names, types, strict=True)
            return f"STRUCT({', '.join(f'{quote_identifier(name)} {_shape(field)}' for name, field in fields)})"
        case ArrayType(element):
            return f"{_shape(element)}[]"
        case MapType(_, value):
            return f"MAP(VARCHAR, {_shape(value)})"
    return duckdb_type(dtype) if isinstance(dtype, DecimalType) else "JSON"


def _from_json(args: Sequence[str], _types: Types, result: DataType) -> str:
    text, dtype = args[0], _schema(string_value(args[1]) or "")
    if isinstance(dtype, ArrayType) and isinstance(dtype.element, StructType):
        text = (
            f"CASE WHEN json_valid({text}) AND json_type({text}) = 'OBJECT' THEN '[' || {text} || ']' ELSE {text} END"
        )
    tree = f"CASE WHEN json_valid({text}) THEN json_transform({text}, {quote_string(json.dumps(_shape(dtype)))}) END"
    options = json.loads(string_value(args[2]) or "{}") if len(args) > 2 else {}
    if not isinstance(dtype, StructType):
        return f"CAST({_value(tree, dtype, options, 0)} AS {duckdb_type(result)})"
    # A text that is not such an object is a struct of NULLs; a text of spaces is NULL.
    value = f"list_transform([{tree}], lambda tree: {_struct('tree', dtype, options, 0)})[1]"
    return f"CASE WHEN trim({args[0]}) <> '' THEN CAST({value} AS {duckdb_type(result)}) END"


def _value(sql: str, dtype: DataType, options: Mapping[str, str], depth: int) -> str:
    item = f"json{depth}"
    match dtype:
        case StructType():
            return f"CASE WHEN {sql} IS NOT NULL THEN {_struct(sql, dtype, options, depth)} END"
        case ArrayType(element):
            return f"list_transform({sql}, lambda {item}: {_value(item, element, options, depth + 1)})"
        case MapType(key, value):
            name = lower_cast(f"{item}.key", STRING, key)
            pair = f"struct_pack(key := {name}, value := {_value(f'{item}.value', value, options, depth + 1)})"
            return f"map_from_entries(list_transform(map_entries({sql}), lambda {item}: {pair}))"
    return _leaf(sql, dtype, options)


def _struct(sql: str, dtype: StructType, options: Mapping[str, str], depth: int) -> str:
    fields = (
        f"{quote_identifier(name.lower())} := "
        + _value(f"struct_extract({sql}, {quote_string(name)})", field, options, depth)
        for name, field in zip(dtype.names, dtype.types, strict=True)
    )
    return f"struct_pack({', '.join(fields)})"


def _leaf(sql: str, dtype: DataType, options: Mapping[str, str]) -> str:
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
        return f"CASE WHEN {kind} = 'VARCHAR' THEN {_time(text, dtype, options)} END"
    return lower_cast(text, STRING, dtype)


def _time(text: str, dtype: DataType, options: Mapping[str, str]) -> str:
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
    return _spelled(_type_of(json.loads(text)))


def _type_of(value: Any) -> DataType:
    if isinstance(value, dict):
        return StructType(tuple(value), tuple(map(_type_of, value.values())))
    if isinstance(value, list):
        return ArrayType(_common([_type_of(item) for item in value if item is not None]))
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return BIGINT if -(2**63) <= value < 2**63 else DOUBLE
    return DOUBLE if isinstance(value, float) else STRING


def _common(types: Sequence[DataType]) -> DataType:
    found = types[0] if types else STRING
    for dtype in types[1:]:
        found = _both(found, dtype)
    return found


def _both(left: DataType, right: DataType) -> DataType:
    if left == right:
        return left
    match left, right:
        case StructType(), StructType():
            fields = dict(zip(left.names, left.types, strict=True))
            for name, dtype in zip(right.names, right.types, strict=True):
                fields[name] = _both(fields[name], dtype) if name in fields else dtype
            return StructType(tuple(fields), tuple(fields.values()))
        case ArrayType(one), ArrayType(other):
            return ArrayType(_both(one, other))
    return DOUBLE if {left, right} == {BIGINT, DOUBLE} else STRING


def _spelled(dtype: DataType) -> str:
    match dtype:
        case StructType(names, types):
            fields = (f"{_name(name)}: {_spelled(field)}" for name, field in zip(names, types, strict=True))
            return f"STRUCT<{', '.join(fields)}>"
        case ArrayType(element):
            return f"ARRAY<{_spelled(element)}>"
    return str(dtype).upper()


def _name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else f"`{name}`"


FROM_JSON = ScalarFunction(
    "from_json",
    takes(STRING, STRING, STRING, optional=1),
    returns(NULL),
    _from_json,
    NullPolicy.CUSTOM,
    usage="from_json(text, schema[, options])",
    doc="the struct, array or map of a JSON text; what does not fit its type is NULL",
    example="from_json('{\"a\": 1}', 'a INT, b STRING')",
    answer='{"a":1,"b":null}',
    literal_result=_result,
)
"""Its options are passed as a JSON text."""
