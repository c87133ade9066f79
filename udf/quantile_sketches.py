"""KLL sketches of numbers: approximate quantiles and ranks in little space (Karnin, Lang and Liberty 2016).

Sketches are mergeable bytes of Apache DataSketches' float sketches, as in Hive: any implementation of the library reads
them. The library chooses randomly which of two numbers it keeps, so a repeated task would give other bytes. Here the
numbers themselves decide. Sketches of at most as many numbers as their size are exact.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sharkpy.base.cancellation import checked
from sharkpy.base.records import dataclass

DEFAULT_SIZE = 200
"""Gives an error of at most 1.65 % of the rank, with 99 % probability."""
_SIZES = range(8, 65536)
_LEAST_LEVEL = 8
"""Numbers that the lowest levels hold."""
_MOST_LEVELS = 50
_HEAD, _COUNTS = struct.Struct("<BBBBHBB"), struct.Struct("<QHBB")
_EMPTY, _LEVEL_0_SORTED, _SINGLE = 1, 2, 4
"""Flags of the header."""
Numbers = np.ndarray[Any, np.dtype[np.float64]]
Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class _Kll:
    """A sketch. Each level is sorted. A number of level h represents 2^h of the input numbers."""

    size: int
    least_size: int
    """Smallest size of the merged sketches, which determines the error."""
    number: int
    low: float
    high: float
    levels: Sequence[Floats]


def new_kll(values: Numbers, size: int) -> bytes:
    """Return the sketch of the values, as floats. NaN is left out."""
    if (problem := kll_size_problem(size)) is not None:
        raise ValueError(problem)
    with np.errstate(over="ignore"):
        floats = values.astype(np.float32)
    floats = np.sort(floats[~np.isnan(floats)])
    if not len(floats):
        return _written(_Kll(size, size, 0, 0.0, 0.0, (floats,)))
    return _written(_Kll(size, size, len(floats), float(floats[0]), float(floats[-1]), (floats,)))


def kll_size_problem(size: object) -> str | None:
    """Return the problem with the size of a sketch, or None."""
    is_one = size is None or size in _SIZES
    return None if is_one else f"the size of a kll sketch is from {_SIZES.start} to {_SIZES.stop - 1}, not {size}"


def union_kll(sketches: Iterable[bytes]) -> bytes | None:
    """Return one sketch of the values of all sketches, with the largest size."""
    parts = [_levels_of(one) for one in checked(sorted(sketches))]
    if not parts:
        return None
    size, least_size = max(one.size for one in parts), min(one.least_size for one in parts)
    seen = [one for one in parts if one.number]
    if not seen:
        return _written(_Kll(size, least_size, 0, 0.0, 0.0, parts[0].levels))
    levels = [
        np.sort(np.concatenate([one.levels[height] for one in seen if height < len(one.levels)]))
        for height in range(max(len(one.levels) for one in seen))
    ]
    low, high = min(one.low for one in seen), max(one.high for one in seen)
    return _written(_Kll(size, least_size, sum(one.number for one in seen), low, high, levels))


def kll_number(sketch: bytes) -> int:
    """Return the number of values in a sketch."""
    return int(_levels_of(sketch).number)


def kll_quantiles(sketch: bytes, fractions: Numbers) -> list[float] | None:
    """Return the smallest value above each fraction of all values, or None for an empty sketch."""
    if wrong := [float(one) for one in fractions if not 0 <= one <= 1]:
        raise ValueError(f"the fraction {wrong[0]} is not within 0 and 1")
    read = _levels_of(sketch)
    if not read.number:
        return None
    items, ends = _weighted(read)
    places = np.searchsorted(ends, (fractions * read.number).astype(np.int64), "right")
    found = items[np.minimum(places, len(items) - 1)]
    return [float(one) for one in np.where(fractions == 0, read.low, np.where(fractions == 1, read.high, found))]


def kll_rank(sketch: bytes, value: float) -> float | None:
    """Return the share of the values below `value`, or None for an empty sketch."""
    with np.errstate(over="ignore"):
        found = _ranks(sketch, np.array([value]).astype(np.float32))
    return None if found is None else float(found[0])


def kll_cdf(sketch: bytes, splits: Numbers) -> list[float] | None:
    """Return the share of the values below each split, and 1, or None for an empty sketch."""
    found = _ranks(sketch, _increasing(splits))
    return None if found is None else [*(float(one) for one in found), 1.0]


def kll_pmf(sketch: bytes, splits: Numbers) -> list[float] | None:
    """Return the share of the values between adjacent splits, and outside of them, or None for an empty sketch."""
    found = _ranks(sketch, _increasing(splits))
    return None if found is None else [float(one) for one in np.diff([0.0, *found, 1.0])]


def _ranks(sketch: bytes, values: Floats) -> Numbers | None:
    read = _levels_of(sketch)
    if not read.number:
        return None
    items, ends = _weighted(read)
    return np.concatenate([[0], ends])[np.searchsorted(items, values, "left")] / read.number


def _weighted(sketch: _Kll) -> tuple[Floats, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the numbers in order, with the cumulative number of values that they represent."""
    weights = np.repeat([1 << height for height in range(len(sketch.levels))], [len(one) for one in sketch.levels])
    items = np.concatenate(sketch.levels)
    order = np.argsort(items, kind="stable")
    return items[order], np.cumsum(weights[order])


