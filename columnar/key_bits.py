"""Sets of integers as bits, to find the rows of a scan whose key is on the other side of a join."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.columnar.kernels import keys_in_bits

if TYPE_CHECKING:
    AnyArray = pa.Array[Any]

MOST_SPAN = 1 << 26
"""Largest distance of the smallest and greatest key for which bits are used: 8 MB of bits."""


@dataclass(frozen=True, slots=True)
class KeyBits:
    """The integers `low + i` whose bit i, least significant first, is set. There are `count` of them."""

    low: int
    count: int
    bits: bytes = field(repr=False)

    @property
    def span(self) -> int:
        return len(self.bits) * 8

    def places(self, keys: AnyArray) -> AnyArray:
        """Return the positions of the values of `keys`, an array of integers, that are in the set. NULL is not."""
        values = np.frombuffer(memoryview(keys.buffers()[1] or b""), keys.type.to_pandas_dtype())
        values = values[keys.offset : keys.offset + len(keys)]
        out = np.empty(len(keys), np.uint32)
        count = keys_in_bits(values, self.low, np.frombuffer(self.bits, np.uint8), out)
        found = out[:count]
        return pa.array(found[np.asarray(pc.is_valid(keys), np.bool_)[found]] if keys.null_count else found)


def key_bits(column: pa.ChunkedArray[Any]) -> KeyBits | None:
    """Return the set of a column's values, or None if they are not integers, are all NULL, or are too far apart."""
    if not pa.types.is_signed_integer(column.type) or column.null_count == len(column):
        return None
    bounds = pc.min_max(column)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if high - low >= MOST_SPAN:
        return None
    flags = np.zeros(high - low + 1, np.bool_)
    for chunk in column.chunks:
        flags[chunk.drop_null().to_numpy(zero_copy_only=False).astype(np.int64) - low] = True
    return KeyBits(low, int(np.count_nonzero(flags)), np.packbits(flags, bitorder="little").tobytes())
