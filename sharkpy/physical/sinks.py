"""Sinks of stages: where a task's rows go, as plain picklable descriptions."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat
from sharkpy.values.types import DataType, Schema


@dataclass(frozen=True, slots=True)
class ResultSink:
    """Arrow batches back to the driver, in the order of tasks."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How an exchange treats keys that many of its rows share: their rows are dealt over spread buckets.

    `min_rows`: rows of one key in one task from which it counts as heavy. `is_forced`: every key does (tests).
    `kept`: hashes of keys whose rows stay together, as the join's other side has spread them.
    """

    num_buckets: int
    min_rows: int
    is_forced: bool = False
    kept: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HashSink:
    """Rows to `num_buckets` buckets by a stable hash of the columns `keys`; one IPC payload a bucket.

    The buckets of `spread` come behind those.
    """

    keys: tuple[str, ...]
    num_buckets: int
    spread: Spread | None = None

    @property
    def all_buckets(self) -> int:
        return self.num_buckets + (self.spread.num_buckets if self.spread else 0)


@dataclass(frozen=True, slots=True)
class RangeSink:
    """Rows to buckets by comparing with `bounds` (Arrow IPC bytes of boundary rows, sorted) on `keys`.

    A key is (column, ascending, nulls_first); `types` are those of the keys, none where all are plain.
    """

    keys: tuple[tuple[str, bool, bool], ...]
    bounds: bytes
    num_buckets: int
    types: tuple[DataType, ...] = ()


@dataclass(frozen=True, slots=True)
class SingleSink:
    """All rows to one bucket."""


@dataclass(frozen=True, slots=True)
class BroadcastSink:
    """All rows to the driver, which broadcasts them."""


@dataclass(frozen=True, slots=True)
class Bucketing:
    """Rows apart by the bucket of the columns at the positions `keys`, as a HashSink deals them out."""

    keys: tuple[int, ...]
    num_buckets: int


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """Blocks of one matrix: columns, of any numeric types, become floats; the last one is apart where `has_label`.

    A missing value (NULL, NaN) is refused, unless `drops_missing` leaves out its row or `fills` has, for each feature,
    what takes its place. `is_by_source`: the rows of each scanned block go to blocks of their own, whichever task
    reads it.
    """

    dtype: str
    has_label: bool
    drops_missing: bool = False
    fills: tuple[float, ...] = ()
    is_by_source: bool = False


@dataclass(frozen=True, slots=True)
class BlockSink:
    """Rows to encoded blocks of the store, with `buckets` of one bucket each, or in the `layout` of a matrix.

    Tasks return BlockHandles with their statistics, and with the checksum of the rows where `is_checked`.
    """

    schema: Schema
    block_rows: int
    durable_dir: str | None
    buckets: Bucketing | None = None
    is_checked: bool = False
    layout: MatrixLayout | None = None


@dataclass(frozen=True, slots=True)
class FileSink:
    """Rows to files in `directory` (a staging folder), with `buckets` of one bucket each.

    With `partition_columns`, the rows' last columns are the values of these as texts, sorted: they go to no file
    but name the folder of each, at most `max_partitions` a task. Tasks return (path, rows, bytes).

    `forms`: Hive partitions by the names of their folders in `directory` ("" for itself) whose files have a format
    and columns of their own. `stem`: beginning of the names of files that belong to no bucket.
    `access`: id of the access to the store of a remote `directory`.
    """

    schema: Schema
    format: str
    properties: tuple[tuple[str, str], ...]
    directory: str
    buckets: Bucketing | None = None
    partition_columns: tuple[str, ...] = ()
    max_partitions: int | None = None
    forms: tuple[tuple[str, StorageFormat, Schema], ...] = ()
    stem: str = "part"
    access: str = ""


StageSink = ResultSink | HashSink | RangeSink | SingleSink | BroadcastSink | BlockSink | FileSink
