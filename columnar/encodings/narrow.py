"""narrow: integers as value = base + factor * code with codes of 8, 16 or 32 bits (frame of reference)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sharkpy.columnar import kernels, parts
from sharkpy.columnar.encoded_column import Codec, EncodedColumn, NarrowForm, ScanForm
from sharkpy.columnar.profile import ColumnProfile

_NAME = "narrow"


def _estimate(profile: ColumnProfile) -> float | None:
    if profile.narrowing is None or (width := parts.code_width(profile.narrowing.top)) is None:
        return None
    return float(profile.num_rows * int(width[1]))


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    narrowing, codes = profile.narrowing, profile.codes
    if narrowing is None or codes is None:
        return None
    return EncodedColumn(
        _NAME,
        profile.dtype,
        profile.num_rows,
        params={"base": narrowing.base, "factor": narrowing.factor},
        parts=parts.validity_part(profile.array) | {"codes": parts.part(codes)},
    )


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    out = parts.integer_output(column.num_rows, column.dtype)
    kernels.widen(parts.numpy(column.parts["codes"]), column.param("base"), column.param("factor"), out)
    return parts.integers_to_arrow(out, column.dtype, column.validity)


def _scan_form(column: EncodedColumn) -> ScanForm:
    codes = column.parts["codes"]
    array = pa.Array.from_buffers(codes.type, column.num_rows, [column.validity, codes.buffers()[1]])
    return NarrowForm(array, column.param("base"), column.param("factor"), column.dtype)


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
