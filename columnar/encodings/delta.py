"""delta: bit-packed differences of neighbours above the smallest difference, for rising keys and times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import kernels, parts
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import bit_packed
from sharkpy.columnar.profile import ColumnProfile

_NAME = "delta"
# A delta column is always decoded from its start: use it only if codes of one byte do not fit.
_WEIGHT = 2.0
_WEIGHT_OVER_BYTES = 4.0


def _width(profile: ColumnProfile) -> int | None:
    integers = profile.integers
    if integers is None or profile.num_rows < 2:
        return None
    width = max((integers.max_delta - integers.min_delta).bit_length(), 1)
    return width if width <= 32 else None


def _estimate(profile: ColumnProfile) -> float | None:
    if (width := _width(profile)) is None:
        return None
    over_bytes = profile.narrowing is not None and profile.narrowing.top < 1 << 8
    weight = _WEIGHT_OVER_BYTES if over_bytes else _WEIGHT
    return weight * bit_packed.packed_bytes(profile.num_rows, width)


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    integers = profile.integers
    if (width := _width(profile)) is None or integers is None:
        return None
    codes = np.empty(profile.num_rows, parts.code_width((1 << width) - 1))
    kernels.deltas(integers.values, integers.min_delta, codes)
    return EncodedColumn(
        _NAME,
        profile.dtype,
        profile.num_rows,
        params={"first": int(integers.values[0]), "base": integers.min_delta, "width": width},
        parts=parts.validity_part(profile.array) | {"words": bit_packed.pack_codes(codes, width)},
    )


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    width = column.param("width")
    codes = np.empty(column.num_rows, parts.code_width((1 << width) - 1))
    bit_packed.unpack_codes(column.parts["words"], width, 0, 1, codes)
    out = parts.integer_output(column.num_rows, column.dtype)
    kernels.running_sum(codes, column.param("first"), column.param("base"), out)
    return parts.integers_to_arrow(out, column.dtype, column.validity)


def _scan_form(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
