"""Encodings without compression: plain and boolean.

- plain: values in Arrow's layout, mapped without a copy; nested types as one uncompressed Arrow stream.
- boolean: a bitset, which Arrow scans without a conversion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.domain import Domain, domain_of
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, ScanForm
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t

_PLAIN = "plain"


def encode_array(array: pa.Array[Any], dtype: t.DataType) -> EncodedColumn:
    """Encode an array of any type. Nulls keep their positions."""
    if domain_of(dtype) is Domain.NONE:
        return EncodedColumn(
            _PLAIN, dtype, len(array), parts={"stream": arrow_buffers.bytes_part(to_stream(array, None))}
        )
    content = arrow_buffers.validity_part(array)
    if domain_of(dtype) is Domain.BYTES:
        offsets, data = split_bytes(array)
        content |= {"offsets": arrow_buffers.part(offsets), "data": arrow_buffers.bytes_part(data)}
    elif dtype == t.BOOLEAN:
        flags = arrow_buffers.view(array.cast(pa.uint8()), "u1")
        if array.null_count:
            flags = flags & arrow_buffers.view(array.is_valid().cast(pa.uint8()), "u1")
        content["values"] = arrow_buffers.part(np.packbits(flags, bitorder="little"))
    else:
        width = array.type.bit_width // 8
        start = array.offset * width
        values = arrow_buffers.buffer(array, 1)
        content["values"] = arrow_buffers.bytes_part(values.slice(start, len(array) * width))
    return EncodedColumn(_PLAIN, dtype, len(array), parts=content)


def as_floats(column: EncodedColumn, dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]] | None:
    """Return the stored memory of a DOUBLE (float64) or FLOAT (float32) column without NULL, or None for other
    columns.
    """
    if (
        column.encoding != _PLAIN
        or t.to_arrow(column.dtype) != pa.from_numpy_dtype(dtype)
        or "validity" in column.parts
    ):
        return None
    return np.frombuffer(memoryview(arrow_buffers.buffer(column.parts["values"], 1)), dtype, column.num_rows)


def split_bytes(array: pa.Array[Any]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], pa.Buffer]:
    """Split a string or binary array into (offsets from 0, bytes)."""
    if len(array) == 0:
        return np.zeros(1, np.int32), pa.py_buffer(b"")
    offsets = np.frombuffer(memoryview(arrow_buffers.buffer(array, 1)), np.int32)[
        array.offset : array.offset + len(array) + 1
    ]
    first, last = int(offsets[0]), int(offsets[-1])
    data = arrow_buffers.buffer(array, 2).slice(first, last - first)
    return (offsets - np.int32(first) if first else offsets), data


def to_stream(array: pa.Array[Any], compression: str | None) -> pa.Buffer:
    """Write one column as an Arrow IPC stream."""
    codec = pa.Codec("zstd", 1) if compression else None
    batch = pa.record_batch([array], names=["value"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def from_stream(stream: pa.Array[Any]) -> pa.Array[Any]:
    return pa.ipc.open_stream(arrow_buffers.buffer(stream, 1)).read_next_batch().column(0)


def _estimate_plain(profile: ColumnProfile) -> float | None:
    if profile.domain is Domain.BYTES:
        return float(profile.plain_bytes)
    return float(profile.plain_bytes) * 1.001


def _encode_plain(profile: ColumnProfile) -> EncodedColumn | None:
    return encode_array(profile.array, profile.dtype)


def _decode_plain(column: EncodedColumn) -> pa.Array[Any]:
    if "stream" in column.parts:
        return from_stream(column.parts["stream"])
    arrow_type = t.to_arrow(column.dtype)
    names = ("offsets", "data") if "offsets" in column.parts else ("values",)
    buffers = [arrow_buffers.buffer(column.parts[name], 1) for name in names]
    return pa.Array.from_buffers(arrow_type, column.num_rows, [column.validity, *buffers])


def _scan_form_plain(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode_plain(column))


PLAIN = Codec(_PLAIN, _estimate_plain, _encode_plain, _decode_plain, _scan_form_plain)


_BOOLEAN = "boolean"


def _estimate_boolean(profile: ColumnProfile) -> float | None:
    return profile.num_rows / 8 if profile.dtype == t.BOOLEAN else None


def _encode_boolean(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.dtype != t.BOOLEAN:
        return None
    return replace(encode_array(profile.array, profile.dtype), encoding=_BOOLEAN)


BOOLEAN = Codec(_BOOLEAN, _estimate_boolean, _encode_boolean, PLAIN.decode, PLAIN.scan_form)
