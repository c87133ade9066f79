"""Sets of a column's values: sketches that estimate their number, sets of few values by block, keys as bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers, kernels
from sharkpy.columnar.bounds import Array, Mask
from sharkpy.columnar.domain import Domain, DomainValue, domain_of
from sharkpy.columnar.kernels import keys_in_bits
from sharkpy.values import types as t

if TYPE_CHECKING:
    AnyArray = pa.Array[Any]

INDEX_BITS = 9
REGISTERS = 1 << INDEX_BITS
_RANKS = 64 - INDEX_BITS
_NOTHING = np.uint64((1 << 64) - 1)


def no_hashes() -> Array:
    """Return the initial state of the hash kernels: the smallest hash remainder seen, per register."""
    return np.full(REGISTERS, _NOTHING)


def registers_of(least: Array) -> Array:
    """Return, per register, the most leading zeros of a remainder, plus one; 0 for registers without values."""
    # A remainder has _RANKS bits, from the top; the lowest INDEX_BITS are zero.
    exponents = np.frexp(least.astype(np.float64))[1]
    ranks = np.minimum(64 - np.minimum(exponents, 64) + 1, _RANKS + 1)
    found: Array = np.where(least == _NOTHING, 0, ranks).astype(np.uint8)
    return found


def registers_of_values(values: Iterable[DomainValue], dtype: t.DataType) -> Array:
    """Compute the registers of single values, with the same hashes as for columns."""
    least = no_hashes()
    match domain_of(dtype):
        case Domain.BYTES:
            stored = [value for value in values if isinstance(value, bytes)]
            offsets = np.cumsum([0, *map(len, stored)]).astype(np.int32)
            kernels.hash_strings(offsets, np.frombuffer(b"".join(stored) or b"\0", np.uint8), INDEX_BITS, least)
        case Domain.FLOAT:
            width = 8 if dtype == t.DOUBLE else 4
            bits = np.array(list(values), f"f{width}").view(f"i{width}")
            kernels.hash_numbers(bits, 0, 1, INDEX_BITS, least)
        case _:
            kernels.hash_numbers(np.array(list(values), np.int64), 0, 1, INDEX_BITS, least)
    return registers_of(least)


def estimate(registers: Array) -> float:
    """Estimate the number of distinct values from registers. Registers merge by their maximum."""
    counts = np.bincount(registers, minlength=_RANKS + 2)
    total = REGISTERS * _tau(1.0 - counts[_RANKS + 1] / REGISTERS)
    for rank in range(_RANKS, 0, -1):
        total = 0.5 * (total + float(counts[rank]))
    total += REGISTERS * _sigma(float(counts[0]) / REGISTERS)
    return REGISTERS * REGISTERS / (2.0 * math.log(2.0)) / total if math.isfinite(total) and total else 0.0


def _sigma(x: float) -> float:
    """Compute x + sum over k >= 1 of x**(2**k) * 2**(k - 1)."""
    if x == 1.0:
        return math.inf
    weight, total, before = 1.0, x, -1.0
    while total != before:
        x *= x
        before = total
        total += x * weight
        weight += weight
    return total


def _tau(x: float) -> float:
    """Compute (1 - x - sum over k >= 1 of (1 - x**(2**-k))**2 * 2**-k) / 3."""
    if x in (0.0, 1.0):
        return 0.0
    weight, total, before = 1.0, 1.0 - x, -1.0
    while total != before:
        x = math.sqrt(x)
        before = total
        weight *= 0.5
        total -= (1.0 - x) ** 2 * weight
    return total / 3.0


@dataclass(frozen=True, slots=True)
class DistinctSets:
    """Sets of distinct values shared by blocks: block b has set `set_ids[b]`, or none if that is -1.

    Set s holds `codes[offsets[s]:offsets[s + 1]]`, which are indexes into the distinct `values`.
    """

    set_ids: Array
    offsets: Array
    codes: Array
    values: tuple[DomainValue, ...]

    def refine(self, per_value: Array, default: Mask) -> Mask:
        """Return a mask of the blocks whose set has a marked value. Blocks without a set take their value of
        `default`.
        """
        num_sets = len(self.offsets) - 1
        if num_sets == 0:
            return default
        marks = np.append(per_value[self.codes], False).astype(np.int8)
        any_marked = np.add.reduceat(marks, self.offsets[:-1], dtype=np.int64) > 0
        any_marked &= np.diff(self.offsets) > 0
        chosen: Mask = np.where(self.set_ids >= 0, any_marked[np.maximum(self.set_ids, 0)], default)
        return chosen


def sets_by_block(sets: DistinctSets) -> list[tuple[DomainValue, ...] | None]:
    """Return the set of each block."""
    ends = sets.offsets.tolist()
    shared = [tuple(sets.values[code] for code in sets.codes[a:b]) for a, b in itertools.pairwise(ends)]
    return [shared[set_id] if set_id >= 0 else None for set_id in sets.set_ids.tolist()]


def distinct_sets(blocks: Sequence[tuple[DomainValue, ...] | None]) -> DistinctSets:
    """Build sets, shared among blocks with equal values."""
    ids: dict[tuple[DomainValue, ...], int] = {}
    codes: dict[DomainValue, int] = {}
    flat: list[int] = []
    ends = [0]
    set_ids = np.full(len(blocks), -1, np.int32)
    for index, values in enumerate(blocks):
        if values is None:
            continue
        if values not in ids:
            ids[values] = len(ids)
            flat.extend(codes.setdefault(value, len(codes)) for value in values)
            ends.append(len(flat))
        set_ids[index] = ids[values]
    return DistinctSets(set_ids, np.array(ends, np.int64), np.array(flat, np.int64), tuple(codes))


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
        return arrow_buffers.part(found[~arrow_buffers.missing_rows(keys)[found]] if keys.null_count else found)


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
        flags[arrow_buffers.numpy(chunk.drop_null()).astype(np.int64) - low] = True
    return KeyBits(low, int(np.count_nonzero(flags)), np.packbits(flags, bitorder="little").tobytes())
