"""Reads columns of a table's cached blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sharkpy.columnar.handle import BlockHandle
from sharkpy.expr import ColumnRef, Expr
from sharkpy.physical.distribution import Broadcast, Distribution, Single, Unspecified
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.ranges import ColumnRange
from sharkpy.plan_node import listed
from sharkpy.types import Schema

if TYPE_CHECKING:
    import numpy as np

    from sharkpy.columnar.statistics import StatisticsTable


@dataclass(frozen=True, slots=True)
class BlockSet:
    """The blocks of a table version that pruning kept, and of how many; equal by version and counts alone."""

    table_id: str
    sequence: int
    num_blocks: int
    num_kept: int
    blocks: tuple[BlockHandle, ...] = field(compare=False, repr=False)
    ranges: tuple[tuple[str, ColumnRange], ...] = field(compare=False, repr=False, default=())
    """What statistics say of the kept blocks' stored columns, by name."""
    distinct: tuple[tuple[str, tuple[str, ...]], ...] = field(compare=False, repr=False, default=())
    """All values of string columns that have few in the kept blocks, sorted, by name."""
    statistics: StatisticsTable | None = field(compare=False, repr=False, default=None)
    """Of all blocks of the version; `positions` are the kept blocks' numbers, None for all of them."""
    positions: np.ndarray[Any, np.dtype[np.int64]] | None = field(compare=False, repr=False, default=None)

    @property
    def num_rows(self) -> int:
        return sum(block.num_rows for block in self.blocks)

    def column_bytes(self, names: tuple[str, ...]) -> int:
        """Encoded bytes of the columns `names` in the kept blocks."""
        wanted = frozenset(names)
        return sum(size for block in self.blocks for name, size in block.column_bytes if name in wanted)


@dataclass(frozen=True, slots=True)
class BlockScan(PhysicalPlan):
    """`names[i]` is the stored column behind `columns[i]`; `predicate` is applied to the rows of kept blocks.

    `is_single`: one task reads all blocks. `is_replicated`: each task does.
    """

    table_name: str
    table_schema: Schema
    columns: tuple[ColumnRef, ...]
    names: tuple[str, ...]
    blocks: BlockSet
    predicate: Expr | None = None
    is_single: bool = False
    is_replicated: bool = False

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        if self.is_replicated:
            return Broadcast()
        return Single() if self.is_single else Unspecified()

    @property
    def label(self) -> str:
        where = f" where {self.predicate}" if self.predicate else ""
        kept = f"{self.blocks.num_kept} of {self.blocks.num_blocks} blocks"
        each = ", in every task" if self.is_replicated else ""
        return f"BlockScan {self.table_name} {listed(self.columns)}{where} ({kept}{each})"
