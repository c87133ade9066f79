"""bit_packed: the codes of `narrow`, in as many bits as they need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import kernels, parts
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, NarrowForm, ScanForm
from sharkpy.columnar.profile import ColumnProfile

_NAME = "bit_packed"
# Packed codes are unpacked before DuckDB scans them, narrow codes are not. So packing has to save a quarter, and more
# than half if narrow codes are bytes.
_WEIGHT = 4 / 3
_WEIGHT_OVER_BYTES = 3.0


def _estimate(profile: ColumnProfile) -> float | None:
    if profile.narrowing is None:
        return None
    width = max(profile.narrowing.top.bit_length(), 1)
    if width >= 63:
        return None
    weight = _WEIGHT_OVER_BYTES if width <= 8 else _WEIGHT * 1.0001
    return weight * packed_bytes(profile.num_rows, width)


def packed_bytes(num_rows: int, width: int) -> int:
    return (num_rows + 63) // 64 * width * 8


def pack_codes(codes: parts.Array, width: int) -> pa.Array[Any]:
    lanes = (len(codes) + 63) // 64
    words = np.zeros(width * lanes, np.uint64)
    kernels.pack(codes, width, lanes, words)
    return parts.part(words)


def unpack_codes(words: pa.Array[Any], width: int, base: int, factor: int, out: parts.Array) -> None:
    kernels.unpack(parts.numpy(words), width, (len(out) + 63) // 64, base, factor, out)


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
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
        _NAME,
        profile.dtype,
        profile.num_rows,
        params={"base": narrowing.base, "factor": narrowing.factor, "width": width},
        parts=parts.validity_part(profile.array) | {"words": pack_codes(codes, width)},
    )


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    out = parts.integer_output(column.num_rows, column.dtype)
    base, factor = column.param("base"), column.param("factor")
    unpack_codes(column.parts["words"], column.param("width"), base, factor, out)
    return parts.integers_to_arrow(out, column.dtype, column.validity)


def _scan_form(column: EncodedColumn) -> ScanForm:
    width = column.param("width")
    name = parts.code_width((1 << width) - 1)
    if name is None:
        return Decoded(_decode(column))
    codes = np.empty(column.num_rows, name)
    unpack_codes(column.parts["words"], width, 0, 1, codes)
    arrow_type = {"u1": pa.uint8(), "u2": pa.uint16(), "u4": pa.uint32()}[name]
    array = pa.Array.from_buffers(arrow_type, column.num_rows, [column.validity, parts.buffer_of(codes)])
    return NarrowForm(array, column.param("base"), column.param("factor"), column.dtype)


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
