"""Scan of columns of a table's data files."""

from __future__ import annotations

from dataclasses import dataclass, field

from sharkpy.physical.distribution import Distribution, Single, Unspecified
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.logical import RowSample
from sharkpy.plan.node import bracketed
from sharkpy.sources.formats import source
from sharkpy.sources.source import Split
from sharkpy.values.types import Schema


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
