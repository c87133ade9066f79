"""Sinks of stages, the destinations of a task's rows; plain and picklable."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat
from sharkpy.values.types import DataType, Schema


@dataclass(frozen=True, slots=True)
class ResultSink:
    """Rows go to the driver as Arrow batches, in task order."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Spreading of heavy keys of an exchange: their rows are dealt over spread buckets.

    `min_rows` is the number of rows of a key in one task from which it is heavy. `is_forced` makes each key heavy (for
    tests). `kept` are the hashes of keys whose rows stay together, since the join's other side has spread them.
    """

    num_buckets: int
    min_rows: int
    is_forced: bool = False
    kept: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HashSink:
    """Rows go to `num_buckets` buckets by a stable hash of the columns `keys`; one IPC payload per bucket.

    The buckets of `spread` follow them.
    """

    keys: tuple[str, ...]
    num_buckets: int
    spread: Spread | None = None

    @property
    def all_buckets(self) -> int:
        return self.num_buckets + (self.spread.num_buckets if self.spread else 0)


@dataclass(frozen=True, slots=True)
class RangeSink:
    """Rows go to buckets by comparison with `bounds` (Arrow IPC bytes of sorted boundary rows) on `keys`.

    A key is (column, ascending, nulls_first). `types` are the keys' types, empty if all are plain.
    """

    keys: tuple[tuple[str, bool, bool], ...]
    bounds: bytes
    num_buckets: int
    types: tuple[DataType, ...] = ()


@dataclass(frozen=True, slots=True)
class SingleSink:
    """All rows go to one bucket."""


@dataclass(frozen=True, slots=True)
class BroadcastSink:
    """All rows go to the driver, which broadcasts them."""


@dataclass(frozen=True, slots=True)
class Bucketing:
    """Separation of rows by the bucket of the columns at the positions `keys`, with the hash of HashSink."""

    keys: tuple[int, ...]
    num_buckets: int


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """Layout of blocks as one matrix: numeric columns become floats, and with `has_label` the last one is separate.

    A missing value (NULL, NaN) is an error, unless `drops_missing` removes its row or `fills` has a replacement for
    each feature. If `is_by_source`, the rows of each scanned block go to separate blocks, whichever task reads it.
    """

    dtype: str
    has_label: bool
    drops_missing: bool = False
    fills: tuple[float, ...] = ()
    is_by_source: bool = False


@dataclass(frozen=True, slots=True)
class BlockSink:
    """Rows go to encoded blocks of the store, with `buckets` of one bucket each.

    With `layout`, each block is a matrix. Tasks return BlockHandles with statistics, and with the rows' checksum if
    `is_checked`.
    """

    schema: Schema
    block_rows: int
    durable_dir: str | None
    buckets: Bucketing | None = None
    is_checked: bool = False
    layout: MatrixLayout | None = None


@dataclass(frozen=True, slots=True)
class FileSink:
    """Rows go to files in `directory` (a staging folder), of one bucket each with `buckets`.

    With `partition_columns`, the rows' last columns are the texts of these columns, sorted. They are not written but
    name the folder of each row, at most `max_partitions` per task. Tasks return (path, rows, bytes).

    `forms` are the Hive partitions, by the names of their folders in `directory` ("" for itself), with formats and
    columns of their own. `stem` begins the names of files that belong to no bucket. `access` is the access id for a
    remote `directory`.
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
