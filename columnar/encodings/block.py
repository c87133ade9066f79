"""block: zstd chunks, for long strings that hardly repeat and for nested types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import kernels, parts
from sharkpy.columnar.domain import Domain
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import plain
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t

_NAME = "block"
_CHUNK = 1 << 20
_MIN_MEAN_LENGTH = 12
# Decompression costs tens of milliseconds per million strings: it has to save 40 %.
_WEIGHT = 1 / 0.6


def _estimate(profile: ColumnProfile) -> float | None:
    if profile.num_valid == 0:
        return None
    if profile.domain is Domain.NONE:
        return profile.array.nbytes * 0.9
    if profile.domain is not Domain.BYTES:
        return None
    _, data = plain.split_bytes(profile.sample)
    if data.size < _MIN_MEAN_LENGTH * len(profile.sample):
        return None
    packed = len(pa.Codec("zstd", 1).compress(data)) / data.size
    total = profile.plain_bytes - 4 * profile.num_rows
    return _WEIGHT * (total * packed + profile.num_rows * 2)


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.domain is Domain.NONE and profile.dtype != t.NULL:
        stream = parts.bytes_part(plain.to_stream(profile.array, "zstd"))
        return EncodedColumn(_NAME, profile.dtype, profile.num_rows, parts={"stream": stream})
    if profile.domain is not Domain.BYTES:
        return None
    offsets, data = plain.split_bytes(profile.filled)
    chunks = _compress(data)
    lengths = np.diff(offsets)
    return EncodedColumn(
        _NAME,
        profile.dtype,
        profile.num_rows,
        params={"bytes": data.size},
        parts=parts.validity_part(profile.array)
        | {
            "lengths": parts.part(lengths.astype(parts.code_width(int(lengths.max(initial=0))))),
            "ends": parts.part(np.cumsum([len(chunk) for chunk in chunks], dtype=np.uint32)),
            "chunks": parts.bytes_part(b"".join(chunks)),
        },
    )


def _compress(data: pa.Buffer) -> list[pa.Buffer]:
    codec = pa.Codec("zstd", 1)
    starts = range(0, data.size, _CHUNK)
    return [codec.compress(data.slice(start, min(_CHUNK, data.size - start))) for start in starts]


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    if "stream" in column.parts:
        return plain.from_stream(column.parts["stream"])
    offsets = np.empty(column.num_rows + 1, np.int32)
    kernels.lengths_to_offsets(parts.numpy(column.parts["lengths"]), offsets)
    buffers = [column.validity, parts.buffer_of(offsets), parts.buffer_of(_decompress(column))]
    return pa.Array.from_buffers(t.to_arrow(column.dtype), column.num_rows, buffers)


def _decompress(column: EncodedColumn) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    data = np.empty(column.param("bytes"), np.uint8)
    chunks, codec = parts.buffer(column.parts["chunks"], 1), pa.Codec("zstd", 1)
    start = place = 0
    for end in parts.numpy(column.parts["ends"]).tolist():
        size = min(_CHUNK, len(data) - place)
        chunk = codec.decompress(chunks.slice(start, end - start), size)
        data[place : place + size] = np.frombuffer(memoryview(chunk), np.uint8)
        start, place = end, place + size
    return data


def _scan_form(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
