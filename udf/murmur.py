"""Murmur 3 in 32 bits with the seed and the byte order of Hive's buckets."""

from __future__ import annotations

import struct

_SEED = 104729
_MASK = 0xFFFFFFFF


def murmur(data: bytes) -> int:
    """The hash as a signed 32-bit integer."""
    value = _SEED
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        value = (_rotate(value ^ _mixed(word), 13) * 5 + 0xE6546B64) & _MASK
    if tail := data[whole:]:
        value ^= _mixed(int.from_bytes(tail, "little"))
    value ^= len(data)
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _mixed(word: int) -> int:
    return _rotate(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotate(value: int, count: int) -> int:
    return (value << count | value >> 32 - count) & _MASK


def murmur_integer(value: int, width: int) -> int:
    """Of an integer of so many bytes, most significant first."""
    return murmur(value.to_bytes(width, "big", signed=True))


def murmur_double(value: float) -> int:
    """Hive puts the bits of a DOUBLE, taken as a number, into the buffer as a DOUBLE again."""
    bits = int.from_bytes(struct.pack(">d", value), "big", signed=True)
    return murmur(struct.pack(">d", float(bits)))


def murmur_float(value: float) -> int:
    """As for a DOUBLE, with 32 bits."""
    bits = int.from_bytes(struct.pack(">f", value), "big", signed=True)
    return murmur(struct.pack(">f", float(bits)))
