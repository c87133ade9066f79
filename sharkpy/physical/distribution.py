"""Where the rows of an operator are: the property that the planner enforces, and the ways to establish it."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.expr import ColumnRef, SortKey


@dataclass(frozen=True, slots=True)
class Unspecified:
    """Rows lie in any number of tasks, in no particular way."""

    def __str__(self) -> str:
        return "any"


@dataclass(frozen=True, slots=True)
class Single:
    """All rows are in one task."""

    def __str__(self) -> str:
        return "single"


@dataclass(frozen=True, slots=True)
class Hashed:
    """Rows equal in the columns `keys` are in one task: the bucket of their hash among `num_buckets`."""

    keys: tuple[int, ...]
    num_buckets: int

    def __str__(self) -> str:
        return f"hash({', '.join(f'#{key}' for key in self.keys)}) into {self.num_buckets}"


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Every task has all rows."""

    def __str__(self) -> str:
        return "broadcast"


Distribution = Unspecified | Single | Hashed | Broadcast


@dataclass(frozen=True, slots=True)
class HashPartitioning:
    """Rows to `num_buckets` buckets by a stable hash of the columns `keys`; equal NULLs meet."""

    keys: tuple[ColumnRef, ...]
    num_buckets: int

    def __str__(self) -> str:
        return f"hash [{', '.join(map(str, self.keys))}] into {self.num_buckets}"

    @property
    def distribution(self) -> Distribution:
        return Hashed(tuple(key.column_id for key in self.keys), self.num_buckets)


@dataclass(frozen=True, slots=True)
class RangePartitioning:
    """Rows to `num_buckets` buckets that follow each other in the order of `keys`, whose expressions are columns."""

    keys: tuple[SortKey, ...]
    num_buckets: int

    def __str__(self) -> str:
        return f"range [{', '.join(map(str, self.keys))}] into {self.num_buckets}"

    @property
    def distribution(self) -> Distribution:
        return Unspecified()


@dataclass(frozen=True, slots=True)
class SinglePartitioning:
    """All rows to one bucket."""

    num_buckets = 1

    def __str__(self) -> str:
        return "single"

    @property
    def distribution(self) -> Distribution:
        return Single()


@dataclass(frozen=True, slots=True)
class BroadcastPartitioning:
    """All rows to every task."""

    num_buckets = 1

    def __str__(self) -> str:
        return "broadcast"

    @property
    def distribution(self) -> Distribution:
        return Broadcast()


Partitioning = HashPartitioning | RangePartitioning | SinglePartitioning | BroadcastPartitioning


@dataclass(frozen=True, slots=True)
class ExchangeStatistics:
    """What running an exchange's map stage observed: rows, and bytes of each bucket."""

    rows: int
    bytes_per_bucket: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        return sum(self.bytes_per_bucket)
