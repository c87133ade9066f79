"""Blocks that the stages of a query read and pruned, and the bytes that they read of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.physical.operators import BlockScan, BlockSet
from sharkpy.physical.plan import PhysicalPlan


@dataclass(frozen=True, slots=True)
class BlockFigures:
    """Numbers of blocks, and the encoded bytes of the columns read."""

    read: int = 0
    pruned: int = 0
    read_bytes: int = 0


NO_BLOCKS = BlockFigures()


@dataclass(slots=True)
class BlockCounter:
    """Counter of the blocks of one query.

    If a scan runs several times over parts of its blocks (waves for the first rows), a block that no run reads is
    pruned.
    A block that is read twice counts twice.
    """

    _runs: dict[tuple[object, ...], BlockSet | set[int]] = field(default_factory=dict)
    """For each scan, the blocks of its first run, or the numbers of the blocks of all runs."""

    def add(self, leaves: Iterable[tuple[str, PhysicalPlan]]) -> BlockFigures:
        """Count the scans of a stage that has run. `pruned` is below 0 if it has read blocks that counted as pruned."""
        read = pruned = size = 0
        for _, leaf in leaves:
            if isinstance(leaf, BlockScan):
                read += leaf.blocks.num_kept
                size += leaf.blocks.column_bytes(leaf.names)
                pruned += self._pruned(leaf)
        return BlockFigures(read, pruned, size) if read or pruned else NO_BLOCKS

    def _pruned(self, scan: BlockScan) -> int:
        """Return by how many blocks the number of those pruned has grown with this run of the scan."""
        blocks = scan.blocks
        key = (blocks.table_id, blocks.sequence, scan.names, *(column.column_id for column in scan.columns))
        before = self._runs.setdefault(key, blocks)
        if before is blocks:
            return blocks.num_blocks - blocks.num_kept
        known = before if isinstance(before, set) else set(before.numbers().tolist())
        if len(known) == blocks.num_blocks:
            return 0
        added = set(blocks.numbers().tolist()) - known
        self._runs[key] = known | added
        return -len(added)
