"""Blocks of a table that has no files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.catalog.model import Table
from sharkpy.execution.commands.writes.publish import QuietWrite
from sharkpy.execution.engine_session import EngineSession

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics_table import PackedStatistics


@dataclass(slots=True)
class TableBlocks(QuietWrite):
    """Write of `blocks` that replace or extend the table's."""

    table: Table
    overwrite: bool
    session: EngineSession
    blocks: Sequence[tuple[BlockHandle, PackedStatistics]]

    def place(self) -> None:
        self.session.catalog.require(self.table)

    def show(self) -> None:
        blocks, self.blocks = self.blocks, ()
        self.session.table_cache.append(self.table, blocks, overwrite=self.overwrite)

    def discard(self) -> None:
        blocks, self.blocks = self.blocks, ()
        self.session.table_cache.discard(blocks)
