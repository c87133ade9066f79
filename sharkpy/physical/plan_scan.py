"""Planning of scans: statistics decide which blocks, Hive partitions and row groups are read.

A cached table is read from its blocks, another one from its files, and a partitioned table from both if only some
partitions are cached. Row groups of Parquet and stripes of ORC are pruned only in remote files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sharkpy.base import settings
from sharkpy.columnar.machine_loading import is_loaded
from sharkpy.columnar.pruning import prune
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.columnar.version import TableVersion, partition_of
from sharkpy.physical.column_bounds import ColumnBounds
from sharkpy.physical.hive_partitions import HivePartitions, PartitionRead
from sharkpy.physical.operators import BlockScan, BlockSet, FileScan, SplitSet, UnionAll, ValuesScan
from sharkpy.physical.plan import HashPartitioning
from sharkpy.physical.plan_context import FreshIds, PlanContext
from sharkpy.physical.pruning import column_ranges, distinct_strings, kept_blocks, pruning_predicate
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.logical import Scan
from sharkpy.plan.references import column_ids, substitute
from sharkpy.sources.open_files import map_files
from sharkpy.sources.source import Split

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


# Blocks of a table version


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
        kernels=_kernels(context),
        distinct=tuple((name, version.statistics.num_distinct(name)) for name in scan.names),
    )


def _kernels(context: PlanContext) -> str:
    """Return the stages in which kernels may read the rows of blocks."""
    wanted = context.conf.value(settings.KERNELS)
    if wanted != "auto":
        return wanted
    return "driver" if is_loaded() else "never"


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


# Hive partitions: read from blocks, files, or both


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


# Row groups of Parquet and stripes of ORC


_ORC = "orc"


def kept_row_groups(scan: Scan, splits: Sequence[Split], context: PlanContext) -> tuple[Split, ...]:
    """Return the splits without row groups or stripes excluded by statistics.

    Local files are not cut: DuckDB does that if it pays.
    """
    if scan.predicate is None or scan.sample is not None or not context.conf.value(settings.PRUNING):
        return tuple(splits)
    if not any(map(_has_statistics, splits)):
        return tuple(splits)
    return tuple(part for parts in map_files(lambda split: list(_kept(scan, split)), splits) for part in parts)


def _has_statistics(split: Split) -> bool:
    return bool(split.access) and not split.form and (split.plain is not None or split.format == _ORC)


def _kept(scan: Scan, split: Split) -> Iterator[Split]:
    found = _statistics(scan, split)
    if scan.predicate is None or found is None:
        yield split
        return
    known, statistics = found
    mask = prune(statistics, pruning_predicate(scan.predicate, known))
    for is_kept, run in itertools.groupby(range(split.length), key=lambda place: bool(mask[place])):
        places = list(run)
        if is_kept:
            rows = None if split.num_rows is None else int(statistics.rows[places].sum())
            yield replace(split, start=split.start + places[0], length=len(places), num_rows=rows)


def _statistics(scan: Scan, split: Split) -> tuple[dict[int, str], StatisticsTable] | None:
    """Return the predicate's columns with statistics, by their ids, and the statistics of the split's parts."""
    if scan.predicate is None or not _has_statistics(split):
        return None
    from sharkpy.sources.orc_statistics import stripe_statistics
    from sharkpy.sources.parquet_footer import row_group_statistics

    data, used = scan.table.data_schema, column_ids(scan.predicate)
    stored = data.names if split.plain is None else [name for name, _ in split.plain.column_bytes]
    names = {
        column.column_id: name
        for column, name in zip(scan.columns, scan.names, strict=True)
        if column.column_id in used and name in stored
    }
    if not names:
        return None
    read = stripe_statistics if split.plain is None else row_group_statistics
    schema, statistics = read(split, data.select(sorted(set(names.values()))))
    known = {column_id: name for column_id, name in names.items() if name in schema.names}
    return (known, statistics) if known else None
