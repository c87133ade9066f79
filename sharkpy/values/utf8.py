"""Valid UTF-8: a replacement character replaces invalid bytes.

DuckDB takes Arrow texts without a check, and a bad one invalidates its database at the first function that reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import checked

Column: TypeAlias = Any
"""A pyarrow.Array or ChunkedArray of any type."""
_OFFSETS = {pa.string(): np.int32, pa.large_string(): np.int64}
_FIRST_NOT_ASCII = 128
_RUN_ROWS = 1024
"""Number of values checked together, once a column is known to have a bad one."""


def valid_utf8(data: bytes) -> bytes:
    """Return `data` with replacement characters for invalid UTF-8."""
    return data if _is_valid(_one_value(data)) else _replaced(data)


def valid_texts(raw: Column) -> Column:
    """Make each binary value valid UTF-8, as `valid_utf8` does."""
    return raw if _is_valid(raw.view(pa.string())) else valid_array(raw.view(pa.string())).view(pa.binary())


def valid_column(column: Column) -> Column:
    """Return a ChunkedArray whose texts, at any depth, are valid."""
    if not _has_texts(column.type) or _is_valid(column):
        return column
    return pa.chunked_array([valid_array(chunk) for chunk in column.chunks], column.type)


def valid_array(array: Column) -> Column:
    """Return an Array whose texts, at any depth, are valid."""
    if not _has_texts(array.type) or _is_valid(array):
        return array
    if pa.types.is_dictionary(array.type):
        # Two values may become equal: the codes of both remain.
        return pa.DictionaryArray.from_arrays(array.indices, valid_array(array.dictionary))
    return pa.concat_arrays([_repaired(array.slice(at, _RUN_ROWS)) for at in checked(range(0, len(array), _RUN_ROWS))])


def valid_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    given = batch.columns
    columns = [valid_array(column) for column in given]
    if all(one is other for one, other in zip(columns, given, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def encodable(text: str) -> str:
    """Replace unpaired surrogates by ?, as Java does."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_text(dtype: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def _has_texts(dtype: pa.DataType) -> bool:
    if pa.types.is_dictionary(dtype):
        return is_text(dtype.value_type)
    return is_text(dtype) or any(_has_texts(dtype.field(index).type) for index in range(dtype.num_fields))


def _is_valid(column: Column) -> bool:
    if _is_ascii(column):
        return True
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_ascii(column: Column) -> bool:
    """Return whether a column of texts is well-formed and has only ASCII: much faster than a full validation."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return column.type in _OFFSETS and all(_is_ascii_chunk(chunk) for chunk in chunks if len(chunk))


def _is_ascii_chunk(array: Column) -> bool:
    try:
        array.validate()
    except pa.ArrowInvalid:
        return False
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, _OFFSETS[array.type])[array.offset : array.offset + len(array) + 1]
    if (offsets[1:] < offsets[:-1]).any():
        return False
    used = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    return bool(used.max(initial=0) < _FIRST_NOT_ASCII)


def _one_value(data: bytes) -> Column:
    buffers = [None, pa.py_buffer(struct.pack("=qq", 0, len(data))), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), 1, buffers)


def _replaced(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _repaired(array: Column) -> Column:
    if _is_valid(array):
        return array
    if is_text(array.type):
        raw = array.cast(pa.large_binary()).to_pylist()
        return pa.array([None if one is None else _replaced(one).decode() for one in raw], array.type)
    values = array.cast(_with_binaries(array.type)).to_pylist()
    return pa.array([_with_texts(value, array.type) for value in values], array.type)


def _with_binaries(dtype: Any) -> pa.DataType:
    """The type with binary values instead of texts."""
    if is_text(dtype):
        return pa.large_binary()
    fields = [dtype.field(index) for index in range(dtype.num_fields)]
    changed = [one.with_type(_with_binaries(one.type)) for one in fields]
    if pa.types.is_map(dtype):
        return pa.map_(changed[0].type.field(0), changed[0].type.field(1))
    if pa.types.is_struct(dtype):
        return pa.struct(changed)
    return pa.list_(changed[0]) if pa.types.is_list(dtype) else pa.large_list(changed[0]) if fields else dtype


def _with_texts(value: Any, dtype: Any) -> Any:
    """Convert a Python value of type `_with_binaries(dtype)` to type `dtype`."""
    if value is None or not _has_texts(dtype):
        return value
    if is_text(dtype):
        return value.decode("utf-8", "replace")
    if pa.types.is_struct(dtype):
        return {field.name: _with_texts(value[field.name], field.type) for field in dtype}
    if pa.types.is_map(dtype):
        return [(_with_texts(key, dtype.key_type), _with_texts(item, dtype.item_type)) for key, item in value]
    return _with_items(value, dtype.value_type)


def _with_items(values: Sequence[Any], dtype: Any) -> list[Any]:
    return [_with_texts(value, dtype) for value in values]
