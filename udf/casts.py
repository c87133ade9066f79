"""CAST with Hive's results as DuckDB SQL: values that do not convert are NULL, integers wrap, strings are trimmed.

If versions of Hive differ, Hive 3 is followed: strings become BOOLEAN by its list of false words, an integer is a
timestamp in milliseconds, a floating or decimal number one in seconds.
"""

from __future__ import annotations

from sharkpy.base.errors import TypeMismatchError
from sharkpy.udf.duckdb_sql import duckdb_type, quote_identifier
from sharkpy.udf.lower import bound_once
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    INTERVAL_DAY_TIME,
    MAX_PRECISION,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    VarcharType,
    is_interval,
    is_nested,
    is_string,
)

_INTEGER_TEXT = r"^\s*([+-]?\d+)(?:\.\d*)?\s*$"
_FRACTION_TEXT = r"\s*[+-]?\.\d+\s*"
_NUMBER_TEXT = r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[dDfF]?\s*$"
_FLOATING_TEXT = r"^\s*([+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN))[dDfF]?\s*$"
_DATE_TEXT = r"^\s*(\d{4}-\d{1,2}-\d{1,2})(?:[ T].*)?\s*$"
_ZONE = r"Z|UTC|GMT|[+-]\d{1,2}:\d{2}(?::\d{2})?|[A-Z][A-Za-z]+/[A-Za-z_/+-]+"
_CLOCK = r"\d{4}-\d{1,2}-\d{1,2}(?:[ T]\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d*)?)?)?"
_TIMESTAMP_TEXT = rf"^\s*({_CLOCK}) ?(?:{_ZONE})?\s*$"
"""TIMESTAMP is the clock's reading: a zone after it names the place of the clock and changes nothing."""

_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799
"""The first second of the year 1 and the last one of 9999. A number outside them cannot become a TIMESTAMP."""
_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}


def lower_cast(sql: str, source: DataType, target: DataType) -> str:
    """Return DuckDB SQL of CAST(sql AS target). `sql` must have the DuckDB type of `source`.

    Raise TypeMismatchError if Hive has no such cast.
    """
    return bound_once((sql,), lambda given: _cast(given[0], source, target, 0))


def can_cast(source: DataType, target: DataType) -> bool:
    try:
        _cast("x", source, target, 0)
    except TypeMismatchError:
        return False
    return True


def _cast(sql: str, source: DataType, target: DataType, depth: int) -> str:
    if source == target:
        return sql
    if source == NULL:
        return f"CAST({sql} AS {duckdb_type(target)})"
    if is_nested(source) and is_string(target):
        return _to_string(f"CAST(to_json({sql}) AS VARCHAR)", STRING, target)
    if is_nested(source) or is_nested(target):
        return _to_nested(sql, source, target, depth)
    if is_string(target):
        return _to_string(sql, source, target)
    if isinstance(target, DecimalType):
        return _to_decimal(sql, source, target)
    if target in INTEGER_TYPES:
        return _to_integer(sql, source, target)
    if target in (FLOAT, DOUBLE):
        return _to_floating(sql, source, target)
    if target in (DATE, TIMESTAMP):
        return _to_time(sql, source, target)
    if target == BOOLEAN:
        return _to_boolean(sql, source)
    if is_interval(target) and is_string(source):
        return f"shark_parse_{'day' if target == INTERVAL_DAY_TIME else 'month'}_interval({sql})"
    if target == BINARY and is_string(source):
        return f"encode({sql})"
    raise _refused(source, target)


def _refused(source: DataType, target: DataType) -> TypeMismatchError:
    return TypeMismatchError(f"cannot cast {source} to {target}")


def wrap_integer(sql: str, target: DataType) -> str:
    """Return `sql`, of a wider integer type, reduced to `target` in two's complement: HUGEINT for BIGINT, else
    BIGINT.
    """
    bits = _BITS[target]
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    if target == BIGINT:
        return f"shark_wrap_bigint({sql})"
    return f"CAST(xor({sql} & {mask}, {half}) - {half} AS {duckdb_type(target)})"


