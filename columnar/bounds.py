"""Minimum and maximum values of many blocks as arrays, and tests whether a comparison may match.

Each `may_…` method returns, per block, whether some value of the block may satisfy the comparison. If the bounds are
insufficient, the answer is True: reading a block is always correct.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sharkpy.base.records import dataclass

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Array = np.ndarray[Any, np.dtype[Any]]
PREFIX_BYTES = 16
_HIGH_BITS = np.uint64(0x8080808080808080)


@dataclass(frozen=True, slots=True)
class NumberBounds:
    """int64 or float64 bounds. `unknown` marks blocks without usable bounds."""

    low: Array
    high: Array
    unknown: Mask

    def may_lt(self, value: int | float | Fraction) -> Mask:
        return (self.low < _ceil(value)) | self.unknown

    def may_le(self, value: int | float | Fraction) -> Mask:
        return (self.low <= _floor(value)) | self.unknown

    def may_gt(self, value: int | float | Fraction) -> Mask:
        return (self.high > _floor(value)) | self.unknown

    def may_ge(self, value: int | float | Fraction) -> Mask:
        return (self.high >= _ceil(value)) | self.unknown

    def may_eq(self, value: int | float | Fraction) -> Mask:
        return self.unknown.copy() if isinstance(value, Fraction) else self.may_le(value) & self.may_ge(value)

    def may_ne(self, value: int | float | Fraction) -> Mask:
        if isinstance(value, Fraction):
            return np.ones(len(self.low), np.bool_)
        differ: Mask = (self.low != value) | (self.high != value) | self.unknown
        return differ

    def take(self, positions: Array) -> NumberBounds:
        return NumberBounds(self.low[positions], self.high[positions], self.unknown[positions])

    def may_be_in(self, values: Array) -> Mask:
        """Test for membership. `values` are sorted, in the type of the bounds."""
        if len(values) == 0:
            return self.unknown.copy()
        first = np.searchsorted(values, self.low, "left")
        found: Mask = (first < len(values)) & (values[np.minimum(first, len(values) - 1)] <= self.high)
        return found | self.unknown

    def may_not_be_in(self, values: Array) -> Mask:
        found: Mask = (self.low != self.high) | ~np.isin(self.low, values)
        return found | self.unknown


def _ceil(value: int | float | Fraction) -> int | float:
    return math.ceil(value) if isinstance(value, Fraction) else value


def _floor(value: int | float | Fraction) -> int | float:
    return math.floor(value) if isinstance(value, Fraction) else value


@dataclass(frozen=True, slots=True)
class ByteBounds:
    """The first 16 bytes of byte-string bounds, zero-padded, as two big-endian words per block: shape (2, blocks).

    `high_whole` marks blocks whose upper bound has at most 16 bytes.
    """

    low: Array
    high: Array
    high_whole: Mask
    unknown: Mask

    def may_lt(self, value: bytes) -> Mask:
        low, equal = _compare(self.low, value)
        return low | self.unknown | (equal if not _is_whole(value) else False)

    def may_le(self, value: bytes) -> Mask:
        low, equal = _compare(self.low, value)
        return low | equal | self.unknown

    def may_gt(self, value: bytes) -> Mask:
        low, equal = _compare(self.high, value)
        above = ~(low | equal)
        return above | (equal & ~self.high_whole) | self.unknown

    def may_ge(self, value: bytes) -> Mask:
        low, _ = _compare(self.high, value)
        return ~low | self.unknown

    def may_eq(self, value: bytes) -> Mask:
        return self.may_le(value) & self.may_ge(value)

    def may_ne(self, value: bytes) -> Mask:  # noqa: ARG002 - truncated bounds cannot decide
        return np.ones(self.low.shape[1], np.bool_)

    def may_start_with(self, prefix: bytes) -> Mask:
        above = successor(prefix)
        return self.may_ge(prefix) & (self.may_lt(above) if above is not None else True)

    def may_not_start_with(self, prefix: bytes) -> Mask:
        if len(prefix) > PREFIX_BYTES:
            return np.ones(self.low.shape[1], np.bool_)
        masks, words = words_of(b"\xff" * len(prefix)), words_of(prefix)
        same = np.ones(self.low.shape[1], np.bool_)
        for index in range(2):
            same &= (self.low[index] & masks[index]) == words[index]
            same &= (self.high[index] & masks[index]) == words[index]
        return ~same | self.unknown

    def take(self, positions: Array) -> ByteBounds:
        low, high = self.low[:, positions], self.high[:, positions]
        return ByteBounds(low, high, self.high_whole[positions], self.unknown[positions])

    def cut(self, length: int) -> ByteBounds:
        """Return bounds of the first `length` characters of the values."""
        masks = words_of(b"\xff" * min(length, PREFIX_BYTES))
        low = np.stack([self.low[0] & masks[0], self.low[1] & masks[1]])
        if length > PREFIX_BYTES:
            return ByteBounds(self.low, self.high, self.high_whole, self.unknown)
        ascii_only = ((self.high[0] | self.high[1]) & _HIGH_BITS) == 0
        high = np.stack([np.where(ascii_only, self.high[i] & masks[i], self.high[i]) for i in range(2)])
        return ByteBounds(low, high, ascii_only | self.high_whole, self.unknown)


Bounds = NumberBounds | ByteBounds


def concat_bounds(bounds: Sequence[Bounds]) -> Bounds:
    """Concatenate several bounds of one kind."""
    low = np.concatenate([part.low for part in bounds], axis=-1)
    high = np.concatenate([part.high for part in bounds], axis=-1)
    unknown = np.concatenate([part.unknown for part in bounds])
    if isinstance(bounds[0], NumberBounds):
        return NumberBounds(low, high, unknown)
    whole = np.concatenate([part.high_whole for part in bounds if isinstance(part, ByteBounds)])
    return ByteBounds(low, high, whole, unknown)


def words_of(value: bytes) -> tuple[np.uint64, np.uint64]:
    """Return the first 16 bytes as two big-endian words."""
    padded = value[:PREFIX_BYTES].ljust(PREFIX_BYTES, b"\0")
    return np.uint64(int.from_bytes(padded[:8], "big")), np.uint64(int.from_bytes(padded[8:], "big"))


def word_arrays(values: list[bytes]) -> Array:
    """Return the words of many values: shape (2, number of values)."""
    padded = b"".join(value[:PREFIX_BYTES].ljust(PREFIX_BYTES, b"\0") for value in values)
    return np.ascontiguousarray(np.frombuffer(padded, ">u8").reshape(-1, 2).T.astype(np.uint64))


def successor(prefix: bytes) -> bytes | None:
    """Return the smallest byte string above all that start with `prefix`, or None if there is none."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


def is_whole(value: bytes) -> bool:
    """Return whether the value's 16 zero-padded bytes differ from the bytes of every other value."""
    return len(value) <= PREFIX_BYTES and not value.endswith(b"\0")


_is_whole = is_whole


def _compare(words: Array, value: bytes) -> tuple[Mask, Mask]:
    """Compare per block: (certainly below, equal in the first 16 bytes)."""
    first, second = words_of(value)
    same_first = words[0] == first
    if not same_first.any():
        return words[0] < first, same_first
    return (words[0] < first) | (same_first & (words[1] < second)), same_first & (words[1] == second)
