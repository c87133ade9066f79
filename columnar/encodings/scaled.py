"""scaled: floats that are decimal numbers, as integers over a power of ten (after ALP, SIGMOD 2024).

The codec applies only if every value is restored bit for bit. There are no exceptions to patch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import arrow_buffers, kernels
from sharkpy.columnar.encoded_column import Codec, Decoded, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import integers
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t

_NAME = "scaled"
_WEIGHT = 1.25
_INTEGER_CODECS = {codec.name: codec for codec in (integers.NARROW, integers.BIT_PACKED, integers.DELTA)}


def _cheapest(integers: ColumnProfile) -> tuple[float, Codec] | None:
    costs = [(cost, codec) for codec in _INTEGER_CODECS.values() if (cost := codec.estimate(integers)) is not None]
    return min(costs, key=lambda pair: pair[0], default=None)


def _estimate(profile: ColumnProfile) -> float | None:
    if profile.dtype != t.DOUBLE or (scaled := profile.scaled) is None:
        return None
    found = _cheapest(scaled[1])
    return found[0] * _WEIGHT if found else None


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.dtype != t.DOUBLE or (scaled := profile.scaled) is None:
        return None
    digits, integers = scaled
    found = _cheapest(integers)
    child = found[1].encode(integers) if found else None
    if child is None:
        return None
    return EncodedColumn(
        _NAME,
        profile.dtype,
        profile.num_rows,
        params={"digits": digits},
        parts=arrow_buffers.validity_part(profile.array),
        children={"integers": child},
    )


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    child = column.children["integers"]
    whole = arrow_buffers.numpy(_INTEGER_CODECS[child.encoding].decode(child))
    out = np.empty(column.num_rows, np.float64)
    kernels.unscale_floats(whole, 10.0 ** column.param("digits"), out)
    return pa.Array.from_buffers(pa.float64(), column.num_rows, [column.validity, arrow_buffers.buffer_of(out)])


def _scan_form(column: EncodedColumn) -> ScanForm:
    return Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
