"""Checks of sketch bytes before the library reads them: it trusts its input, and crafted bytes would crash the
process.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_COMPACT = 8
_MOST_VALUE = 63
"""Largest value, which is a number of trailing zeros of 64 bits."""


def is_hll(sketch: bytes) -> bool:
    """Return True for a compact HLL sketch, as the library writes it."""
    if len(sketch) < 8 or sketch[1] != 1 or sketch[2] != 7 or not sketch[5] & _COMPACT:
        return False
    size, mode = sketch[3], sketch[7]
    if not 4 <= size <= 21 or mode >> 2 > 2:
        return False
    match mode & 3, sketch[0]:
        case 0, 2:
            number = sketch[6]
            return number <= 8 and sketch[4] == 3 and _are_coupons(sketch[8:], number)
        case 1, 3 if len(sketch) >= 12:
            (number,) = struct.unpack_from("<I", sketch, 8)
            room = sketch[4]
            return 5 <= room <= max(5, size - 2) and 4 * number <= 3 << room and _are_coupons(sketch[12:], number)
        case 2, 10 if len(sketch) >= 40:
            return _is_hll_array(sketch, size, mode >> 2)
    return False


def _are_coupons(data: bytes, number: int) -> bool:
    if len(data) != 4 * number:
        return False
    coupons = np.frombuffer(data, "<u4")
    return bool(np.all(coupons >> 26 > 0)) and len(np.unique(coupons)) == number


def _is_hll_array(sketch: bytes, size: int, kind: int) -> bool:
    """`kind` 0, 1 and 2: registers of 4, 6 and 8 bits."""
    num_registers, least = 1 << size, sketch[6]
    hip, low_sum, high_sum = struct.unpack_from("<3d", sketch, 8)
    at_least, num_exceptions = struct.unpack_from("<2I", sketch, 32)
    sums = np.array([hip, low_sum, high_sum])
    if not bool(np.all(np.isfinite(sums) & (sums >= 0))) or not 0 < low_sum + high_sum <= num_registers:
        return False
    length = (num_registers >> 1, (num_registers * 3 >> 2) + 1, num_registers)[kind]
    if at_least > num_registers or len(sketch) != 40 + length + 4 * num_exceptions:
        return False
    registers = np.frombuffer(sketch, np.uint8, length, 40)
    if kind != 0:
        return least == 0 and num_exceptions == 0 and (kind == 1 or bool(np.all(registers <= _MOST_VALUE)))
    halves = np.stack([registers & 15, registers >> 4], axis=1).ravel()
    exceptions = np.frombuffer(sketch, "<u4", num_exceptions, 40 + length)
    slots, values = exceptions & ((1 << 26) - 1), exceptions >> 26
    is_told = np.array_equal(np.sort(slots), np.flatnonzero(halves == 15))
    return least + 14 <= _MOST_VALUE and is_told and bool(np.all(values >= least + 15))


def is_theta(sketch: bytes) -> bool:
    """Return True for a compact Theta sketch of the third version, as Hive and the library write it."""
    if len(sketch) < 8 or not 1 <= sketch[0] <= 3 or sketch[1] != 3 or sketch[2] != 3:
        return False
    if sketch[0] == 1:
        return len(sketch) in (8, 16)
    if len(sketch) < 8 * sketch[0]:
        return False
    (number,) = struct.unpack_from("<I", sketch, 8)
    return len(sketch) == 8 * (sketch[0] + int(number))


def is_frequent(sketch: bytes, largest: int) -> bool:
    """Return True for a sketch of frequent texts with a table of up to 2^`largest` entries."""
    if len(sketch) < 8 or sketch[1] != 1 or sketch[2] != 10 or not 3 <= sketch[4] <= sketch[3] <= largest:
        return False
    if sketch[0] == 1:
        return len(sketch) == 8 and sketch[5] & 5 != 0
    if sketch[0] != 4 or sketch[5] & 5 or len(sketch) < 32:
        return False
    number, _, total, offset = struct.unpack_from("<IIQQ", sketch, 8)
    if not 0 < number <= 3 << sketch[4] >> 2 or len(sketch) < 32 + 12 * number or max(total, offset) >= 1 << 63:
        return False
    return _are_texts(sketch, 32 + 8 * number, number)


def _are_texts(sketch: bytes, place: int, number: int) -> bool:
    """Return True for `number` texts, each after its length, from `place` to the end."""
    for _ in range(number):
        if place + 4 > len(sketch):
            return False
        end = place + 4 + int(struct.unpack_from("<I", sketch, place)[0])
        try:
            sketch[place + 4 : end].decode()
        except UnicodeDecodeError:
            return False
        place = end
    return place == len(sketch)


def is_countmin(sketch: bytes, most_counters: int) -> bool:
    """Return True for a count-min sketch of up to `most_counters` counters."""
    if len(sketch) < 16 or sketch[0] != 2 or sketch[1] != 1 or sketch[2] != 18:
        return False
    num_buckets, num_hashes = struct.unpack_from("<IB", sketch, 8)
    if num_hashes < 1 or num_buckets < 3 or num_buckets * num_hashes > most_counters:
        return False
    if sketch[3] & 1:
        return len(sketch) == 16
    return len(sketch) == 24 + 8 * num_buckets * num_hashes and _are_counts(sketch)


def _are_counts(sketch: bytes) -> bool:
    counts: np.ndarray[Any, Any] = np.frombuffer(sketch, "<f8", -1, 16)
    return bool(np.all(np.isfinite(counts) & (counts >= 0) & (counts < 1 << 62)))
