"""Lost and damaged blocks made again from the file splits that they came from, under their own names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from sharkpy import conf as settings
from sharkpy.cancellation import check_cancelled, checked, submit
from sharkpy.catalog.model import Table
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store import BlockStore
from sharkpy.columnar.version import BlockOrigin, Origins, TableVersion
from sharkpy.conf import Conf
from sharkpy.errors import CancelledError, CorruptionError, ResourceError, SharkError
from sharkpy.execution.tasks.row_buckets import RowBuckets
from sharkpy.sources.layout import DataFile
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.read_split import read_split, read_split_coded
from sharkpy.sources.split import Split
from sharkpy.types import Schema, arrow_schema

_WRITE_THREADS = 4


def rebuild_blocks(
    lost: set[str], version: TableVersion, table: Table, store: BlockStore, conf: Conf, num_threads: int = 1
) -> None:
    """Make the blocks `lost` of `version` again, with the same rows at the same places: handles stay valid.

    CorruptionError naming table and block where the source is gone, was changed, or never was a file.
    """
    force_encoding = conf.value(settings.FORCE_ENCODING)
    with ThreadPoolExecutor(num_threads) as pool, ThreadPoolExecutor(_WRITE_THREADS) as writes:
        rebuilder = _Rebuilder(table, version.schema, store, force_encoding, writes)
        runs = []
        for origins, handles in _groups(version):
            missing = [handle for handle in handles if handle.block_id in lost]
            if missing:
                runs.append(submit(pool, rebuilder.rebuild, missing, handles, origins))
        try:
            for run in runs:
                for write in run.result():
                    write.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _groups(version: TableVersion) -> Iterable[tuple[Origins, list[BlockHandle]]]:
    """Blocks that share their origins, in order: together they hold the rows of these."""
    groups: dict[Origins, list[BlockHandle]] = {}
    for handle, origins in zip(version.blocks, version.origins, strict=True):
        groups.setdefault(origins, []).append(handle)
    return groups.items()


@dataclass(frozen=True, slots=True)
class _Rebuilder:
    table: Table
    schema: Schema
    store: BlockStore
    force_encoding: str
    writes: Executor
    """Writes and syncs blocks beside the encoding of others."""

    def rebuild(
        self, missing: Sequence[BlockHandle], handles: Sequence[BlockHandle], origins: Origins
    ) -> list[Future[None]]:
        """The blocks `missing` of `handles`, which together hold the rows of `origins`; what is left to wait for."""
        from sharkpy.columnar.block import encode_block

        name = self.table.qualified_name
        if not origins:
            raise hopeless(missing[0], name, "the table is in memory only")
        try:
            rows = self._read(origins)
        except (CancelledError, ResourceError):
            raise
        except SharkError as error:
            raise hopeless(missing[0], name, error.message) from None
        if rows.num_rows != sum(handle.num_rows for handle in handles):
            raise hopeless(missing[0], name, f"its source has {rows.num_rows} rows now")
        written: list[Future[None]] = []
        for handle, part in _parts(handles, rows, self.table):
            check_cancelled()
            if handle in missing:
                encoded = encode_block(part, self.schema, force_encoding=self.force_encoding)
                content = memoryview(encoded.content).cast("B")
                written.append(self.writes.submit(self.store.rewrite, handle, content))
        return written

    def _read(self, origins: Origins) -> pa.Table:
        """The rows of all origins in order; those of one alone as they are loaded, strings of few values as codes."""
        splits = [split_of(origin, self.table) for origin in origins]
        if len(splits) == 1:
            tables = list(checked(read_split_coded(splits[0], self.schema, ReadMetrics())))
            return pa.concat_tables(tables) if tables else arrow_schema(self.schema).empty_table()
        readers = (checked(read_split(split, self.schema, self.schema.names)) for split in splits)
        return pa.Table.from_batches(itertools.chain.from_iterable(readers), arrow_schema(self.schema))


def _parts(handles: Sequence[BlockHandle], rows: pa.Table, table: Table) -> Iterator[tuple[BlockHandle, pa.Table]]:
    """The rows of each block: the next ones of its bucket."""
    if any(handle.bucket is None for handle in handles) or table.buckets is None:
        remaining: dict[int | None, pa.Table] = dict.fromkeys((handle.bucket for handle in handles), rows)
    else:
        remaining = dict(RowBuckets(table.buckets, table.schema).split_all([rows]))
    for handle in handles:
        yield handle, remaining[handle.bucket].slice(0, handle.num_rows)
        remaining[handle.bucket] = remaining[handle.bucket].slice(handle.num_rows)


def hopeless(handle: BlockHandle, table_name: str, reason: str) -> CorruptionError:
    fact = f'lost or damaged, and cannot be made again: {reason} (table "{table_name}")'
    return CorruptionError.of_block(handle.block_id, fact)


def origin_of(split: Split) -> BlockOrigin:
    return BlockOrigin(split.path, split.start, split.length, split.file_bytes, split.modified_ns, split.partition)


def file_of(origin: BlockOrigin) -> DataFile:
    return DataFile(origin.path, origin.file_bytes, origin.modified_ns, origin.partition)


def split_of(origin: BlockOrigin, table: Table) -> Split:
    return Split(
        origin.path,
        table.storage.name,
        table.storage.properties,
        origin.start,
        origin.length,
        origin.file_bytes,
        origin.modified_ns,
        partition=origin.partition,
    )
