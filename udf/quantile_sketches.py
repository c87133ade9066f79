"""KLL sketches of numbers by Apache DataSketches: quantiles and ranks, near the truth, in little space.

They are bytes of its sketches of floats, as in Hive, that any implementation of the library reads, and that merge.
Which of many numbers are kept is drawn: two sketches of the same ones differ, within the error that they promise.
Those of no more numbers than their size are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sharkpy.base.cancellation import check_cancelled

DEFAULT_SIZE = 200
"""An error of 1.65 % of the rank, with a probability of 1 %."""
_SIZES = range(8, 65536)
_BETWEEN_CHECKS = 1 << 20
Numbers = np.ndarray[Any, np.dtype[np.float64]]


def new_kll(values: Numbers, size: int) -> bytes:
    """The sketch of the values, as floats; NaN is left out. `size` numbers are kept of each magnitude of weights."""
    import datasketches as ds

    if (problem := size_problem(size)) is not None:
        raise ValueError(problem)
    sketch = ds.kll_floats_sketch(size)
    for first in range(0, len(values), _BETWEEN_CHECKS):
        check_cancelled()
        with np.errstate(over="ignore"):
            sketch.update(values[first : first + _BETWEEN_CHECKS].astype(np.float32))
    return bytes(sketch.serialize())


def size_problem(size: object) -> str | None:
    """What is wrong with the size of a sketch."""
    is_one = size is None or size in _SIZES
    return None if is_one else f"the size of a kll sketch is from {_SIZES.start} to {_SIZES.stop - 1}, not {size}"


def union_kll(sketches: Iterable[bytes]) -> bytes | None:
    """One sketch of the values of all, of the largest one's size."""
    read = sorted((_read(one) for one in sorted(sketches)), key=lambda one: -one.k)
    if not read:
        return None
    whole, *others = read
    for one in others:
        check_cancelled()
        whole.merge(one)
    return bytes(whole.serialize())


def kll_number(sketch: bytes) -> int:
    """How many values a sketch has seen."""
    return int(_read(sketch).n)


def kll_quantiles(sketch: bytes, fractions: Numbers) -> list[float] | None:
    """The least value above each fraction of all; None for a sketch of no values."""
    if wrong := [float(one) for one in fractions if not 0 <= one <= 1]:
        raise ValueError(f"the fraction {wrong[0]} is not within 0 and 1")
    read = _read(sketch)
    return None if read.is_empty() else [float(one) for one in read.get_quantiles(fractions.tolist())]


def kll_rank(sketch: bytes, value: float) -> float | None:
    """The part of the values that are below one; None for a sketch of no values."""
    read = _read(sketch)
    return None if read.is_empty() else float(read.get_rank(value))


def kll_cdf(sketch: bytes, splits: Numbers) -> list[float] | None:
    """The part of the values below each of the splits, and 1; None for a sketch of no values."""
    read = _read(sketch)
    return None if read.is_empty() else [float(one) for one in read.get_cdf(_increasing(splits))]


def kll_pmf(sketch: bytes, splits: Numbers) -> list[float] | None:
    """The part of the values between each two splits, and outside of them; None for a sketch of no values."""
    read = _read(sketch)
    return None if read.is_empty() else [float(one) for one in read.get_pmf(_increasing(splits))]


def _increasing(splits: Numbers) -> list[float]:
    with np.errstate(over="ignore"):
        floats = splits.astype(np.float32)
    if not bool(np.all(floats[1:] > floats[:-1])) or bool(np.isnan(floats).any()):
        raise ValueError("the split points of a kll sketch have to increase")
    return [float(one) for one in floats]


def _read(sketch: bytes) -> Any:
    import datasketches as ds

    try:
        return ds.kll_floats_sketch.deserialize(sketch)
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        raise ValueError(f"the bytes are no kll sketch: {error}") from None
