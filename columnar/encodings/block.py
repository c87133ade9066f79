"""block: zstd chunks, for long strings that hardly repeat and for nested types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import arrow_buffers, kernels
from sharkpy.columnar.domain import Domain
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import uncompressed
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
    _, data = uncompressed.split_bytes(profile.sample)
    if data.size < _MIN_MEAN_LENGTH * len(profile.sample):
        return None
    packed = len(pa.Codec("zstd", 1).compress(data)) / data.size
    total = profile.plain_bytes - 4 * profile.num_rows
    return _WEIGHT * (total * packed + profile.num_rows * 2)


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.domain is Domain.NONE and profile.dtype != t.NULL:
        stream = arrow_buffers.bytes_part(uncompressed.to_stream(profile.array, "zstd"))
        return EncodedColumn(_NAME, profile.dtype, profile.num_rows, parts={"stream": stream})
    if profile.domain is not Domain.BYTES:
        return None
    offsets, data = uncompressed.split_bytes(profile.filled)
    chunks = _compress(data)
    lengths = np.diff(offsets)
    return EncodedColumn(
        _NAME,
        profile.dtype,
        profile.num_rows,
        params={"bytes": data.size},
        parts=arrow_buffers.validity_part(profile.array)
        | {
            "lengths": arrow_buffers.part(lengths.astype(arrow_buffers.code_width(int(lengths.max(initial=0))))),
            "ends": arrow_buffers.part(np.cumsum([len(chunk) for chunk in chunks], dtype=np.uint32)),
            "chunks": pa.chunked_array(list(map(arrow_buffers.bytes_part, chunks)), pa.uint8()),
        },
    )


def _compress(data: pa.Buffer) -> list[pa.Buffer]:
    codec = pa.Codec("zstd", 1)
    starts = range(0, data.size, _CHUNK)
    return [codec.compress(data.slice(start, min(_CHUNK, data.size - start))) for start in starts]


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    if "stream" in column.parts:
        return uncompressed.from_stream(column.parts["stream"])
    offsets = np.empty(column.num_rows + 1, np.int32)
    kernels.lengths_to_offsets(arrow_buffers.numpy(column.parts["lengths"]), offsets)
    buffers = [column.validity, arrow_buffers.buffer_of(offsets), arrow_buffers.buffer_of(_decompress(column))]
    return pa.Array.from_buffers(t.to_arrow(column.dtype), column.num_rows, buffers)


def _decompress(column: EncodedColumn) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    data = np.empty(column.param("bytes"), np.uint8)
    chunks, codec = arrow_buffers.buffer(column.parts["chunks"], 1), pa.Codec("zstd", 1)
    start = place = 0
    for end in arrow_buffers.numpy(column.parts["ends"]).tolist():
        size = min(_CHUNK, len(data) - place)
        chunk = codec.decompress(chunks.slice(start, end - start), size)
        data[place : place + size] = np.frombuffer(memoryview(chunk), np.uint8)
        start, place = end, place + size
    return data


def _scan_form(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
