"""Bucket of a key in Python, by the hash of bucketed tables and exchanges."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import islice
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import TypeMismatchError
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import BucketSpec
from sharkpy.execution.tasks.buckets import RowBuckets
from sharkpy.values.types import DataType, Field, Schema, to_arrow

_BATCH = 10_000
"""Number of keys whose buckets are found by one query."""
_MOST_KNOWN = 1_000_000


@dataclass(frozen=True, slots=True)
class KeyHash:
    """Partition function of RDDs by key whose rows are in buckets of tables.

    Functions are equal for tables with the same number of buckets by columns of the same types: their rows of a key are
    in partitions of the same number. `places` are the positions of the columns in a key that is a tuple. None: the key
    is the column's value itself.
    """

    types: tuple[DataType, ...]
    places: tuple[int, ...] | None
    num_buckets: int
    _known: dict[Any, int] = field(default_factory=dict, compare=False, repr=False)
    """Cache of the buckets of keys, one per process."""

    def __call__(self, key: Hashable) -> int:
        if key not in self._known:
            self.find([key])
        return self._known[key]

    def find(self, keys: Sequence[Hashable]) -> None:
        """Find the buckets of all `keys` at once, for the calls that follow."""
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if not new:
            return
        if len(self._known) + len(new) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(zip(new, self._numbers(new), strict=True))

    def _numbers(self, keys: Sequence[Any]) -> list[int]:
        parts = [keys] if self.places is None else [[key[place] for key in keys] for place in self.places]
        names = tuple(f"k{place}" for place in range(len(parts)))
        try:
            columns = [pa.array(part, to_arrow(dtype)) for part, dtype in zip(parts, self.types, strict=True)]
        except (pa.ArrowException, TypeError, ValueError, IndexError) as error:
            types = ", ".join(map(str, self.types))
            raise TypeMismatchError(
                f"a key is not of the type {types} that the table's buckets are by: {error}"
            ) from None
        schema = Schema(tuple(Field(name, dtype) for name, dtype in zip(names, self.types, strict=True)))
        buckets = RowBuckets(BucketSpec(names, self.num_buckets), schema)
        numbers: list[int] = buckets.numbers(pa.table(columns, list(names))).tolist()
        return numbers

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyHash, (self.types, self.places, self.num_buckets)


@dataclass(frozen=True, slots=True)
class FindBuckets:
    """Function that yields pairs of a key and a value unchanged, after finding the buckets of their keys in batches."""

    key_hash: KeyHash

    def __call__(self, pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        waiting = iter(pairs)
        while batch := list(islice(waiting, _BATCH)):
            self.key_hash.find([key for key, _ in batch])
            yield from batch
