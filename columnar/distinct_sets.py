"""Sets of distinct values of a column, shared by blocks with equal sets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sharkpy.columnar.bounds import Array, Mask
from sharkpy.columnar.domain import DomainValue


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
