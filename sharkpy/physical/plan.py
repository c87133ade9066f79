"""Physical operators as a tree, and the distribution of their rows.

`PhysicalPlan` is the base of all operators. The planner enforces distributions; the partitionings of exchanges
establish them.
"""

from __future__ import annotations

from typing import ClassVar

from sharkpy.base.records import dataclass
from sharkpy.physical.stage_program import Spread
from sharkpy.plan.expr import ColumnRef, SortKey
from sharkpy.plan.node import PlanNode
from sharkpy.values.types import Field, Schema


class PhysicalPlan(PlanNode["PhysicalPlan"]):
    """Physical operator.

    1. `output` is the ordered tuple of its columns; the column with id 12 is named "c12" in SQL and Arrow.
    2. `distribution` says in which tasks the rows are; only Exchanges move rows.
    3. `label` is its one line in EXPLAIN, tests, logs and errors.
    """

    __slots__ = ()
    family: ClassVar[type]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        raise NotImplementedError(type(self).__name__)

    @property
    def distribution(self) -> Distribution:
        raise NotImplementedError(type(self).__name__)

    @property
    def schema(self) -> Schema:
        """Names and types of the columns that tasks pass on."""
        return Schema(tuple(Field(column_name(column.column_id), column.dtype) for column in self.output))


PhysicalPlan.family = PhysicalPlan


def column_name(column_id: int) -> str:
    """Return the name of a column in SQL and in the Arrow data between stages."""
    return f"c{column_id}"


def union_distribution(distributions: tuple[Distribution, ...]) -> Distribution:
    """Return the distribution of a union of several inputs."""
    if all(isinstance(one, Single) for one in distributions):
        return Single()
    if all(isinstance(one, Broadcast) for one in distributions):
        return Broadcast()
    return Unspecified()


def retained(distribution: Distribution, output: tuple[ColumnRef, ...]) -> Distribution:
    """Return `distribution` after a projection to `output`; a hash of removed columns says nothing."""
    ids = {column.column_id for column in output}
    if isinstance(distribution, Hashed) and not ids.issuperset(distribution.keys):
        return Unspecified()
    return distribution


# Distributions, and the partitionings of exchanges


@dataclass(frozen=True, slots=True)
class Unspecified:
    """Rows are in any number of tasks, in no particular way."""

    def __str__(self) -> str:
        return "any"


@dataclass(frozen=True, slots=True)
class Single:
    """All rows are in one task."""

    def __str__(self) -> str:
        return "single"


@dataclass(frozen=True, slots=True)
class Hashed:
    """Rows with equal `keys` are in one task: the bucket of their hash among `num_buckets`."""

    keys: tuple[int, ...]
    num_buckets: int

    def __str__(self) -> str:
        return f"hash({', '.join(f'#{key}' for key in self.keys)}) into {self.num_buckets}"


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Each task has all rows."""

    def __str__(self) -> str:
        return "broadcast"


Distribution = Unspecified | Single | Hashed | Broadcast


@dataclass(frozen=True, slots=True)
class HashPartitioning:
    """Rows go to `num_buckets` buckets by a stable hash of the columns `keys`. Equal NULLs meet.

    With `spread`, rows of heavy keys may be in further buckets, so equal rows need not be in one task.
    """

    keys: tuple[ColumnRef, ...]
    num_buckets: int
    spread: Spread | None = None

    def __str__(self) -> str:
        return f"hash [{', '.join(map(str, self.keys))}] into {self.num_buckets}"

    @property
    def distribution(self) -> Distribution:
        if self.spread is not None:
            return Unspecified()
        return Hashed(tuple(key.column_id for key in self.keys), self.num_buckets)


@dataclass(frozen=True, slots=True)
class RangePartitioning:
    """Rows go to `num_buckets` consecutive buckets in the order of `keys`, whose expressions are columns."""

    keys: tuple[SortKey, ...]
    num_buckets: int

    def __str__(self) -> str:
        return f"range [{', '.join(map(str, self.keys))}] into {self.num_buckets}"

    @property
    def distribution(self) -> Distribution:
        return Unspecified()


@dataclass(frozen=True, slots=True)
class SinglePartitioning:
    """All rows go to one bucket."""

    num_buckets = 1

    def __str__(self) -> str:
        return "single"

    @property
    def distribution(self) -> Distribution:
        return Single()


@dataclass(frozen=True, slots=True)
class BroadcastPartitioning:
    """All rows go to each task."""

    num_buckets = 1

    def __str__(self) -> str:
        return "broadcast"

    @property
    def distribution(self) -> Distribution:
        return Broadcast()


Partitioning = HashPartitioning | RangePartitioning | SinglePartitioning | BroadcastPartitioning


# Measurements of exchanges, and buckets of heavy keys


@dataclass(frozen=True, slots=True)
class SpreadKey:
    """Key, by its hash, with rows in `pieces` spread buckets (see `spread_buckets`)."""

    key_hash: int
    pieces: int


def spread_buckets(key_hash: int, pieces: int, num_spread: int) -> tuple[int, ...]:
    """Return the spread buckets, from 0, of a key's rows: consecutive ones from a start given by its hash."""
    start = key_hash % num_spread
    return tuple((start + piece) % num_spread for piece in range(min(pieces, num_spread)))


@dataclass(frozen=True, slots=True)
class ExchangeStatistics:
    """Measurements of an exchange whose map stage has run.

    1. `rows` and `bytes_per_bucket` are exact; spread buckets follow the ordinary ones.
    2. Statistics of collectors are empty if a stage has none.
    3. `rows_per_bucket` is a histogram of the keys' hashes, exact while it fits.
    4. `spread_keys` are the heavy hitters: all keys with rows in spread buckets.
    """

    rows: int
    bytes_per_bucket: tuple[int, ...]
    rows_per_bucket: tuple[int, ...] = ()
    spread_keys: tuple[SpreadKey, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(self.bytes_per_bucket)


@dataclass(frozen=True, slots=True)
class DealtBuckets:
    """Buckets of each planned task, if that is not bucket i for task i.

    `again` are the planned tasks that read buckets which another task reads too. A task must not read both sides of a
    join again, or rows would meet twice. `is_apart`: no tasks are merged (for tests).
    """

    buckets: tuple[tuple[int, ...], ...]
    again: range
    is_apart: bool = False
