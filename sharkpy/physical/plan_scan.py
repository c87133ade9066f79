"""Planning of scans over a table's version or files."""

from __future__ import annotations

from sharkpy.columnar.version import TableVersion
from sharkpy.physical.context import PlanContext
from sharkpy.physical.fresh_ids import FreshIds
from sharkpy.physical.hive_partitions import HivePartitions
from sharkpy.physical.operators import BlockScan, FileScan, SplitSet, UnionAll, ValuesScan
from sharkpy.physical.plan_blocks import plan_blocks
from sharkpy.physical.plan_partitions import plan_partitions
from sharkpy.physical.plan_row_groups import kept_row_groups
from sharkpy.plan.logical import Scan

PlannedScan = BlockScan | FileScan | UnionAll | ValuesScan
"""Planned scan; a UnionAll of a BlockScan and a FileScan if a table is partly in memory."""


def plan_scan(scan: Scan, context: PlanContext, ids: FreshIds) -> PlannedScan:
    """Return the pruned scan; a ValuesScan without rows if nothing is left."""
    source = context.file_source(scan.table) if scan.is_of_files else context.scan_source(scan.table)
    if isinstance(source, TableVersion):
        return plan_blocks(scan, source, context)
    if isinstance(source, HivePartitions):
        return plan_partitions(scan, source, context, ids)
    if not source:
        return ValuesScan(scan.columns, (), f"{scan.table.qualified_name} has no data")
    kept = kept_row_groups(scan, source, context)
    if not kept:
        return ValuesScan(scan.columns, (), f"{scan.table.qualified_name}: no row groups for the predicate")
    splits = SplitSet(kept)
    return FileScan(
        scan.table.qualified_name,
        scan.schema,
        scan.columns,
        scan.names,
        splits,
        scan.predicate,
        sample=scan.sample and scan.sample.of_bytes(splits.size_bytes),
        is_plain=splits.has_plain,
    )


def scanned_bytes(scan: PlannedScan) -> int:
    """Return the encoded bytes that are read for the scan's columns."""
    match scan:
        case BlockScan():
            return scan.blocks.column_bytes(scan.names)
        case FileScan():
            return scan.splits.size_bytes
        case UnionAll(inputs):
            return sum(scanned_bytes(child) for child in inputs if isinstance(child, (BlockScan, FileScan)))
    return 0
