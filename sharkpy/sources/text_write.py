"""Columns to ROW FORMAT DELIMITED text: the inverse of reading it."""

from __future__ import annotations

import base64
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import ExecutionError
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.text_format import CARRIAGE_RETURN, NEWLINE, TORN_KEY, TextFormat
from sharkpy.values.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    Schema,
    StructType,
    is_nested,
    is_string,
    to_arrow,
)

_INVALID_TEXT = "22000"


def text_rows(batch: pa.RecordBatch, schema: Schema, layout: TextFormat) -> Array:
    """Bytes of each row. ExecutionError if a string contains a delimiter and the table has no ESCAPED BY."""
    null = layout.null
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        text = to_text(column, field.dtype, layout, 1, field.name)
        columns.append(pc.fill_null(text, pa.scalar(null, pa.binary())))
    return pc.binary_join_element_wise(*columns, layout.separator(0)) if len(columns) > 1 else columns[0]


def to_text(array: Array, dtype: DataType, layout: TextFormat, level: int, name: str) -> Array:
    """Convert `array` to fields (binary, NULL for NULL). `level`: level of the separators inside them."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    match dtype:
        case ArrayType(element):
            first, last, offsets = _extent(array)
            items = to_text(array.values.slice(first, last - first), element, layout, level + 1, name)
            return _join(offsets, items, array, layout, level)
        case MapType(key, value):
            first, last, offsets = _extent(array)
            keys = to_text(array.keys.slice(first, last - first), key, layout, level + 2, name)
            values = to_text(array.items.slice(first, last - first), value, layout, level + 2, name)
            entries = pc.binary_join_element_wise(
                _nulls_as_text(keys, layout), _nulls_as_text(values, layout), layout.separator(level + 1)
            )
            return _join(offsets, entries, array, layout, level)
        case StructType(_, types):
            parts = [
                _nulls_as_text(to_text(part, t, layout, level + 1, name), layout)
                for part, t in zip(array.flatten(), types, strict=True)
            ]
            joined = pc.binary_join_element_wise(*parts, layout.separator(level)) if len(parts) > 1 else parts[0]
            return pc.if_else(pc.is_valid(array), joined, pa.scalar(None, pa.binary()))
    text = hive_text(array, dtype)
    return _escaped(text, layout, level, name) if is_string(dtype) else text


def _nulls_as_text(text: Array, layout: TextFormat) -> Array:
    return pc.fill_null(text, pa.scalar(layout.null, pa.binary()))


def _extent(array: Array) -> tuple[int, int, Array]:
    first, last = array.offsets[0].as_py(), array.offsets[len(array)].as_py()
    return first, last, pc.subtract(array.offsets, pa.scalar(first, pa.int32()))


def _join(offsets: Array, items: Array, parent: Array, layout: TextFormat, level: int) -> Array:
    lists = pa.ListArray.from_arrays(offsets, _nulls_as_text(items, layout))
    joined = pc.binary_join(lists, layout.separator(level))
    return pc.if_else(pc.is_valid(parent), joined, pa.scalar(None, pa.binary()))


def hive_text(array: Array, dtype: DataType) -> Array:
    """Values of a primitive type as Hive prints them (binary)."""
    if dtype in (FLOAT, DOUBLE):
        text = java_real(array)
    elif dtype == BINARY:
        values = array.to_pylist()
        text = pa.array([None if v is None else base64.b64encode(v).decode() for v in values], pa.string())
    elif dtype == TIMESTAMP:
        text = pc.replace_substring_regex(pc.cast(array, pa.string()), r"(\.[0-9]*[1-9])0+$", r"\1")
        text = pc.replace_substring_regex(text, r"\.0+$", "")
    elif isinstance(dtype, DecimalType) and dtype.scale > 6:
        # Arrow prints small values with an exponent.
        text = pa.array([_plain(value) for value in array.to_pylist()], pa.string())
    elif dtype == DATE or not is_nested(dtype):
        text = pc.cast(pc.cast(array, to_arrow(dtype)), pa.string())
    return pc.cast(text, pa.binary())


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def java_real(array: Array) -> Array:
    """Floating point numbers as Java prints them: 1.0, 1.0E10, NaN, Infinity."""
    text = pc.cast(array, pa.string())
    size = pc.abs(array)
    low, high = pa.scalar(1e-3, array.type), pa.scalar(1e7, array.type)
    is_plain = pc.or_(
        pc.equal(size, pa.scalar(0.0, array.type)), pc.and_(pc.greater_equal(size, low), pc.less(size, high))
    )
    if not pc.all(is_plain, min_count=0).as_py():
        special = pa.array(
            [None if value is None else _java_real(value) for value in _to_numpy_scalars(array)], pa.string()
        )
        return pc.if_else(pc.fill_null(is_plain, False), _with_point(text), special)
    return _with_point(text)


def _with_point(text: Array) -> Array:
    has_point = pc.match_substring_regex(text, r"[.eEnN]")
    return pc.if_else(has_point, text, pc.binary_join_element_wise(text, "0", "."))


def _to_numpy_scalars(array: Array) -> list[np.float32 | np.float64 | None]:
    if pa.types.is_float32(array.type):
        return [None if value is None else np.float32(value) for value in array.to_pylist()]
    return [None if value is None else np.float64(value) for value in array.to_pylist()]


def _java_real(value: np.float32 | np.float64) -> str:
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return np.format_float_positional(value, unique=True, trim="0")
    mantissa, exponent = np.format_float_scientific(value, unique=True, trim="0").split("e")
    return f"{mantissa}E{int(exponent)}"


def _escaped(text: Array, layout: TextFormat, level: int, name: str) -> Array:
    """String fields with every delimiter in them escaped."""
    data = b"" if text.buffers()[2] is None else text.buffers()[2]
    view = memoryview(data)
    breaks = {NEWLINE: b"n", CARRIAGE_RETURN: b"r"} if layout.is_lined and layout.line == NEWLINE else {}
    delimiters = layout.separators if layout.escape is not None else layout.separators[:level]
    ends = (layout.line,) if layout.is_lined else ()
    special = {byte: bytes([byte]) for byte in (*delimiters, *ends)} | breaks
    present = set(np.unique(np.frombuffer(view, np.uint8)).tolist())
    if layout.escape is None and layout.is_torn:
        return text
    if layout.escape is None:
        found = next((byte for byte in special if byte in present and _holds(text, byte)), None)
        if found is not None:
            raise ExecutionError(
                f'a value of column "{name}" holds the delimiter {chr(found)!r} of its text table',
                hint=f"give the table ESCAPED BY, other delimiters or another format, or SET {TORN_KEY}=true",
                sqlstate=_INVALID_TEXT,
            )
        return text
    escape = bytes([layout.escape])
    if layout.escape in present:
        text = pc.replace_substring(text, escape, escape * 2)
    for byte, written in special.items():
        if byte in present and byte != layout.escape:
            text = pc.replace_substring(text, bytes([byte]), escape + written)
    return text


def _holds(text: Array, byte: int) -> bool:
    """True if a text contains a byte. Unlike the buffer of a slice, only its values are searched."""
    return bool(pc.any(pc.match_substring(text, bytes([byte])), min_count=0).as_py())