def _to_integer(sql: str, source: DataType, target: DataType) -> str:
    name = duckdb_type(target)
    if source in INTEGER_TYPES:
        if INTEGER_TYPES.index(source) < INTEGER_TYPES.index(target):
            return f"CAST({sql} AS {name})"
        return wrap_integer(f"CAST({sql} AS BIGINT)", target)
    if is_string(source):
        whole = f"TRY_CAST(regexp_extract({sql}, '{_INTEGER_TEXT}', 1) AS {name})"
        return f"coalesce({whole}, CASE WHEN regexp_full_match({sql}, '{_FRACTION_TEXT}') THEN CAST(0 AS {name}) END)"
    if source in (FLOAT, DOUBLE):
        value = f"CAST({sql} AS DOUBLE)" if source == FLOAT else sql
        if target == BIGINT:
            return f"shark_double_to_bigint({value})"
        whole = f"shark_double_to_int({value})"
        return whole if target == INT else wrap_integer(f"CAST({whole} AS BIGINT)", target)
    if isinstance(source, DecimalType):
        return f"TRY_CAST(trunc({sql}) AS {name})"
    if source == BOOLEAN:
        return f"CAST({sql} AS {name})"
    if source == TIMESTAMP:
        seconds = f"CAST(floor(epoch_us({sql}) / 1000000) AS BIGINT)"
        return seconds if target == BIGINT else f"TRY_CAST({seconds} AS {name})"
    raise _refused(source, target)


def _to_floating(sql: str, source: DataType, target: DataType) -> str:
    name = duckdb_type(target)
    if source == DOUBLE:
        return f"shark_double_to_float({sql})"
    if is_string(source):
        return f"TRY_CAST(regexp_extract({sql}, '{_FLOATING_TEXT}', 1) AS {name})"
    if source in (FLOAT, BOOLEAN) or source in INTEGER_TYPES or isinstance(source, DecimalType):
        return f"CAST({sql} AS {name})"
    if source == TIMESTAMP:
        return f"CAST(epoch_us({sql}) / 1000000 AS {name})"
    raise _refused(source, target)


def _to_decimal(sql: str, source: DataType, target: DecimalType) -> str:
    name = duckdb_type(target)
    if isinstance(source, DecimalType):
        widens = target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        return f"{'CAST' if widens else 'TRY_CAST'}({sql} AS {name})"
    if source in INTEGER_TYPES or source == BOOLEAN:
        return f"TRY_CAST({'CAST(' + sql + ' AS INTEGER)' if source == BOOLEAN else sql} AS {name})"
    if source in (FLOAT, DOUBLE):
        return f"TRY_CAST(CAST({sql} AS VARCHAR) AS {name})"
    if is_string(source):
        return f"TRY_CAST(regexp_extract({sql}, '{_NUMBER_TEXT}', 1) AS {name})"
    if source == TIMESTAMP:
        return f"TRY_CAST(CAST(epoch_us({sql}) AS DECIMAL(19,0)) * 0.000001 AS {name})"
    raise _refused(source, target)


def _to_boolean(sql: str, source: DataType) -> str:
    if source in INTEGER_TYPES or source in (FLOAT, DOUBLE) or isinstance(source, DecimalType):
        return f"({sql} <> 0)"
    if is_string(source):
        return f"(lower({sql}) NOT IN ('', '0', 'no', 'off', 'false'))"
    if source == TIMESTAMP:
        return f"(epoch_us({sql}) <> 0)"
    raise _refused(source, BOOLEAN)


