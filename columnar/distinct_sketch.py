"""HyperLogLog: estimate the number of distinct values from mergeable registers of blocks.

Flajolet et al., AofA 2007, with the estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog
sketches", 2017, section 3, which needs neither tables nor thresholds. The standard error is 4.6 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from sharkpy.columnar import kernels
from sharkpy.columnar.domain import Domain, DomainValue, domain_of
from sharkpy.values import types as t

Array = np.ndarray[Any, np.dtype[Any]]
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
