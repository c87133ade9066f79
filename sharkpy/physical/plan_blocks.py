"""Planning of scans of a table version: the blocks that statistics keep, and their bounds."""

from __future__ import annotations

from sharkpy.base import settings
from sharkpy.columnar.version import TableVersion, partition_of
from sharkpy.physical.column_bounds import ColumnBounds
from sharkpy.physical.context import PlanContext
from sharkpy.physical.distribution import HashPartitioning
from sharkpy.physical.operators import BlockScan, BlockSet, ValuesScan
from sharkpy.physical.statistics_ranges import column_ranges, distinct_strings, kept_blocks
from sharkpy.plan.logical import Scan


def plan_blocks(scan: Scan, version: TableVersion, context: PlanContext) -> BlockScan | ValuesScan:
    """Return the scan of the blocks that statistics keep; a ValuesScan without rows if there are none."""
    name, blocks = scan.table.qualified_name, _scanned_blocks(scan, version, context)
    if not blocks.blocks:
        return ValuesScan(scan.columns, (), f"{name}: 0 of {blocks.num_blocks} blocks")
    return BlockScan(
        name,
        version.schema,
        scan.columns,
        scan.names,
        blocks,
        _measured_bounds(scan, version, blocks),
        scan.predicate,
        buckets=_buckets(scan, version),
        partitions=_partitions(scan, version, blocks),
        sample=scan.sample and scan.sample.of_bytes(sum(block.size_bytes for block in version.blocks)),
    )


def _scanned_blocks(scan: Scan, version: TableVersion, context: PlanContext) -> BlockSet:
    """Return the blocks that may have rows for the scan's predicate."""
    total, table_id = len(version.blocks), scan.table.table_id
    kept = kept_blocks(scan, version) if context.conf.value(settings.PRUNING) else None
    blocks = tuple(version.blocks) if kept is None else tuple(version.blocks[int(index)] for index in kept)
    return BlockSet(table_id, version.sequence, total, len(blocks), blocks, version.statistics, kept)


def _measured_bounds(scan: Scan, version: TableVersion, blocks: BlockSet) -> ColumnBounds:
    """Return the bounds of the scan's columns over its blocks, from statistics."""
    kept = blocks.positions
    return ColumnBounds(column_ranges(scan, version, kept), distinct_strings(scan, version, kept), blocks.num_rows)


def _buckets(scan: Scan, version: TableVersion) -> HashPartitioning | None:
    """Return the table's buckets if the scan has their columns and each block is of one bucket, else None."""
    spec = scan.table.buckets
    if spec is None or any(block.bucket is None for block in version.blocks):
        return None
    columns = dict(zip(scan.names, scan.columns, strict=True))
    if not columns.keys() >= set(spec.columns):
        return None
    return HashPartitioning(tuple(columns[name] for name in spec.columns), spec.num_buckets)


def _partitions(scan: Scan, version: TableVersion, blocks: BlockSet) -> tuple[int, int] | None:
    """Return the number of Hive partitions with kept blocks, and of all with blocks."""
    if not scan.table.is_partitioned:
        return None
    names = [partition_of(origins) for origins in version.origins]
    return len({names[int(index)] for index in blocks.numbers()}), len(set(names))
