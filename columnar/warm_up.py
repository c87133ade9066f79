"""Load the compiled kernels before the first query needs them, for processes that others are forked from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import encodings
from sharkpy.columnar.block import Block, encode_block
from sharkpy.values import types as t

_ROWS = 256
_TYPES: tuple[t.DataType, ...] = (t.INT, t.BIGINT, t.DATE, t.DecimalType(15, 2), t.DOUBLE, t.STRING)
_SPREADS = (100, 10_000, 1_000_000)
_ENCODINGS = ("", *(codec.name for codec in encodings.CODECS))


def warm_up() -> None:
    """Encode and decode small columns of the common types and code widths under every encoding."""
    for spread in _SPREADS:
        numbers: pa.Array[Any] = pa.array(np.arange(_ROWS) * spread // _ROWS)
        columns = {str(dtype): _convert(numbers, dtype) for dtype in _TYPES}
        schema = t.Schema(tuple(t.Field(str(dtype), dtype) for dtype in _TYPES))
        for name in _ENCODINGS:
            block = Block.from_buffer(encode_block(pa.table(columns), schema, force_encoding=name).content)
            block.scan_forms(block.names)
            block.read(block.names, decoded=True)


def _convert(numbers: pa.Array[Any], dtype: t.DataType) -> pa.Array[Any]:
    if dtype == t.DATE:
        return numbers.cast(pa.int32()).cast(pa.date32())
    if isinstance(dtype, t.DecimalType):
        return numbers.cast(pa.decimal128(38, dtype.scale)).cast(t.to_arrow(dtype))
    return numbers.cast(t.to_arrow(dtype))
