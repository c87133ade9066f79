"""Sketches of the frequency of values by Apache DataSketches: frequent items, and counts of any value.

Sketches are mergeable bytes that any implementation of the library reads. Values are texts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.udf.sketch_checks import is_countmin, is_frequent

DEFAULT_FREQUENT = 4096
SIZES = tuple(1 << exponent for exponent in range(3, 21))
"""Table sizes of a sketch of frequent items, which keeps three quarters of that many items."""
ERROR_TYPES = ("NO_FALSE_POSITIVES", "NO_FALSE_NEGATIVES")
_MOST_COUNTERS = 1 << 20


def new_frequent(values: Iterable[str], size: int) -> bytes:
    """Return the sketch of the most frequent values, in a table of `size`, a power of 2."""
    import datasketches as ds

    if (problem := frequent_size_problem(size)) is not None:
        raise ValueError(problem)
    sketch = ds.frequent_strings_sketch(size.bit_length() - 1)
    for value, number in checked(sorted(Counter(checked(values)).items())):
        sketch.update(value, number)
    return bytes(sketch.serialize())


def frequent_size_problem(size: object) -> str | None:
    """Return the problem with the size of a sketch of frequent items, or None."""
    is_one = size is None or size in SIZES
    return None if is_one else f"the size of a freq sketch is a power of 2 from {SIZES[0]} to {SIZES[-1]}, not {size}"


def union_frequent(sketches: Iterable[bytes]) -> bytes | None:
    """Return one sketch of the values of all sketches, with the largest size."""
    parts = sorted(sketches, key=lambda one: (-_exponent(one), one))
    if not parts:
        return None
    whole = _read_frequent(parts[0])
    for part in checked(parts[1:]):
        whole.merge(_read_frequent(part))
    return bytes(whole.serialize())


def frequent_items(sketch: bytes, error_type: str) -> list[dict[str, object]]:
    """Return the frequent values (with NO_FALSE_NEGATIVES, the values that may be frequent), most frequent first.

    Each has an estimate of its number of occurrences, with bounds.
    """
    import datasketches as ds

    if error_type not in ERROR_TYPES:
        raise ValueError(f"the type of errors is {' or '.join(ERROR_TYPES)}, not {error_type}")
    found = _read_frequent(sketch).get_frequent_items(getattr(ds.frequent_items_error_type, error_type))
    names = ("item", "estimate", "lower_bound", "upper_bound")
    return [dict(zip(names, one, strict=True)) for one in sorted(found, key=lambda one: (-one[1], one[0]))]


def new_counts(values: Iterable[str], error: float, confidence: float) -> bytes:
    """Return the count-min sketch of the values (Cormode and Muthukrishnan 2005).

    With probability `confidence`, counts are too large by at most `error` times the number of all values.
    """
    import datasketches as ds

    for part in (error, confidence):
        if (problem := countmin_fraction_problem(part)) is not None:
            raise ValueError(problem)
    num_hashes = max(1, math.ceil(math.log(1 / (1 - confidence))))
    num_buckets = math.ceil(math.e / error)
    if num_hashes * num_buckets > _MOST_COUNTERS:
        raise ValueError(f"a countmin sketch of the error {error} would have more than {_MOST_COUNTERS} counters")
    sketch = ds.count_min_sketch(num_hashes, num_buckets)
    for value, number in checked(Counter(checked(values)).items()):
        sketch.update(value, float(number))
    return bytes(sketch.serialize())


def countmin_fraction_problem(part: object) -> str | None:
    """Return the problem with the error or the confidence of a count-min sketch, or None."""
    is_one = not isinstance(part, (int, float, Decimal)) or 0 < part < 1
    return None if is_one else f"the error and the confidence of a countmin sketch are between 0 and 1, not {part}"


def union_counts(sketches: Iterable[bytes]) -> bytes | None:
    """Return one count-min sketch of the values of all sketches. Raise ValueError if their errors or confidences
    differ.
    """
    parts = sorted(sketches)
    if not parts:
        return None
    whole = _read_counts(parts[0])
    for part in checked(parts[1:]):
        other = _read_counts(part)
        if (other.num_hashes, other.num_buckets) != (whole.num_hashes, whole.num_buckets):
            raise ValueError("countmin sketches of other errors or confidences do not go together")
        whole.merge(other)
    return bytes(whole.serialize())


def count_of(sketch: bytes, value: str) -> int:
    """Return an estimate, or upper bound, of the number of occurrences of a value."""
    return round(float(_read_counts(sketch).get_estimate(value)))


def total_count(sketch: bytes) -> int:
    """Return the number of values in a count-min sketch."""
    return round(float(_read_counts(sketch).total_weight))


def _exponent(sketch: bytes) -> int:
    """Return the binary logarithm of a frequent-items sketch's size."""
    return sketch[3] if len(sketch) > 3 else 0


def _read_frequent(sketch: bytes) -> Any:
    import datasketches as ds

    if not is_frequent(sketch, SIZES[-1].bit_length() - 1):
        raise ValueError("no freq sketch: the bytes are damaged or of another kind")
    return _read(ds.frequent_strings_sketch, sketch, "freq")


def _read_counts(sketch: bytes) -> Any:
    import datasketches as ds

    if not is_countmin(sketch, _MOST_COUNTERS):
        raise ValueError("no countmin sketch: the bytes are damaged or of another kind")
    return _read(ds.count_min_sketch, sketch, "countmin")


def _read(kind: Any, sketch: bytes, name: str) -> Any:
    check_cancelled()
    try:
        return kind.deserialize(sketch)
    except (RuntimeError, ValueError, IndexError, MemoryError, UnicodeDecodeError) as error:
        raise ValueError(f"no {name} sketch: {error}") from None