def _to_time(sql: str, source: DataType, target: DataType) -> str:
    name = duckdb_type(target)
    if source in (DATE, TIMESTAMP):
        return f"CAST({sql} AS {name})"
    if is_string(source):
        text = _DATE_TEXT if target == DATE else _TIMESTAMP_TEXT
        return f"TRY_CAST(regexp_extract({sql}, '{text}', 1) AS {name})"
    if target == TIMESTAMP and source in INTEGER_TYPES:
        moment = f"make_timestamp(CAST({sql} AS BIGINT) * 1000)"
        return f"CASE WHEN {sql} BETWEEN {_FIRST_SECOND}000 AND {_LAST_SECOND}999 THEN {moment} END"
    if target == TIMESTAMP and source == BOOLEAN:
        return f"make_timestamp(CAST({sql} AS BIGINT))"
    if target == TIMESTAMP and (source in (FLOAT, DOUBLE) or isinstance(source, DecimalType)):
        seconds = f"CAST({sql} AS DECIMAL(19,6))" if isinstance(source, DecimalType) else f"CAST({sql} AS DOUBLE)"
        micros = f"make_timestamp(CAST({seconds} * 1000000 AS BIGINT))"
        return f"CASE WHEN {sql} >= {_FIRST_SECOND} AND {sql} < {_LAST_SECOND + 1} THEN {micros} END"
    raise _refused(source, target)


def _to_string(sql: str, source: DataType, target: DataType) -> str:
    text = _text(sql, source)
    match target:
        case VarcharType(length):
            return f"left({text}, {length})"
        case CharType(length):
            return f"rtrim(left({text}, {length}), ' ')"
    return text


def _text(sql: str, source: DataType) -> str:
    if is_string(source):
        return sql
    if source == BOOLEAN:
        return f"CASE WHEN {sql} THEN 'TRUE' WHEN NOT {sql} THEN 'FALSE' END"
    if source == DOUBLE:
        return f"shark_double_text({sql})"
    if source == FLOAT:
        return f"shark_float_text({sql})"
    if source == BINARY:
        return f"shark_bytes_text({sql})"
    if is_interval(source):
        kind = "day" if duckdb_type(source) == "BIGINT" else "month"
        return f"shark_{kind}_interval_text({sql})"
    if isinstance(source, DecimalType) and source.precision == source.scale:
        return _fraction_text(sql, source)
    return f"CAST({sql} AS VARCHAR)"


def _fraction_text(sql: str, source: DecimalType) -> str:
    """Add the zero that DuckDB omits before the point of a DECIMAL, as in `.5`."""
    if source.precision < MAX_PRECISION:
        return f"CAST(CAST({sql} AS DECIMAL({source.precision + 1},{source.scale})) AS VARCHAR)"
    return rf"regexp_replace(CAST({sql} AS VARCHAR), '^(-?)\.', '\10.')"


def _to_nested(sql: str, source: DataType, target: DataType, depth: int) -> str:
    item = f"cast{depth}"
    match source, target:
        case ArrayType(before), ArrayType(after):
            return f"list_transform({sql}, lambda {item}: {_cast(item, before, after, depth + 1)})"
        case MapType(key_before, value_before), MapType(key_after, value_after):
            key = _cast(f"{item}.key", key_before, key_after, depth + 1)
            value = _cast(f"{item}.value", value_before, value_after, depth + 1)
            entry = f"struct_pack(key := {key}, value := {value})"
            return f"map_from_entries(list_transform(map_entries({sql}), lambda {item}: {entry}))"
        case StructType(_, before_types), StructType(_, after_types) if len(before_types) == len(after_types):
            return _to_struct(sql, source, target, depth)
    raise _refused(source, target)


def _to_struct(sql: str, source: StructType, target: StructType, depth: int) -> str:
    fields = []
    columns = zip(source.names, source.types, target.names, target.types, strict=True)
    for name, dtype, new_name, new_type in columns:
        value = f"struct_extract({sql}, '{name.replace(chr(39), chr(39) * 2)}')"
        fields.append(f"{quote_identifier(new_name)} := {_cast(value, dtype, new_type, depth + 1)}")
    return f"CASE WHEN {sql} IS NOT NULL THEN struct_pack({', '.join(fields)}) END"
