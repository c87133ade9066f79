"""Values as text, as Hive prints them."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sharkpy.values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    is_string,
)

if TYPE_CHECKING:
    import pyarrow as pa

NULL_TEXT = "NULL"
_LONG = 10**15
_MICROS_PER_DAY = 86_400_000_000


def format_column(column: pa.Array[Any], dtype: DataType, null_text: str = NULL_TEXT) -> list[str]:
    """Return the texts of a column's values."""
    return [null_text if text is None else text for text in optional_texts(column, dtype)]


def readable_texts(column: pa.Array[Any], dtype: DataType, null_text: str = NULL_TEXT) -> list[str]:
    """Like `format_column`, for people: a number with up to 15 digits before the point has no exponent."""
    texts = format_column(column, dtype, null_text)
    return [_without_exponent(text) if "E" in text else text for text in texts] if dtype in (DOUBLE, FLOAT) else texts


def _without_exponent(text: str) -> str:
    try:
        number = Decimal(text)
    except ArithmeticError:  # the text of NULL
        return text
    if not 1 <= abs(number) < _LONG:
        return text
    plain = f"{number:f}"
    return plain if "." in plain else plain + ".0"


def optional_texts(column: pa.Array[Any], dtype: DataType) -> list[str | None]:
    """Return the texts of a column's values, None for NULL."""
    from sharkpy.values.python_values import python_values

    values = python_values(column)
    if is_string(dtype):
        return list(values)
    convert = _converter(dtype)
    return [None if value is None else convert(value) for value in values]


def format_value(value: Any, dtype: DataType) -> str:
    """Return the text of one Python value of `dtype`."""
    return NULL_TEXT if value is None else _converter(dtype)(value)


def to_json(value: Any, dtype: DataType) -> Any:
    """Return `value` for `json.dumps`: dates and decimals keep their text, maps have string keys."""
    if value is None:
        return None
    match dtype:
        case ArrayType(element):
            return [to_json(item, element) for item in value]
        case MapType(key_type, value_type):
            return {_key_text(key, key_type): to_json(item, value_type) for key, item in value.items()}
        case StructType(names, types):
            return {name: to_json(value[name], inner) for name, inner in zip(names, types, strict=True)}
        case DecimalType():
            return _JsonNumber(value)
    if dtype in (DATE, TIMESTAMP, BINARY, INTERVAL_DAY_TIME, INTERVAL_YEAR_MONTH):
        return format_value(value, dtype)
    if dtype in (DOUBLE, FLOAT) and not math.isfinite(value):  # JSON has no NaN and no infinity
        return _format_double(value)
    if dtype == FLOAT:
        return float(_shortest_float(value))
    return value


def _key_text(key: Any, key_type: DataType) -> str:
    return str(key) if is_string(key_type) else format_value(key, key_type)


class _JsonNumber(float):
    """A decimal that is written to JSON with all its digits."""

    def __new__(cls, value: Decimal) -> _JsonNumber:
        number = super().__new__(cls, value)
        number.text = format(value, "f")
        return number

    text: str

    def __repr__(self) -> str:
        return self.text


def dumps(value: Any) -> str:
    """Return compact JSON that keeps the digits of decimals."""
    return "".join(_json_parts(value))


def _json_parts(value: Any) -> list[str]:
    match value:
        case _JsonNumber():
            return [value.text]
        case list():
            return ["[", ",".join(dumps(item) for item in value), "]"]
        case dict():
            items = (f"{json.dumps(str(key), ensure_ascii=False)}:{dumps(item)}" for key, item in value.items())
            return ["{", ",".join(items), "}"]
    return [json.dumps(value, ensure_ascii=False)]


def _converter(dtype: DataType) -> Callable[[Any], str]:
    match dtype:
        case DecimalType():
            return lambda value: format(value, "f")
        case ArrayType() | MapType() | StructType():
            return lambda value: _nested_text(value, dtype)
    return _CONVERTERS.get(dtype, str)


def _nested_text(value: Any, dtype: DataType) -> str:
    """Text of a nested value or a value within it: like JSON, but map keys that are numbers are not quoted."""
    if value is None:
        return "null"
    match dtype:
        case ArrayType(element):
            return f"[{','.join(_nested_text(item, element) for item in value)}]"
        case MapType(key, item):
            return f"{{{','.join(f'{_nested_text(k, key)}:{_nested_text(v, item)}' for k, v in value.items())}}}"
        case StructType(names, types):
            fields = (f"{_quoted(n)}:{_nested_text(value[n], inner)}" for n, inner in zip(names, types, strict=True))
            return f"{{{','.join(fields)}}}"
    text = value if is_string(dtype) else _converter(dtype)(value)
    return _quoted(text) if is_string(dtype) or dtype in (DATE, TIMESTAMP, BINARY) else text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _format_double(value: float) -> str:
    """Text of a double, as Java's Double.toString returns it: 1.0, 1.0E10, 1.0E-5, NaN, Infinity."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return _java_number(repr(value), abs(value))


def _shortest_float(value: float) -> str:
    import numpy as np

    return str(np.float32(value))


def _format_float(value: float) -> str:
    if not math.isfinite(value):
        return _format_double(value)
    return _java_number(_shortest_float(value), abs(value))


def _java_number(text: str, magnitude: float) -> str:
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        plain = format(Decimal(text), "f")
        return plain if "." in plain else plain + ".0"
    sign, digits, exponent = Decimal(text).as_tuple()
    kept = "".join(map(str, digits)).rstrip("0") or "0"
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{kept[0]}.{kept[1:] or '0'}E{power}"


def _format_timestamp(value: datetime.datetime) -> str:
    text = value.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")
    return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text


def _format_months(months: int | str) -> str:
    from sharkpy.values.python_values import months_text

    return months if isinstance(months, str) else months_text(months)


def _format_micros(micros: int | datetime.timedelta) -> str:
    if isinstance(micros, datetime.timedelta):
        micros = micros // datetime.timedelta(microseconds=1)
    sign, micros = ("-" if micros < 0 else ""), abs(micros)
    days, rest = divmod(micros, _MICROS_PER_DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{sign}{days} {clock}.{fraction * 1000:09d}"


_CONVERTERS: dict[DataType, Callable[[Any], str]] = {
    BOOLEAN: lambda value: "true" if value else "false",
    DOUBLE: _format_double,
    FLOAT: _format_float,
    DATE: lambda value: value.isoformat(),
    TIMESTAMP: _format_timestamp,
    BINARY: lambda value: value.decode("utf-8", errors="replace"),
    INTERVAL_YEAR_MONTH: _format_months,
    INTERVAL_DAY_TIME: _format_micros,
}
