"""Planning of scans of partitioned tables: the remaining Hive partitions are read from blocks, files, or both."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base import settings
from sharkpy.physical.context import PlanContext
from sharkpy.physical.fresh_ids import FreshIds
from sharkpy.physical.hive_partitions import HivePartitions, PartitionRead
from sharkpy.physical.operators import BlockScan, FileScan, SplitSet, UnionAll, ValuesScan
from sharkpy.physical.plan_blocks import plan_blocks
from sharkpy.physical.plan_row_groups import kept_row_groups
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.logical import Scan
from sharkpy.plan.references import substitute


def plan_partitions(
    scan: Scan, source: HivePartitions, context: PlanContext, ids: FreshIds
) -> BlockScan | FileScan | UnionAll | ValuesScan:
    """Return the scan; only the remaining Hive partitions are listed and read."""
    names = source.kept(scan) if context.conf.value(settings.PRUNING) else source.names
    found = source.read(names) if names else PartitionRead(None, ())
    found = replace(found, splits=kept_row_groups(scan, found.splits, context))
    total = len(source.names)
    counts = (len(names), total)
    if found.version is None or not found.version.blocks:
        if not found.splits:
            return _nothing(scan, counts, source.kind)
        return replace(_files(scan, found, counts), partition_kind=source.kind)
    if not found.splits:
        return _counted(plan_blocks(scan, found.version, context), counts)
    blocks = plan_blocks(_renamed(scan, ids), found.version, context)
    if isinstance(blocks, ValuesScan):
        return _files(scan, found, counts)
    num_files = len({split.partition for split in found.splits})
    files = _files(_renamed(scan, ids), found, (num_files, total))
    columns = scan.columns or _renamed(scan, ids).columns
    return UnionAll((_counted(blocks, (len(names) - num_files, total)), files), columns)


def _counted(blocks: BlockScan | ValuesScan, counts: tuple[int, int]) -> BlockScan | ValuesScan:
    return replace(blocks, partitions=counts) if isinstance(blocks, BlockScan) else blocks


def _nothing(scan: Scan, counts: tuple[int, int], kind: str) -> ValuesScan:
    kept, total = counts
    return ValuesScan(scan.columns, (), f"{scan.table.qualified_name}: no data in {kept} of {total} {kind}")


def _files(scan: Scan, found: PartitionRead, counts: tuple[int, int]) -> FileScan:
    table, splits = scan.table, SplitSet(found.splits)
    name = table.qualified_name
    sample = scan.sample and scan.sample.of_bytes(splits.size_bytes)
    return FileScan(
        name,
        scan.schema,
        scan.columns,
        scan.names,
        splits,
        scan.predicate,
        partitions=counts,
        sample=sample,
        is_plain=splits.has_plain,
    )


def _renamed(scan: Scan, ids: FreshIds) -> Scan:
    """Return the scan with new columns, at least one, as rows without columns cannot be united."""
    columns, names = scan.columns, scan.names
    if not columns:
        field = scan.table.schema.fields[-1]
        columns, names = (ColumnRef(0, field.name, field.dtype),), (field.name,)
    fresh = tuple(ids.column(column.name, column.dtype) for column in columns)
    replaced: dict[int, Expr] = {old.column_id: new for old, new in zip(columns, fresh, strict=True)}
    predicate = None if scan.predicate is None else substitute(scan.predicate, replaced)
    return Scan(scan.table, fresh, names, predicate, scan.sample)
