"""Sketches of distinct values by Apache DataSketches: HyperLogLog, CPC and Theta, one row a family.

They are bytes that any implementation of the library reads, and that merge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SketchFamily:
    """`new` makes an empty sketch of 2^n entries; `read` takes `write`'s bytes; `union` an empty union."""

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
        range(12, 13),  # a sketch does not tell its size to a union
        ds.update_theta_sketch,
        ds.compact_theta_sketch.deserialize,
        lambda one: (one.compact() if hasattr(one, "compact") else one).serialize(),
        ds.theta_union,
        lambda _one: 12,
    )


FAMILIES: dict[str, Callable[[], SketchFamily]] = {"hll": _hll, "cpc": _cpc, "theta": _theta}
"""The library is imported when a sketch is made or read."""


def new_sketch(family: str, values: Iterable[Any], size: int) -> bytes:
    """The sketch of the values, of 2^size entries; 0 takes the family's default."""
    kind = FAMILIES[family]()
    size = size or kind.default_size
    if size not in kind.sizes:
        raise ValueError(f"a {family} sketch has 2^{kind.sizes.start} to 2^{kind.sizes.stop - 1} entries, not 2^{size}")
    sketch = kind.new(size)
    for value in values:
        sketch.update(value)
    return kind.write(sketch)


def union_sketches(family: str, sketches: Iterable[bytes]) -> bytes | None:
    """One sketch of the values of all. It estimates the same in whichever way they were dealt over sketches, which one
    that has seen them in a row does not: results are unions, be it of one."""
    kind = FAMILIES[family]()
    parts = sorted(sketches)
    if not parts:
        return None
    read = [kind.read(part) for part in parts]
    union = kind.union(max(kind.size_of(one) for one in read))
    # A union of one that is updated once is that one itself.
    for one in (*read, read[0]):
        union.update(one)
    return kind.write(union.get_result())


def estimate(family: str, sketch: bytes) -> float:
    return float(FAMILIES[family]().read(sketch).get_estimate())


def estimate_bounds(family: str, sketch: bytes, deviations: int) -> list[float]:
    """Estimate, lower and upper bound, so many standard deviations away."""
    if deviations not in (1, 2, 3):
        raise ValueError(f"bounds are 1, 2 or 3 standard deviations away, not {deviations}")
    one = FAMILIES[family]().read(sketch)
    return [float(one.get_estimate()), float(one.get_lower_bound(deviations)), float(one.get_upper_bound(deviations))]


def intersect_theta(left: bytes, right: bytes) -> bytes:
    import datasketches as ds

    both = ds.theta_intersection()
    both.update(ds.compact_theta_sketch.deserialize(left))
    both.update(ds.compact_theta_sketch.deserialize(right))
    return bytes(both.get_result().serialize())


def exclude_theta(left: bytes, right: bytes) -> bytes:
    import datasketches as ds

    read = ds.compact_theta_sketch.deserialize
    return bytes(ds.theta_a_not_b().compute(read(left), read(right)).serialize())
