"""Loading of file splits as blocks: dividing files into splits, and the loader in the driver's process.

A table of thousands of small files is loaded as a few blocks.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.cancellation import checked, submit
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import BucketSpec, StorageFormat
from sharkpy.columnar.block_folders import storage_error, sync_directory, sync_file
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.kernels import load_kernels
from sharkpy.columnar.statistics_table import PackedStatistics
from sharkpy.execution.tasks.buckets import RowBuckets
from sharkpy.sources.formats import files_by_format, read_properties, source
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import cached_rows
from sharkpy.sources.open_files import opened
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.sources.split_rows import read_split_coded, read_split_columns
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.columnar.block import EncodedBlock
    from sharkpy.columnar.store import BlockStore

_SAMPLE_BYTES = 64 << 10
_LEAST_SPLIT_BYTES = 1 << 20
_LEAST_BLOCK_ROWS = 128 << 10
"""Number of rows below which tables are not divided among threads."""
_SYNC_THREADS = 4


@dataclass(frozen=True, slots=True)
class LoadedBlock:
    """Block with the split it was made from, and other splits whose rows follow in it."""

    handle: BlockHandle
    statistics: PackedStatistics
    split: Split
    others: tuple[Split, ...] = ()


class BlockLoader(Protocol):
    """Loader of splits into blocks: several for a large split, none for one without rows.

    The result is in the order of splits. A failure leaves no blocks. If `is_grouped`, many small splits may share
    blocks.
    """

    def load(
        self, splits: Sequence[Split], schema: Schema, durable_dir: str | None, *, is_grouped: bool = False
    ) -> tuple[list[LoadedBlock], ReadMetrics]: ...


def loading_splits(
    files: Sequence[DataFile],
    schema: Schema,
    storage: StorageFormat,
    conf: Conf,
    schema_text: Callable[[str], str],
    num_threads: int = 1,
) -> list[Split]:
    """Return splits of about equal size, each of at most a block's rows.

    Threads get equal numbers of blocks. `schema_text` is as for `file_splits`.
    """
    groups = files_by_format(files, storage)
    return [split for form, part in groups for split in _splits(part, schema, form, conf, schema_text, num_threads)]


def _splits(
    files: Sequence[DataFile],
    schema: Schema,
    storage: StorageFormat,
    conf: Conf,
    schema_text: Callable[[str], str],
    num_threads: int,
) -> list[Split]:
    block_rows, split_bytes = conf.value(settings.BLOCK_ROWS), conf.value(settings.SPLIT_BYTES)
    reader = source(storage.name)
    if storage.name == "parquet":
        groups = _row_groups(files, schema, storage)
        return list(_merged(groups, _rows_of_block(sum(map(_rows, groups)), block_rows, num_threads)))
    if reader.splits_lines(storage.properties):
        split_bytes = _bytes_of_rows(files, block_rows, split_bytes)
    return reader.splits(files, schema, read_properties(storage, conf, schema_text), split_bytes)


def _row_groups(files: Sequence[DataFile], schema: Schema, storage: StorageFormat) -> list[Split]:
    """Return a split per row group. Files just written by this process are not opened."""
    reader = source(storage.name)
    written = {file: split for file in files if (split := _written_group(file, storage)) is not None}
    if not written:
        return reader.splits(files, schema, storage.properties, 1)
    splits = list[Split]()
    for file in files:
        known = written.get(file)
        splits += reader.splits([file], schema, storage.properties, 1) if known is None else [known]
    return splits


def _written_group(file: DataFile, storage: StorageFormat) -> Split | None:
    """Return the split of a file of one row group whose rows are still in memory, else None."""
    last = last_split(file, storage)
    return last if last is not None and (last.start, last.length) == (0, 1) else None


def last_split(file: DataFile, storage: StorageFormat) -> Split | None:
    """Return the split of a file's last rows, if this process wrote them and they are still in memory."""
    kept = cached_rows(file.path)
    if kept is None:
        return None
    return Split.of(file, storage.name, storage.properties, kept.first, kept.count, kept.rows.num_rows)


def _rows_of_block(num_rows: int, most: int, num_threads: int) -> int:
    """Return the rows of each block if no thread is to wait for another one at the end."""
    blocks = math.ceil(math.ceil(num_rows / most) / num_threads) * num_threads
    return min(most, max(math.ceil(num_rows / max(blocks, 1)), _LEAST_BLOCK_ROWS))


def _rows(split: Split) -> int:
    return split.num_rows or 0