def _increasing(splits: Numbers) -> Floats:
    with np.errstate(over="ignore"):
        floats = splits.astype(np.float32)
    if not bool(np.all(floats[1:] > floats[:-1])) or bool(np.isnan(floats).any()):
        raise ValueError("the split points of a kll sketch have to increase")
    return floats


def _capacity(size: int, num_levels: int, height: int) -> int:
    """Maximum number of items of a level: a third less with each level below the top."""
    depth = num_levels - height - 1
    return max(_LEAST_LEVEL, ((size << depth + 1) // int(3**depth) + 1) >> 1)


def _capacity_of_all(size: int, num_levels: int) -> int:
    return sum(_capacity(size, num_levels, height) for height in range(num_levels))


def _compressed(size: int, given: Sequence[Floats]) -> list[Floats]:
    """Compact levels with too many numbers: every second number of the lowest full level moves up a level."""
    levels = list(given)
    while sum(map(len, levels)) > _capacity_of_all(size, len(levels)):
        full = (height for height, level in enumerate(levels) if len(level) >= _capacity(size, len(levels), height))
        height = next(full)
        if height == len(levels) - 1:
            levels.append(np.empty(0, np.float32))
        level = levels[height]
        begin = len(level) % 2
        # The choice between the two must be as good as random, and repeatable.
        offset = begin + (zlib.crc32(level.tobytes()) & 1)
        levels[height] = level[:begin]
        levels[height + 1] = np.sort(np.concatenate([levels[height + 1], level[offset::2]]))
    return levels


def _written(sketch: _Kll) -> bytes:
    if len(sketch.levels) == 1 and sketch.number <= sketch.size == sketch.least_size:
        import datasketches as ds

        # No number has to be dropped, so there is no random choice.
        whole = ds.kll_floats_sketch(sketch.size)
        whole.update(sketch.levels[0])
        return bytes(whole.serialize())
    levels = _compressed(sketch.size, sketch.levels)
    room = _capacity_of_all(sketch.size, len(levels)) - sum(map(len, levels))
    places = room + np.cumsum([0, *map(len, levels[:-1])])
    head = _HEAD.pack(5, 1, 15, _LEVEL_0_SORTED, sketch.size, _LEAST_LEVEL, 0)
    counts = _COUNTS.pack(sketch.number, sketch.least_size, len(levels), 0)
    bounds = struct.pack("<ff", sketch.low, sketch.high)
    return b"".join((head, counts, places.astype("<u4").tobytes(), bounds, *(one.tobytes() for one in levels)))


def _levels_of(sketch: bytes) -> _Kll:
    """Parse a sketch, which any user may have made. Raise ValueError for invalid bytes."""
    found = _parsed(sketch)
    if found is None:
        raise ValueError("no kll sketch: the bytes are damaged or of another kind")
    return found


def _parsed(sketch: bytes) -> _Kll | None:
    if len(sketch) < _HEAD.size:
        return None
    words, version, family, flags, size, least, _ = _HEAD.unpack_from(sketch)
    if family != 15 or least != _LEAST_LEVEL or size not in _SIZES:
        return None
    if flags & _EMPTY:
        return _Kll(size, size, 0, 0.0, 0.0, (np.empty(0, np.float32),)) if len(sketch) == _HEAD.size else None
    if flags & _SINGLE:
        if (words, version, len(sketch)) != (2, 2, _HEAD.size + 4):
            return None
        (value,) = struct.unpack_from("<f", sketch, _HEAD.size)
        return None if np.isnan(value) else _Kll(size, size, 1, value, value, (np.array([value], np.float32),))
    begin = _HEAD.size + _COUNTS.size
    if (words, version) != (5, 1) or len(sketch) < begin:
        return None
    number, least_size, num_levels, _ = _COUNTS.unpack_from(sketch, _HEAD.size)
    if not 0 < num_levels <= _MOST_LEVELS or least_size not in _SIZES or len(sketch) < begin + 4 * num_levels + 8:
        return None
    places = [*struct.unpack_from(f"<{num_levels}I", sketch, begin), _capacity_of_all(size, num_levels)]
    begin += 4 * num_levels
    low, high = struct.unpack_from("<ff", sketch, begin)
    if places != sorted(places) or len(sketch) != begin + 8 + 4 * (places[-1] - places[0]):
        return None
    items = np.frombuffer(sketch, "<f4", -1, begin + 8)
    levels = [np.sort(items[first:last]) for first, last in pairwise(place - places[0] for place in places)]
    weight = sum(len(level) << height for height, level in enumerate(levels))
    is_whole = weight == number and not bool(np.isnan([*items, low, high]).any())
    return _Kll(size, least_size, number, low, high, levels) if is_whole else None
