"""Offsets of the fields of lines, and their bytes as Arrow stores texts.

64 bytes at a time are compared with both delimiters.
"""

from __future__ import annotations

import numpy as np

from sharkpy.sources.kernels.vector_bytes import Bytes, Numbers, Word, copy_16, count_ones, kernel, lowest_one, match_64

_ONE = np.uint64(1)


@kernel
def count_byte(data: Bytes, byte: np.uint8) -> Word:
    """Number of occurrences of `byte`."""
    found = 0
    whole = len(data) & ~63
    for base in range(0, whole, 64):
        found += count_ones(match_64(data, base, byte))
    for place in range(whole, len(data)):
        found += data[place] == byte
    return found


@kernel
def line_ends(data: Bytes, newline: np.uint8, ends: Numbers) -> Word:
    """Write the offset of each newline to `ends`, which has room for all of them; return their number."""
    found = 0
    whole = len(data) & ~63
    for base in range(0, whole, 64):
        newlines = match_64(data, base, newline)
        while newlines != 0:
            ends[found] = base + lowest_one(newlines)
            found += 1
            newlines &= newlines - _ONE
    for place in range(whole, len(data)):
        if data[place] == newline:
            ends[found] = place
            found += 1
    return found


@kernel
def cut_lines(
    data: Bytes,
    separator: np.uint8,
    newline: np.uint8,
    wanted: Numbers,
    num_fields: int,
    last_field: int,
    starts: Numbers,
    ends: Numbers,
) -> tuple[Word, Word]:
    """Number of lines, and number of lines with fewer than `num_fields` fields.

    `starts` and `ends` are (wanted, lines): the fields `wanted`, whose numbers ascend, are data[start:end]. A missing
    field starts at -1. The field `last_field` reaches to the end of the line. The last line may lack its newline.
    """
    size = len(data)
    whole = size & ~63
    # Copy of the last incomplete 64 bytes, so that nothing is read past the end of the data.
    tail = np.zeros(64, np.uint8)
    tail[: size - whole] = data[whole:]
    num_wanted = len(wanted)
    row, short, field, start, found = 0, 0, 0, 0, 0
    upcoming = wanted[0] if num_wanted else -1
    for base in range(0, whole + 64, 64):
        if base < whole:
            separators = match_64(data, base, separator)
            newlines = match_64(data, base, newline)
        else:
            inside = (_ONE << np.uint64(size - whole)) - _ONE
            separators = match_64(tail, 0, separator) & inside
            newlines = match_64(tail, 0, newline) & inside
            if size and data[size - 1] != newline:
                newlines |= _ONE << np.uint64(size - whole)
        while True:
            if found == num_wanted:
                # For the rest of the line, only the number of fields is needed.
                if newlines == 0:
                    field += count_ones(separators)
                    break
                low = newlines & (~newlines + _ONE)
                field += count_ones(separators & (low - _ONE))
                separators &= ~(low | (low - _ONE))
                newlines ^= low
                start = base + lowest_one(low) + 1
            else:
                both = separators | newlines
                if both == 0:
                    break
                low = both & (~both + _ONE)
                is_end = newlines & low != 0
                separators &= ~low
                if field == last_field and not is_end:
                    continue
                place = base + lowest_one(low)
                if field == upcoming:
                    starts[found, row] = start
                    ends[found, row] = place
                    found += 1
                    upcoming = wanted[found] if found < num_wanted else -1
                start = place + 1
                if not is_end:
                    field += 1
                    continue
                newlines ^= low
                while found < num_wanted:
                    starts[found, row] = -1
                    ends[found, row] = -1
                    found += 1
            row += 1
            short += field + 1 < num_fields
            field = 0
            found = 0
            upcoming = wanted[0] if num_wanted else -1
    return row, short


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
