"""Sketches of distinct values by Apache DataSketches: HyperLogLog, CPC and Theta, one row per family.

Sketches are mergeable bytes that any implementation of the library reads. The library trusts its input, but users can
write any bytes. So sketches are checked first. Sketches of CPC are compressed, and are read in a subprocess that may
crash.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sharkpy.base import subprocess_call
from sharkpy.base.records import dataclass
from sharkpy.udf.sketch_checks import is_hll, is_theta


@dataclass(frozen=True, slots=True)
class SketchFamily:
    """Functions of a family. `new` makes an empty sketch of 2^n entries, `read` parses the bytes of `write`, `union`
    makes an empty union.
    """

    default_size: int
    sizes: range
    new: Callable[[int], Any]
    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]
    union: Callable[[int], Any]
    size_of: Callable[[Any], int]


def _hll() -> SketchFamily:
    import datasketches as ds

    return SketchFamily(
        12,
        range(7, 22),
        ds.hll_sketch,
        ds.hll_sketch.deserialize,
        lambda one: one.serialize_compact(),
        ds.hll_union,
        lambda one: one.lg_config_k,
    )


def _cpc() -> SketchFamily:
    import datasketches as ds

    return SketchFamily(
        11,
        range(4, 27),
        ds.cpc_sketch,
        ds.cpc_sketch.deserialize,
        lambda one: one.serialize(),
        ds.cpc_union,
        lambda one: one.lg_k,
    )


def _theta() -> SketchFamily:
    import datasketches as ds

    return SketchFamily(
        12,
        range(12, 13),  # a union cannot read the size from a sketch
        ds.update_theta_sketch,
        ds.compact_theta_sketch.deserialize,
        lambda one: (one.compact() if hasattr(one, "compact") else one).serialize(),
        ds.theta_union,
        lambda _one: 12,
    )


FAMILIES: dict[str, Callable[[], SketchFamily]] = {"hll": _hll, "cpc": _cpc, "theta": _theta}
"""The library is imported when a sketch is first made or read."""
CPC = "cpc"
_CHECKS = {"hll": is_hll, "theta": is_theta}
"""Sketches of CPC are compressed and cannot be checked without reading them."""
_CPU_SECONDS = 5.0
"""Limit on the CPU time of a call that reads sketches of CPC."""
_BOUNDS = struct.Struct("<3d")


def new_sketch(family: str, values: Iterable[Any], size: int) -> bytes:
    """Return the sketch of the values, with 2^size entries, or the family's default size for 0."""
    kind = FAMILIES[family]()
    size = size or kind.default_size
    if size not in kind.sizes:
        raise ValueError(f"a {family} sketch has 2^{kind.sizes.start} to 2^{kind.sizes.stop - 1} entries, not 2^{size}")
    sketch = kind.new(size)
    for value in values:
        sketch.update(value)
    return kind.write(sketch)


def union_sketches(family: str, sketches: Iterable[bytes]) -> bytes | None:
    """Return one sketch of the values of all sketches, or None if there are none.

    The estimate of a union does not depend on how values were distributed over sketches. The estimate of a sketch built
    value by value does. So results are always unions, even of one sketch.
    """
    parts = sorted(sketches)
    if not parts:
        return None
    with _reading(family, *parts):
        if family != CPC:
            return _union(family, parts)
        (found,) = subprocess_call.call(f"{__name__}:union_in_subprocess", parts, cpu_seconds=_CPU_SECONDS)
        return found


def _union(family: str, parts: Sequence[bytes]) -> bytes:
    kind = FAMILIES[family]()
    read = [kind.read(part) for part in parts]
    union = kind.union(max(kind.size_of(one) for one in read))
    # A union that is updated only once returns its input: update it once more.
    for one in (*read, read[0]):
        union.update(one)
    return kind.write(union.get_result())


def union_in_subprocess(parts: Sequence[bytes]) -> list[bytes]:
    """Union of sketches of CPC, for a subprocess that may crash."""
    return [_union(CPC, parts)]


def estimate(family: str, sketch: bytes) -> float:
    return estimate_bounds(family, sketch, 1)[0]


def estimate_bounds(family: str, sketch: bytes, deviations: int) -> list[float]:
    """Return the estimate, and its lower and upper bound at `deviations` standard deviations."""
    if deviations not in (1, 2, 3):
        raise ValueError(f"bounds are 1, 2 or 3 standard deviations away, not {deviations}")
    with _reading(family, sketch):
        if family != CPC:
            return _bounds(family, sketch, deviations)
        (found,) = subprocess_call.call(
            f"{__name__}:bounds_in_subprocess", sketch, deviations, cpu_seconds=_CPU_SECONDS
        )
        return list(_BOUNDS.unpack(found))


def _bounds(family: str, sketch: bytes, deviations: int) -> list[float]:
    one = FAMILIES[family]().read(sketch)
    return [float(one.get_estimate()), float(one.get_lower_bound(deviations)), float(one.get_upper_bound(deviations))]


def bounds_in_subprocess(sketch: bytes, deviations: int) -> list[bytes]:
    """Estimate and bounds of a sketch of CPC, for a subprocess that may crash."""
    return [_BOUNDS.pack(*_bounds(CPC, sketch, deviations))]


def intersect_theta(left: bytes, right: bytes) -> bytes:
    import datasketches as ds

    both = ds.theta_intersection()
    with _reading("theta", left, right):
        for one in (left, right):
            both.update(ds.compact_theta_sketch.deserialize(one))
        return bytes(both.get_result().serialize())


def exclude_theta(left: bytes, right: bytes) -> bytes:
    import datasketches as ds

    read = ds.compact_theta_sketch.deserialize
    with _reading("theta", left, right):
        return bytes(ds.theta_a_not_b().compute(read(left), read(right)).serialize())


@contextmanager
def _reading(family: str, *sketches: bytes) -> Iterator[None]:
    """Raise ValueError for bytes that are not sketches of the family, also if the library detects that in the body."""
    is_one = _CHECKS.get(family)
    if is_one is not None and not all(map(is_one, sketches)):
        raise ValueError(f"no {family} sketch: the bytes are damaged or of another kind")
    try:
        yield
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        raise ValueError(f"no {family} sketch: {error}") from None
