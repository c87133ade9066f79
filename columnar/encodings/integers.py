"""Encodings of integers: narrow, bit_packed and delta.

- narrow: value = base + factor * code, with codes of 8, 16 or 32 bits (frame of reference).
- bit_packed: the codes of `narrow`, in as many bits as they need.
- delta: bit-packed differences of neighbours above the smallest difference, for rising keys and times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import arrow_buffers, kernels
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, NarrowForm, ScanForm
from sharkpy.columnar.profile import ColumnProfile

_NARROW = "narrow"


def _estimate_narrow(profile: ColumnProfile) -> float | None:
    if profile.narrowing is None or (width := arrow_buffers.code_width(profile.narrowing.top)) is None:
        return None
    return float(profile.num_rows * int(width[1]))


def _encode_narrow(profile: ColumnProfile) -> EncodedColumn | None:
    narrowing, codes = profile.narrowing, profile.codes
    if narrowing is None or codes is None:
        return None
    return EncodedColumn(
        _NARROW,
        profile.dtype,
        profile.num_rows,
        params={"base": narrowing.base, "factor": narrowing.factor},
        parts=arrow_buffers.validity_part(profile.array) | {"codes": arrow_buffers.part(codes)},
    )


def _decode_narrow(column: EncodedColumn) -> pa.Array[Any]:
    out = arrow_buffers.integer_output(column.num_rows, column.dtype)
    kernels.widen(arrow_buffers.numpy(column.parts["codes"]), column.param("base"), column.param("factor"), out)
    return arrow_buffers.integers_to_arrow(out, column.dtype, column.validity)


def _scan_form_narrow(column: EncodedColumn) -> ScanForm:
    codes = column.parts["codes"]
    array = pa.Array.from_buffers(codes.type, column.num_rows, [column.validity, codes.buffers()[1]])
    return NarrowForm(array, column.param("base"), column.param("factor"), column.dtype)


NARROW = Codec(_NARROW, _estimate_narrow, _encode_narrow, _decode_narrow, _scan_form_narrow)


_BIT_PACKED = "bit_packed"
# Packed codes are unpacked before DuckDB scans them, narrow codes are not. So packing has to save a quarter, and more
# than half if narrow codes are bytes.
_BIT_PACKED_WEIGHT = 4 / 3
_BIT_PACKED_WEIGHT_OVER_BYTES = 3.0


def _estimate_bit_packed(profile: ColumnProfile) -> float | None:
    if profile.narrowing is None:
        return None
    width = max(profile.narrowing.top.bit_length(), 1)
    if width >= 63:
        return None
    weight = _BIT_PACKED_WEIGHT_OVER_BYTES if width <= 8 else _BIT_PACKED_WEIGHT * 1.0001
    return weight * packed_bytes(profile.num_rows, width)


def packed_bytes(num_rows: int, width: int) -> int:
    return (num_rows + 63) // 64 * width * 8


def pack_codes(codes: arrow_buffers.Array, width: int) -> pa.Array[Any]:
    lanes = (len(codes) + 63) // 64
    words = np.zeros(width * lanes, np.uint64)
    kernels.pack(codes, width, lanes, words)
    return arrow_buffers.part(words)


def unpack_codes(words: pa.Array[Any], width: int, base: int, factor: int, out: arrow_buffers.Array) -> None:
    kernels.unpack(arrow_buffers.numpy(words), width, (len(out) + 63) // 64, base, factor, out)


def _encode_bit_packed(profile: ColumnProfile) -> EncodedColumn | None:
    narrowing, integers = profile.narrowing, profile.integers
    if narrowing is None or integers is None:
        return None
    width = max(narrowing.top.bit_length(), 1)
    if width >= 63:
        return None
    codes = profile.codes
    if codes is None:
        codes = np.empty(profile.num_rows, np.uint64)
        kernels.narrow_factor(integers.values, narrowing.base, narrowing.factor, codes)
    return EncodedColumn(
        _BIT_PACKED,
        profile.dtype,
        profile.num_rows,
        params={"base": narrowing.base, "factor": narrowing.factor, "width": width},
        parts=arrow_buffers.validity_part(profile.array) | {"words": pack_codes(codes, width)},
    )


def _decode_bit_packed(column: EncodedColumn) -> pa.Array[Any]:
    out = arrow_buffers.integer_output(column.num_rows, column.dtype)
    base, factor = column.param("base"), column.param("factor")
    unpack_codes(column.parts["words"], column.param("width"), base, factor, out)
    return arrow_buffers.integers_to_arrow(out, column.dtype, column.validity)


def _scan_form_bit_packed(column: EncodedColumn) -> ScanForm:
    width = column.param("width")
    name = arrow_buffers.code_width((1 << width) - 1)
    if name is None:
        return Decoded(_decode_bit_packed(column))
    codes = np.empty(column.num_rows, name)
    unpack_codes(column.parts["words"], width, 0, 1, codes)
    arrow_type = {"u1": pa.uint8(), "u2": pa.uint16(), "u4": pa.uint32()}[name]
    array = pa.Array.from_buffers(arrow_type, column.num_rows, [column.validity, arrow_buffers.buffer_of(codes)])
    return NarrowForm(array, column.param("base"), column.param("factor"), column.dtype)


BIT_PACKED = Codec(_BIT_PACKED, _estimate_bit_packed, _encode_bit_packed, _decode_bit_packed, _scan_form_bit_packed)


_DELTA = "delta"
# A delta column is always decoded from its start: use it only if codes of one byte do not fit.
_DELTA_WEIGHT = 2.0
_DELTA_WEIGHT_OVER_BYTES = 4.0


def _width(profile: ColumnProfile) -> int | None:
    integers = profile.integers
    if integers is None or profile.num_rows < 2:
        return None
    width = max((integers.max_delta - integers.min_delta).bit_length(), 1)
    return width if width <= 32 else None


def _estimate_delta(profile: ColumnProfile) -> float | None:
    if (width := _width(profile)) is None:
        return None
    over_bytes = profile.narrowing is not None and profile.narrowing.top < 1 << 8
    weight = _DELTA_WEIGHT_OVER_BYTES if over_bytes else _DELTA_WEIGHT
    return weight * packed_bytes(profile.num_rows, width)


def _encode_delta(profile: ColumnProfile) -> EncodedColumn | None:
    integers = profile.integers
    if (width := _width(profile)) is None or integers is None:
        return None
    codes = np.empty(profile.num_rows, arrow_buffers.code_width((1 << width) - 1))
    kernels.deltas(integers.values, integers.min_delta, codes)
    return EncodedColumn(
        _DELTA,
        profile.dtype,
        profile.num_rows,
        params={"first": int(integers.values[0]), "base": integers.min_delta, "width": width},
        parts=arrow_buffers.validity_part(profile.array) | {"words": pack_codes(codes, width)},
    )


def _decode_delta(column: EncodedColumn) -> pa.Array[Any]:
    width = column.param("width")
    codes = np.empty(column.num_rows, arrow_buffers.code_width((1 << width) - 1))
    unpack_codes(column.parts["words"], width, 0, 1, codes)
    out = arrow_buffers.integer_output(column.num_rows, column.dtype)
    kernels.running_sum(codes, column.param("first"), column.param("base"), out)
    return arrow_buffers.integers_to_arrow(out, column.dtype, column.validity)


def _scan_form_delta(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode_delta(column))


DELTA = Codec(_DELTA, _estimate_delta, _encode_delta, _decode_delta, _scan_form_delta)