def _merged(groups: Sequence[Split], block_rows: int) -> Iterator[Split]:
    """Merge neighbouring row groups of a file, to splits of about equal size."""
    by_file: dict[tuple[str, str], list[Split]] = {}
    for group in groups:
        by_file.setdefault((group.partition, group.path), []).append(group)
    for members in by_file.values():
        rows = sum(map(_rows, members))
        aim = max(rows, 1) / max(math.ceil(rows / block_rows), 1)
        # A row group goes to the split that has its middle row.
        ends = itertools.accumulate(map(_rows, members))
        places = (int((end - _rows(member) / 2) / aim) for member, end in zip(members, ends, strict=True))
        for _, run in itertools.groupby(zip(places, members, strict=True), operator.itemgetter(0)):
            (_, first), *others = run
            length = first.length + sum(other.length for _, other in others)
            yield replace(first, length=length, num_rows=_rows(first) + sum(_rows(other) for _, other in others))


def _bytes_of_rows(files: Sequence[DataFile], num_rows: int, most: int) -> int:
    """Estimate the bytes of `num_rows` lines from the start of the first file with lines, up to `most`."""
    for file in files:
        with opened(file, end=_SAMPLE_BYTES) as stream:
            sample = stream.read(_SAMPLE_BYTES)
        if lines := sample.count(b"\n"):
            return max(_LEAST_SPLIT_BYTES, min(most, len(sample) * num_rows // lines))
    return most


class DriverLoader:
    """Loader in this process, one split per thread. Durable copies are synced while other blocks are encoded, and the
    compiled loops are loaded while the first splits are read.
    """

    def __init__(self, store: BlockStore, conf: Conf, num_threads: int, buckets: BucketSpec | None = None) -> None:
        """Make a loader; with `buckets` each block has rows of only one bucket."""
        self._buckets = buckets
        self._store = store
        self._writer = store.writer()
        self._conf = conf
        self._num_threads = num_threads

    def load(
        self, splits: Sequence[Split], schema: Schema, durable_dir: str | None, *, is_grouped: bool = False
    ) -> tuple[list[LoadedBlock], ReadMetrics]:
        if len(splits) == 1 and durable_dir is None:
            return self._load_here(splits[0], schema)
        groups: list[tuple[Split, ...]] = [(split,) for split in splits]
        if is_grouped and self._buckets is None:
            groups = list(split_groups(splits, self._conf.value(settings.BLOCK_ROWS)))
        written: list[BlockHandle] = []
        loaded, total = [], ReadMetrics()
        threads = min(self._num_threads, max(len(groups), 1))
        with ThreadPoolExecutor(threads) as pool, ThreadPoolExecutor(max(threads, _SYNC_THREADS)) as syncs:
            syncs.submit(load_kernels)
            copies: list[Future[None]] = []
            futures = [submit(pool, self._load, group, schema, durable_dir, written, syncs, copies) for group in groups]
            try:
                for future in futures:
                    blocks, metrics = future.result()
                    loaded += blocks
                    total.merge(metrics)
                for copy in copies:
                    copy.result()
                if durable_dir is not None and loaded:
                    sync_folder(durable_dir)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                syncs.shutdown(wait=True, cancel_futures=True)
                self._store.adopt(written)
                self._store.release([handle.block_id for handle in written], durable=True)
                raise
        return loaded, total

    def _load_here(self, split: Split, schema: Schema) -> tuple[list[LoadedBlock], ReadMetrics]:
        """Load a split in this thread."""
        written: list[BlockHandle] = []
        try:
            return self._load((split,), schema, None, written, None, [])
        except BaseException:
            self._store.adopt(written)
            self._store.release([handle.block_id for handle in written], durable=True)
            raise

    def _load(
        self,
        group: tuple[Split, ...],
        schema: Schema,
        durable_dir: str | None,
        written: list[BlockHandle],
        syncs: Executor | None,
        copies: list[Future[None]],
    ) -> tuple[list[LoadedBlock], ReadMetrics]:
        metrics, loaded = ReadMetrics(), []
        for block in self._blocks(group, schema, durable_dir, metrics):
            written.append(block.handle)
            if block.handle.durable_path is not None and syncs is not None:
                copies.append(syncs.submit(sync_file, block.handle.durable_path))
            loaded.append(block)
        return loaded, metrics

    def _blocks(
        self, group: tuple[Split, ...], schema: Schema, durable_dir: str | None, metrics: ReadMetrics
    ) -> Iterator[LoadedBlock]:
        """Make the blocks of a group of splits: one block, unless the rows are large."""
        if len(group) == 1 and self._buckets is None:
            columns = read_split_columns(group[0], schema, metrics)
            if columns is not None:
                yield from self._blocks_of_columns(columns, group[0], schema, durable_dir)
                return
        if len(group) == 1:
            yield from self.make(checked(read_split_coded(group[0], schema, metrics)), group[0], schema, durable_dir)
            return
        target = arrow_schema(schema)
        by_split = [[rows.cast(target) for rows in checked(read_split_coded(one, schema, metrics))] for one in group]
        with_rows = [(split, rows) for split, rows in zip(group, map(_joined, by_split), strict=True) if rows.num_rows]
        if sum(rows.nbytes for _, rows in with_rows) >= self._conf.value(settings.BLOCK_BYTES):
            for split, rows in with_rows:
                yield from self.make([rows], split, schema, durable_dir)
        elif with_rows:
            (first, _), *others = with_rows
            whole = pa.concat_tables([rows for _, rows in with_rows])
            for block in self.make([whole], first, schema, durable_dir):
                yield replace(block, others=tuple(split for split, _ in others))

    def _blocks_of_columns(
        self, columns: Iterable[pa.Table], split: Split, schema: Schema, durable_dir: str | None
    ) -> Iterator[LoadedBlock]:
        """Make blocks of a split that is read by columns."""
        from sharkpy.columnar.block import encode_blocks

        force = self._conf.value(settings.FORCE_ENCODING)
        for encoded in encode_blocks(columns, schema, self._conf.value(settings.BLOCK_ROWS), force_encoding=force):
            yield self._written(encoded, split, durable_dir)

    def _written(
        self, encoded: EncodedBlock, split: Split, durable_dir: str | None, bucket: int | None = None
    ) -> LoadedBlock:
        handle = replace(self._writer.write(encoded, durable_dir, is_synced=False), bucket=bucket)
        return LoadedBlock(handle, encoded.statistics, split)

    def make(
        self, tables: Iterable[pa.Table], split: Split, schema: Schema, durable_dir: str | None
    ) -> Iterator[LoadedBlock]:
        """Make blocks of a split's rows; the caller syncs their durable copies."""
        from sharkpy.columnar.block import encode_block

        force = self._conf.value(settings.FORCE_ENCODING)
        for bucket, table in self._block_tables(tables, schema):
            yield self._written(encode_block(table, schema, force_encoding=force), split, durable_dir, bucket)

    def _block_tables(self, tables: Iterable[pa.Table], schema: Schema) -> Iterator[tuple[int | None, pa.Table]]:
        """Yield tables of one block each, with their bucket."""
        limits = self._conf.value(settings.BLOCK_ROWS), self._conf.value(settings.BLOCK_BYTES)
        if self._buckets is None:
            for table in block_tables(tables, *limits):
                yield None, table
            return
        for bucket, rows in RowBuckets(self._buckets, schema).split_all(tables):
            for table in block_tables([rows], *limits):
                yield bucket, table


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables) if tables else pa.table({})


def sync_folder(path: str) -> None:
    """Sync a folder to the disk; raise ResourceError if the disk is full."""
    try:
        sync_directory(path)
    except OSError as error:
        raise storage_error(path, error) from None


def block_tables(tables: Iterable[pa.Table], block_rows: int, block_bytes: int) -> Iterator[pa.Table]:
    """Divide the rows of `tables`, in order, into tables of one block each."""
    pending: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        # Equal parts, so that a table slightly larger than a block does not end as a full block and a tiny one.
        num_parts = max(math.ceil(table.num_rows / block_rows), 1)
        step = max(math.ceil(table.num_rows / num_parts), 1)
        for start in range(0, table.num_rows, step):
            part = table.slice(start, step)
            if pending and rows + part.num_rows > block_rows:
                yield pa.concat_tables(pending)
                pending, rows, size = [], 0, 0
            pending.append(part)
            rows, size = rows + part.num_rows, size + part.nbytes
            if rows >= block_rows or size >= block_bytes:
                yield pa.concat_tables(pending)
                pending, rows, size = [], 0, 0
    if pending:
        yield pa.concat_tables(pending)


_MANY = 64
"""Number of splits below which each has its own blocks."""
_MOST_ROWS = 128 << 10
_MOST_BYTES = 4 << 20
"""Limits on the rows and file bytes of a group."""


def split_groups(splits: Sequence[Split], block_rows: int) -> Iterator[tuple[Split, ...]]:
    """Group neighbouring small splits of a Hive partition if there are many splits. Large splits stay single.

    A group fits a block: a file with an unknown number of rows has at most one row per byte.
    """
    if len(splits) < _MANY:
        yield from ((split,) for split in splits)
        return
    group: list[Split] = []
    rows, size = 0, 0
    for split in splits:
        own_rows = split.file_bytes if split.num_rows is None else split.num_rows
        rows, size = rows + own_rows, size + split.file_bytes
        is_full = rows > min(block_rows, _MOST_ROWS) or size > _MOST_BYTES
        if group and (is_full or split.partition != group[0].partition):
            yield tuple(group)
            group, rows, size = [], own_rows, split.file_bytes
        group.append(split)
    yield tuple(group)
