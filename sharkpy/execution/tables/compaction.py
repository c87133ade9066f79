"""Compaction: runs of small neighbouring blocks, left by small appends, are merged into full ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.settings import Conf
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics_table import PackedStatistics
from sharkpy.columnar.store import BlockStore, open_block
from sharkpy.columnar.version import Origins, TableVersion
from sharkpy.values.nested_arrow import cast_table
from sharkpy.values.types import arrow_schema

_SMALL = 2
"""A block is small if its rows times this are fewer than a full block's."""


@dataclass(frozen=True, slots=True)
class MergedBlock:
    """Block that replaces the blocks `replaced`, with their rows in order."""

    handle: BlockHandle
    statistics: PackedStatistics
    origins: Origins
    replaced: tuple[BlockHandle, ...]


def small_runs(version: TableVersion, block_rows: int, min_blocks: int) -> list[range]:
    """Return runs of at least `min_blocks` small blocks that fit one block.

    Blocks that share a split, and different buckets, are not merged. A run begins with a block that has no more rows
    than all that follow it together. So each row is merged only a few times, however many appends there are.
    """
    if sum(block.num_rows * _SMALL < block_rows for block in version.blocks) < min_blocks:
        return []
    # A block with several origins was merged from whole blocks.
    shared = Counter(origins[0] for origins in version.origins if len(origins) == 1)
    runs: list[range] = []
    start, rows = 0, 0
    buckets = [block.bucket for block in version.blocks]
    for place, (block, origins) in enumerate(zip(version.blocks, version.origins, strict=True)):
        is_small = block.num_rows * _SMALL < block_rows and (len(origins) != 1 or shared[origins[0]] == 1)
        is_alike = place > start and _partitions(origins) == _partitions(version.origins[place - 1])
        is_alike = is_alike and buckets[place] == buckets[place - 1]
        if not is_small or not is_alike or rows + block.num_rows > block_rows:
            runs.append(range(start, place))
            start, rows = (place, 0) if is_small else (place + 1, 0)
        if is_small:
            rows += block.num_rows
    runs.append(range(start, len(version.blocks)))
    rows_of = [block.num_rows for block in version.blocks]
    return [run for run in (_balanced(run, rows_of) for run in runs) if len(run) >= min_blocks]


def _balanced(run: range, rows: Sequence[int]) -> range:
    """Drop the blocks at the run's start that have more rows than all that follow."""
    behind = sum(rows[place] for place in run)
    for place in run:
        behind -= rows[place]
        if rows[place] <= behind:
            return range(place, run.stop)
    return range(run.stop, run.stop)


def _partitions(origins: Origins) -> set[str]:
    """Return the Hive partition of a block with origins as a set of one; without origins, the empty set."""
    return {origin.partition for origin in origins}


def merge_run(run: range, version: TableVersion, store: BlockStore, conf: Conf, durable_dir: str | None) -> MergedBlock:
    """Write the merged block, not published yet. Raise CorruptionError naming a block that must be repaired first."""
    from sharkpy.columnar.block import encode_block

    replaced = tuple(version.blocks[place] for place in run)
    schema = version.schema
    tables = [open_block(handle).read(schema.names, decoded=True) for handle in replaced]
    rows = pa.concat_tables([cast_table(table, arrow_schema(schema)) for table in tables])
    encoded = encode_block(rows, schema, force_encoding=conf.value(settings.FORCE_ENCODING))
    origins = tuple(origin for place in run for origin in version.origins[place])
    handle = replace(store.writer().write(encoded, durable_dir), bucket=replaced[0].bucket)
    store.adopt([handle])
    return MergedBlock(handle, encoded.statistics, origins, replaced)


def with_merged(version: TableVersion, merged: Sequence[MergedBlock]) -> tuple[TableVersion, list[MergedBlock]]:
    """Put merged blocks into `version` if their parts are still in it. Return it and the blocks used."""
    used = []
    for block in merged:
        ids = [part.block_id for part in block.replaced]
        places = [place for place, held in enumerate(version.blocks) if held.block_id == ids[0]]
        first = places[0] if places else 0
        if [held.block_id for held in version.blocks[first : first + len(ids)]] == ids:
            version = version.with_merged(first, len(ids), block.handle, block.statistics, block.origins)
            used.append(block)
    return version, used
