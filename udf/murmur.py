"""Murmur 3 in 32 bits with the seed and the byte order of Hive's buckets."""

from __future__ import annotations

import struct

import mmh3

_SEED = 104729


def murmur(data: bytes) -> int:
    """The hash as a signed 32-bit integer."""
    return mmh3.hash(data, _SEED)


def murmur_integer(value: int, width: int) -> int:
    """Return the hash of an integer of `width` bytes, most significant first."""
    return murmur(value.to_bytes(width, "big", signed=True))


def murmur_double(value: float) -> int:
    """Return the hash of a DOUBLE. Hive converts its bits, as an integer, to a DOUBLE again."""
    bits = int.from_bytes(struct.pack(">d", value), "big", signed=True)
    return murmur(struct.pack(">d", float(bits)))


def murmur_float(value: float) -> int:
    """Return the hash of a FLOAT: its 32 bits, as an integer, converted to a FLOAT again."""
    bits = int.from_bytes(struct.pack(">f", value), "big", signed=True)
    return murmur(struct.pack(">f", float(bits)))
