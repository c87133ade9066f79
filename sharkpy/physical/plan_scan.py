"""Scans: the version or files of a table, and the blocks that statistics leave."""

from __future__ import annotations

from sharkpy import conf
from sharkpy.columnar.version import TableVersion
from sharkpy.logical import Scan
from sharkpy.physical.context import PlanContext
from sharkpy.physical.operators import BlockScan, BlockSet, FileScan, SplitSet, ValuesScan
from sharkpy.physical.statistics_ranges import column_ranges, distinct_strings, kept_blocks

PlannedScan = BlockScan | FileScan | ValuesScan


def plan_scan(scan: Scan, context: PlanContext) -> PlannedScan:
    """The scan, pruned; a ValuesScan without rows where no block can have any."""
    source = context.scan_source(scan.table)
    if isinstance(source, TableVersion):
        return _plan_blocks(scan, source, context)
    if not source:
        return ValuesScan(scan.columns, (), f"{scan.table.qualified_name} has no data")
    return FileScan(
        scan.table.qualified_name, scan.table.schema, scan.columns, scan.names, SplitSet(tuple(source)), scan.predicate
    )


def _plan_blocks(scan: Scan, version: TableVersion, context: PlanContext) -> PlannedScan:
    name, total = scan.table.qualified_name, len(version.blocks)
    prunes = context.conf.value(conf.PRUNING)
    kept = kept_blocks(scan, version) if prunes else None
    blocks = tuple(version.blocks) if kept is None else tuple(version.blocks[int(index)] for index in kept)
    if not blocks:
        return ValuesScan(scan.columns, (), f"{name}: 0 of {total} blocks")
    ranges = column_ranges(scan, version, kept)
    strings = distinct_strings(scan, version, kept)
    block_set = BlockSet(
        scan.table.table_id, version.sequence, total, len(blocks), blocks, ranges, strings, version.statistics, kept
    )
    return BlockScan(name, version.schema, scan.columns, scan.names, block_set, scan.predicate)


def scanned_bytes(scan: PlannedScan) -> int:
    """Encoded bytes that reading the scan's columns touches."""
    match scan:
        case BlockScan():
            return scan.blocks.column_bytes(scan.names)
        case FileScan():
            return scan.splits.size_bytes
    return 0
