"""Bytes of fields, one after the other, as Arrow stores texts."""

from __future__ import annotations

import numpy as np

from sharkpy.sources.kernels.vector_bytes import Bytes, Numbers, Word, copy_16, kernel


@kernel
def copy_fields(
    data: Bytes, starts: Numbers, ends: Numbers, null: Bytes, offsets: Numbers, valid: Bytes, out: Bytes
) -> tuple[Word, Word]:
    """Copy fields one after the other; return the number of NULLs, and whether all bytes are ASCII.

    Fields that equal `null` or start at -1 are NULL: their bits in `valid`, which are all set before, are cleared.
    `out` has room for all fields and 16 bytes more.
    """
    num_nulls = 0
    length = 0
    seen = np.uint8(0)
    safe = len(data) - 16
    for row in range(len(starts)):
        offsets[row] = length
        start = starts[row]
        size = ends[row] - start
        is_null = start < 0
        if size == len(null) and not is_null:
            is_null = True
            for i in range(size):
                is_null &= data[start + i] == null[i]
        if is_null:
            valid[row >> 3] &= ~np.uint8(1 << (row & 7))
            num_nulls += 1
            continue
        if start + size <= safe:
            for i in range(0, size, 16):
                copy_16(out, length + i, data, start + i)
        else:
            for i in range(size):
                out[length + i] = data[start + i]
        length += size
    offsets[len(starts)] = length
    for i in range(length):
        seen |= out[i]
    return num_nulls, seen < 128
