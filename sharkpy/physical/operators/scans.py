"""Scans: columns of a table's cached blocks or data files, rows of a Python program, and literal rows."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.value_sets import KeyBits
from sharkpy.physical.column_bounds import ColumnBounds
from sharkpy.physical.operators.exchange import Exchange, ExchangeRead
from sharkpy.physical.plan import Broadcast, Distribution, Hashed, HashPartitioning, PhysicalPlan, Single, Unspecified
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.logical import RowSample
from sharkpy.plan.node import bracketed
from sharkpy.sources.formats import source
from sharkpy.sources.source import Split
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.columnar.statistics_table import StatisticsTable


@dataclass(frozen=True, slots=True)
class BlockSet:
    """Blocks of a table version that pruning kept; equal if version and counts are equal."""

    table_id: str
    sequence: int
    num_blocks: int
    num_kept: int
    blocks: tuple[BlockHandle, ...] = field(compare=False, repr=False)
    statistics: StatisticsTable | None = field(compare=False, repr=False, default=None)
    """Statistics of all blocks of the version. `positions` are the kept blocks' numbers, None for all blocks."""
    positions: np.ndarray[Any, np.dtype[np.int64]] | None = field(compare=False, repr=False, default=None)
    is_cut: bool = field(compare=False, repr=False, default=False)
    """True if these differ from the version's blocks that the scan's predicate keeps."""

    @property
    def num_rows(self) -> int:
        return sum(block.num_rows for block in self.blocks)

    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the blocks' numbers in the version, which index `statistics`."""
        return np.arange(len(self.blocks)) if self.positions is None else self.positions

    def at(self, places: np.ndarray[Any, np.dtype[np.int64]]) -> BlockSet:
        """Return the blocks at `places` among these, in that order; the same object if these are all, in order."""
        if len(places) == len(self.blocks) and (places == np.arange(len(places))).all():
            return self
        blocks = tuple(self.blocks[int(place)] for place in places)
        return replace(self, num_kept=len(blocks), blocks=blocks, positions=self.numbers()[places], is_cut=True)

    def column_bytes(self, names: tuple[str, ...]) -> int:
        """Return the encoded bytes of the columns `names` in the kept blocks."""
        return sum(block.bytes_of(names) for block in self.blocks)


@dataclass(frozen=True, slots=True)
class BlockScan(PhysicalPlan):
    """Scan of cached blocks. `names[i]` is the stored column of `columns[i]`, and `predicate` filters the rows.

    If `is_single`, one task reads all blocks. If `is_replicated`, each task does.
    """

    table_name: str
    table_schema: Schema
    columns: tuple[ColumnRef, ...]
    names: tuple[str, ...]
    blocks: BlockSet
    bounds: ColumnBounds = field(compare=False, repr=False)
    predicate: Expr | None = None
    is_single: bool = False
    is_replicated: bool = False
    buckets: HashPartitioning | None = None
    """Bucketing of each block's rows, if tasks are to read whole buckets."""
    partitions: tuple[int, int] | None = None
    """Number of Hive partitions that are read, and of all."""
    keys: tuple[tuple[str, KeyBits], ...] = ()
    """Keys that a join above has, by stored column. Rows with other keys may be removed."""
    sample: RowSample | None = None
    kernels: str = field(compare=False, repr=False, default="never")
    """Stages in which kernels may read the rows: "always", "driver" (only there) or "never"."""
    distinct: tuple[tuple[str, int], ...] = field(compare=False, repr=False, default=())
    """Estimated number of different values of each stored column, when the scan was planned."""

    def with_blocks(self, blocks: BlockSet) -> BlockScan:
        """Return the scan of some of its blocks."""
        return replace(self, blocks=blocks, bounds=self.bounds.with_rows(blocks.num_rows))

    @property
    def is_whole(self) -> bool:
        """True if each task reads all rows."""
        return self.is_single or self.is_replicated

    @property
    def names_by_id(self) -> dict[int, str]:
        """Stored column of each output column."""
        return {column.column_id: name for column, name in zip(self.columns, self.names, strict=True)}

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        if self.is_replicated:
            return Broadcast()
        if self.is_single:
            return Single()
        return Unspecified() if self.buckets is None else self.buckets.distribution

    @property
    def label(self) -> str:
        where = f" where {self.predicate}" if self.predicate else ""
        where += f" {self.sample}" if self.sample else ""
        kept = f"{partition_note(self.partitions)}{self.blocks.num_kept} of {self.blocks.num_blocks} blocks"
        each = ", in every task" if self.is_replicated else ""
        buckets = f" {co_partitioned(self.buckets)}" if isinstance(self.distribution, Hashed) and self.buckets else ""
        return f"BlockScan {self.table_name} {bracketed(self.columns)}{where} ({kept}{each}){buckets}"


