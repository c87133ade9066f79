"""Compiled loops over NumPy arrays: profiles of integers and floats, narrowing, bit packing, deltas.

The loops do not check bounds: callers pass arrays of the stated lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sharkpy.columnar.compiled import compiled

Array = np.ndarray[Any, np.dtype[Any]]


@compiled
def profile_integers(values: Array) -> tuple[np.int64, np.int64, np.int64, np.int64, np.int64]:
    """(min, max, runs, min delta, max delta) of at least one value; deltas wrap at 64 bits."""
    low = np.int64(values[0])
    high = low
    runs = np.int64(1)
    min_delta = np.int64(0x7FFFFFFFFFFFFFFF)
    max_delta = np.int64(-0x8000000000000000)
    for i in range(1, len(values)):
        value = np.int64(values[i])
        delta = value - np.int64(values[i - 1])
        low = min(low, value)
        high = max(high, value)
        runs += np.int64(delta != 0)
        min_delta = min(min_delta, delta)
        max_delta = max(max_delta, delta)
    return low, high, runs, min_delta, max_delta


@compiled
def common_factor(values: Array, base: int) -> np.uint64:
    """Greatest common divisor of all `value - base`, taken as unsigned differences, or 0 if all are zero."""
    factor = np.uint64(0)
    for i in range(len(values)):
        rest = np.uint64(np.int64(values[i])) - np.uint64(np.int64(base))
        if factor == 0:
            factor = rest
        elif rest % factor != 0:
            while rest != 0:
                factor, rest = rest, factor % rest
        if factor == 1:
            break
    return factor


@compiled
def narrow(values: Array, base: int, out: Array) -> None:
    """out = value - base, in the width of `out`."""
    for i in range(len(values)):
        out[i] = np.uint64(np.int64(values[i])) - np.uint64(np.int64(base))


@compiled
def narrow_factor(values: Array, base: int, factor: int, out: Array) -> None:
    """out = (value - base) / factor; factor divides every difference without a remainder."""
    divisor = np.uint64(factor)
    for i in range(len(values)):
        out[i] = (np.uint64(np.int64(values[i])) - np.uint64(np.int64(base))) // divisor


@compiled
def widen(codes: Array, base: int, factor: int, out: Array) -> None:
    """out = base + factor * code."""
    for i in range(len(codes)):
        out[i] = np.int64(base) + np.int64(factor) * np.int64(codes[i])


@compiled
def split_decimals(pairs: Array, out: Array) -> bool:
    """out = the low word of 128-bit integers. Return False if a value does not fit 64 bits."""
    fits = True
    for i in range(len(out)):
        low = pairs[2 * i]
        fits &= pairs[2 * i + 1] == (low >> 63)
        out[i] = low
    return fits


@compiled
def join_decimals(low: Array, pairs: Array) -> None:
    """128-bit integers from 64-bit ones."""
    for i in range(len(low)):
        value = np.int64(low[i])
        pairs[2 * i] = value
        pairs[2 * i + 1] = value >> 63


@compiled
def pack(codes: Array, width: int, lanes: int, words: Array) -> None:
    """Pack codes of `width` bits each: code `row * lanes + lane` of 64 rows starts `width * row` bits into its lane.

    `words` is zeroed uint64 of `width * lanes`. Word w of a lane is at `w * lanes + lane`, so that packing and
    unpacking a row are loops over neighbours (the transposed layout of FastLanes, VLDB 2023, with one wide group).
    """
    for row in range((len(codes) + lanes - 1) // lanes):
        bit = row * width
        shift = np.uint64(bit & 63)
        part = codes[row * lanes : row * lanes + lanes]
        low = words[(bit >> 6) * lanes : (bit >> 6) * lanes + len(part)]
        for lane in range(len(part)):
            low[lane] |= np.uint64(part[lane]) << shift
        if (bit & 63) + width > 64:
            high = words[((bit >> 6) + 1) * lanes : ((bit >> 6) + 1) * lanes + len(part)]
            left = np.uint64(64) - shift
            for lane in range(len(part)):
                high[lane] |= np.uint64(part[lane]) >> left


@compiled
def unpack(words: Array, width: int, lanes: int, base: int, factor: int, out: Array) -> None:
    """out = base + factor * code for codes packed by `pack`."""
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - width)
    for row in range((len(out) + lanes - 1) // lanes):
        bit = row * width
        shift = np.uint64(bit & 63)
        target = out[row * lanes : row * lanes + lanes]
        low = words[(bit >> 6) * lanes : (bit >> 6) * lanes + len(target)]
        if (bit & 63) + width <= 64:
            for lane in range(len(target)):
                target[lane] = np.int64(base) + np.int64(factor) * np.int64((low[lane] >> shift) & mask)
        else:
            high = words[((bit >> 6) + 1) * lanes : ((bit >> 6) + 1) * lanes + len(target)]
            left = np.uint64(64) - shift
            for lane in range(len(target)):
                code = ((low[lane] >> shift) | (high[lane] << left)) & mask
                target[lane] = np.int64(base) + np.int64(factor) * np.int64(code)


@compiled
def deltas(values: Array, base: int, out: Array) -> None:
    """out[i] = values[i] - values[i - 1] - base; out[0] = 0."""
    out[0] = 0
    for i in range(1, len(values)):
        out[i] = np.uint64(np.int64(values[i])) - np.uint64(np.int64(values[i - 1])) - np.uint64(np.int64(base))


@compiled
def running_sum(codes: Array, first: int, base: int, out: Array) -> None:
    """The inverse of `deltas`."""
    total = np.int64(first)
    out[0] = total
    for i in range(1, len(codes)):
        total += np.int64(base) + np.int64(codes[i])
        out[i] = total


@compiled
def keys_in_bits(values: Array, low: int, bits: Array, out: Array) -> int:
    """Write to `out` the positions of the values v for which bit v - low of `bits` is set. Return their number."""
    count = 0
    span = np.uint64(len(bits) * 8)
    for i in range(len(values)):
        place = np.uint64(np.int64(values[i]) - low)
        # Values below `low` wrap around to above the span.
        if place < span and (bits[place >> np.uint64(3)] >> (place & np.uint64(7))) & np.uint64(1):
            out[count] = i
            count += 1
    return count


@compiled
def presence(codes: Array, seen: Array) -> None:
    """seen[code] = 1 for every code."""
    for i in range(len(codes)):
        seen[codes[i]] = 1


@compiled
def recode(codes: Array, table: Array, out: Array) -> None:
    """out = table[code] for every code."""
    for i in range(len(codes)):
        out[i] = table[codes[i]]


@compiled
def sum_of_codes(codes: Array, table: Array) -> np.int64:
    """Sum of table[code] over all codes."""
    total = np.int64(0)
    for i in range(len(codes)):
        total += table[codes[i]]
    return total


@compiled
def small_distinct(values: Array, limit: int, out: Array, slots: Array, used: Array) -> int:
    """Write the distinct values, at most `limit` (64), to `out`. Return their number, or -1 if there are more.

    `slots` and `used` are 256 zeros, since memory that a loop allocates needs numba.
    """
    count = 0
    for i in range(len(values)):
        value = np.int64(values[i])
        slot = np.int64((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(56))
        while used[slot] and slots[slot] != value:
            slot = (slot + 1) & 255
        if not used[slot]:
            if count == limit:
                return -1
            used[slot] = 1
            slots[slot] = value
            out[count] = value
            count += 1
    return count


@compiled
def mark_hashes(codes: Array, base: int, factor: int, bits: int, marks: Array, index_bits: int, least: Array) -> None:
    """Set the bit of the hash of each base + factor * code in a table of 2**bits bits (linear counting).

    `marks` are the words of the table, which are 64 bits each, so that it fits a processor's cache. `least` is updated
    as in `hash_numbers`.
    """
    shift, index_shift, rest_shift = np.uint64(64 - bits), np.uint64(64 - index_bits), np.uint64(index_bits)
    for i in range(len(codes)):
        mixed = np.uint64(np.int64(base) + np.int64(factor) * np.int64(codes[i]))
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        slot = mixed >> shift
        marks[slot >> np.uint64(6)] |= np.uint64(1) << (slot & np.uint64(63))
        index, rest = mixed >> index_shift, mixed << rest_shift
        least[index] = min(least[index], rest)


@compiled
def hash_numbers(codes: Array, base: int, factor: int, index_bits: int, least: Array) -> None:
    """Update `least`: per value of the first `index_bits` bits of a hash of base + factor * code, the smallest
    remainder.
    """
    index_shift, rest_shift = np.uint64(64 - index_bits), np.uint64(index_bits)
    for i in range(len(codes)):
        mixed = np.uint64(np.int64(base) + np.int64(factor) * np.int64(codes[i]))
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        index, rest = mixed >> index_shift, mixed << rest_shift
        least[index] = min(least[index], rest)


@compiled
def hash_strings(offsets: Array, data: Array, index_bits: int, least: Array) -> None:
    """Hash byte strings as `hash_numbers` hashes numbers: string i is data[offsets[i]:offsets[i + 1]]."""
    index_shift, rest_shift = np.uint64(64 - index_bits), np.uint64(index_bits)
    for i in range(len(offsets) - 1):
        position, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        mixed = np.uint64(end - position)
        while position < end:
            # Eight bytes at a time: the compiler makes one load of them.
            word = np.uint64(0)
            if position + 8 <= end:
                for k in range(8):
                    word |= np.uint64(data[position + k]) << np.uint64(8 * k)
            else:
                for k in range(end - position):
                    word |= np.uint64(data[position + k]) << np.uint64(8 * k)
            mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
            position += 8
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        index, rest = mixed >> index_shift, mixed << rest_shift
        least[index] = min(least[index], rest)


@compiled
def order_keys(offsets: Array, data: Array, out: Array) -> None:
    """out = up to eight bytes of each string past the prefix that all share, as a number that is ordered as they are.
    Zeros pad shorter strings.
    """
    first, prefix = int(offsets[0]), int(offsets[1]) - int(offsets[0])
    for i in range(1, len(out)):
        start, shared = int(offsets[i]), 0
        prefix = min(prefix, int(offsets[i + 1]) - start)
        while shared < prefix and data[start + shared] == data[first + shared]:
            shared += 1
        prefix = shared
    for i in range(len(out)):
        start, key = int(offsets[i]) + prefix, np.uint64(0)
        for k in range(min(int(offsets[i + 1]) - start, 8)):
            key |= np.uint64(data[start + k]) << np.uint64(56 - 8 * k)
        out[i] = key


@compiled
def byte_bounds(offsets: Array, data: Array, words: Array) -> tuple[int, int]:
    """(place of a smallest, place of a greatest) of at least one byte string, given as for `hash_strings`.

    `words` are the eight bytes from each place of `data` on.
    """

    def word(start: int, end: int) -> np.uint64:
        """Up to eight bytes as a number that is ordered as they are."""
        found = np.uint64(0)
        if start + 8 > len(data):
            for k in range(end - start):
                found |= np.uint64(data[start + k]) << np.uint64(56 - 8 * k)
        elif start < end:
            # LLVM makes one instruction of the reversal.
            found = words[start]
            found = (found << np.uint64(32)) | (found >> np.uint64(32))
            pairs = np.uint64(0x0000FFFF0000FFFF)
            found = ((found & pairs) << np.uint64(16)) | ((found >> np.uint64(16)) & pairs)
            ones = np.uint64(0x00FF00FF00FF00FF)
            found = ((found & ones) << np.uint64(8)) | ((found >> np.uint64(8)) & ones)
            if end - start < 8:
                found &= ~(np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(8 * (end - start)))
        return found

    least = most = 0
    low = high = word(int(offsets[0]), int(offsets[1]))
    for i in range(1, len(offsets) - 1):
        start, end = int(offsets[i]), int(offsets[i + 1])
        head = word(start, end)
        # The first word decides nearly always.
        if low < head < high:
            continue
        for side in range(2):
            other = most if side else least
            first, last = int(offsets[other]), int(offsets[other + 1])
            here, there, position = head, high if side else low, start
            while here == there and position < end and first < last:
                position, first = position + 8, first + 8
                here, there = word(position, end), word(first, last)
            is_less = here < there if here != there else end - position < last - first
            is_greater = here > there if here != there else end - position > last - first
            if side == 0 and is_less:
                least, low = i, head
            if side == 1 and is_greater:
                most, high = i, head
    return least, most


@compiled
def profile_floats(values: Array) -> tuple[float, float, bool]:
    """(min, max, any NaN), ignoring NaN; (inf, -inf) if all are NaN."""
    low = np.inf
    high = -np.inf
    nan = False
    for i in range(len(values)):
        value = np.float64(values[i])
        nan |= np.isnan(value)
        low = min(low, value)
        high = max(high, value)
    return low, high, nan


@compiled
def scale_floats(values: Array, power: float, out: Array) -> bool:
    """out = round(value * power) if value == out / power, bit for bit. Return False if a value has no such integer."""
    for i in range(len(values)):
        value = np.float64(values[i])
        scaled = value * power
        if not abs(scaled) < 9007199254740992.0:
            return False
        whole = np.int64(np.rint(scaled))
        if np.float64(whole) / power != value or (whole == 0 and np.signbit(value)):
            return False
        out[i] = whole
    return True


@compiled
def unscale_floats(values: Array, power: float, out: Array) -> None:
    """The inverse of `scale_floats`."""
    for i in range(len(values)):
        out[i] = np.float64(values[i]) / power


@compiled
def lengths_to_offsets(lengths: Array, out: Array) -> None:
    """int32 offsets of an Arrow string array from its lengths; len(out) == len(lengths) + 1."""
    total = np.int64(0)
    out[0] = 0
    for i in range(len(lengths)):
        total += np.int64(lengths[i])
        out[i + 1] = total


def load_kernels() -> None:
    """Load LLVM and a first compiled loop, which takes longer than a small table. Threads may call it at once."""
    presence(np.zeros(0, np.uint8), np.zeros(0, np.uint8))