def co_partitioned(buckets: HashPartitioning) -> str:
    """Return EXPLAIN's text for rows that need not be moved."""
    return f"co-partitioned on [{', '.join(map(str, buckets.keys))}] into {buckets.num_buckets}"


def bucketed_scan(plan: PhysicalPlan) -> BlockScan | None:
    """Return a scan by bucket in whose buckets the rows of `plan` still are, or None."""
    distribution = plan.distribution
    if not isinstance(distribution, Hashed) or isinstance(plan, (Exchange, ExchangeRead)):
        return None
    if isinstance(plan, BlockScan):
        return plan
    found = (bucketed_scan(child) for child in plan.children)
    return next((scan for scan in found if scan and scan.distribution.num_buckets == distribution.num_buckets), None)  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True)
class SplitSet:
    """File splits of a scan."""

    splits: tuple[Split, ...] = field(repr=False)

    @property
    def size_bytes(self) -> int:
        return sum(_split_bytes(split) for split in self.splits)

    @property
    def has_plain(self) -> bool:
        """True if DuckDB can read one of these files itself."""
        return any(split.plain is not None for split in self.splits)


def _split_bytes(split: Split) -> int:
    """Return the bytes of a split, or of its file for row groups and stripes."""
    return split.length if source(split.format).splits_bytes else split.file_bytes


def partition_note(partitions: tuple[int, int] | None, kind: str = "partitions") -> str:
    return "" if partitions is None else f"{partitions[0]} of {partitions[1]} {kind}, "


@dataclass(frozen=True, slots=True)
class FileScan(PhysicalPlan):
    """Scan of files; `names[i]` is the table's column of `columns[i]`."""

    table_name: str
    table_schema: Schema
    columns: tuple[ColumnRef, ...]
    names: tuple[str, ...]
    splits: SplitSet
    predicate: Expr | None = None
    is_single: bool = False
    partitions: tuple[int, int] | None = None
    """Number of Hive partitions that are read, and of all."""
    partition_kind: str = "partitions"
    """Name of the partitions in texts; "files" for lake tables."""
    sample: RowSample | None = None
    is_plain: bool = False
    """True if DuckDB can read one of the files itself. Lowering knows nothing else about them."""

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return Single() if self.is_single else Unspecified()

    @property
    def label(self) -> str:
        where = f" where {self.predicate}" if self.predicate else ""
        read = f"{partition_note(self.partitions, self.partition_kind)}{len(self.splits.splits)} splits"
        sample = f" {self.sample}" if self.sample else ""
        return f"FileScan {self.table_name} {bracketed(self.columns)}{where}{sample} ({read})"


@dataclass(frozen=True, slots=True)
class GivenScan(PhysicalPlan):
    """Rows of a Python program: an RDD's are in its tasks, which read and write them. Local ones are in one task."""

    columns: tuple[ColumnRef, ...]
    rows: GivenRows

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return Single() if self.rows.is_here else Unspecified()

    @property
    def label(self) -> str:
        return f"Given {bracketed(self.columns)} from {self.rows.label}"


@dataclass(frozen=True, slots=True)
class ValuesScan(PhysicalPlan):
    """Rows computed in one task. `reason` says where they come from if not from the query's text."""

    columns: tuple[ColumnRef, ...]
    rows: tuple[tuple[Expr, ...], ...]
    reason: str = ""

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return Single()

    @property
    def label(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"Values {bracketed(self.columns)} {len(self.rows)} rows{reason}"
