"""From file splits to blocks: how files are cut for loading, and loading in the driver's process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from sharkpy import conf as settings
from sharkpy.catalog.model import StorageFormat
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics import BlockStatistics
from sharkpy.conf import Conf
from sharkpy.sources.layout import DataFile
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.registry import source
from sharkpy.sources.split import Split
from sharkpy.types import Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.columnar.store import BlockStore

_SAMPLE_BYTES = 64 << 10
_LEAST_SPLIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LoadedBlock:
    """A block with the split that it was made from."""

    handle: BlockHandle
    statistics: BlockStatistics
    split: Split


class BlockLoader(Protocol):
    """Makes blocks of splits; several of one split where it is large, none where it has no rows.

    The result is in the order of splits. A failure leaves no blocks.
    """

    def load(
        self, splits: Sequence[Split], schema: Schema, durable_dir: str | None
    ) -> tuple[list[LoadedBlock], ReadMetrics]: ...


def loading_splits(files: Sequence[DataFile], schema: Schema, storage: StorageFormat, conf: Conf) -> list[Split]:
    """Splits that become one block each: of equal size, near the rows wanted for a block."""
    block_rows, split_bytes = conf.value(settings.BLOCK_ROWS), conf.value(settings.SPLIT_BYTES)
    reader = source(storage.name)
    if storage.name == "parquet":
        groups = reader.splits(files, schema, storage.properties, 1)
        return list(_merged(groups, block_rows))
    if storage.name in ("text", "json"):
        split_bytes = _bytes_of_rows(files, block_rows, split_bytes)
    return reader.splits(files, schema, storage.properties, split_bytes)


def _merged(groups: Sequence[Split], block_rows: int) -> Iterator[Split]:
    """Neighbouring row groups of a file put together."""
    by_file: dict[str, list[Split]] = {}
    for group in groups:
        by_file.setdefault(group.path, []).append(group)
    for members in by_file.values():
        rows = sum(member.num_rows or 0 for member in members)
        aim = rows / max(math.ceil(rows / block_rows), 1)
        run: Split | None = None
        for member in members:
            if run is None:
                run = member
            elif (run.num_rows or 0) + (member.num_rows or 0) / 2 > aim:
                yield run
                run = member
            else:
                total = (run.num_rows or 0) + (member.num_rows or 0)
                run = replace(run, length=run.length + member.length, num_rows=total)
        if run is not None:
            yield run


def _bytes_of_rows(files: Sequence[DataFile], num_rows: int, most: int) -> int:
    """About the bytes that hold `num_rows` lines like those at the start of the first file."""
    for file in files:
        with open(file.path, "rb") as stream:
            sample = stream.read(_SAMPLE_BYTES)
        if lines := sample.count(b"\n"):
            return max(_LEAST_SPLIT_BYTES, min(most, len(sample) * num_rows // lines))
    return most


class DriverLoader:
    """Loads in this process, one split a thread."""

    def __init__(self, store: BlockStore, conf: Conf, num_threads: int) -> None:
        self._store = store
        self._writer = store.writer()
        self._conf = conf
        self._num_threads = num_threads

    def load(
        self, splits: Sequence[Split], schema: Schema, durable_dir: str | None
    ) -> tuple[list[LoadedBlock], ReadMetrics]:
        if durable_dir is not None:
            Path(durable_dir).mkdir(parents=True, exist_ok=True)
        written: list[BlockHandle] = []
        with ThreadPoolExecutor(min(self._num_threads, max(len(splits), 1))) as pool:
            futures = [pool.submit(self._load, split, schema, durable_dir, written) for split in splits]
            _, waiting = wait(futures, return_when=FIRST_EXCEPTION)
            for future in waiting:
                future.cancel()
        failure = next((f.exception() for f in futures if not f.cancelled() and f.exception() is not None), None)
        if failure is not None:
            self._store.adopt(written)
            self._store.release([handle.block_id for handle in written], durable=True)
            raise failure
        loaded, total = [], ReadMetrics()
        for future in futures:
            blocks, metrics = future.result()
            loaded += blocks
            total.merge(metrics)
        return loaded, total

    def _load(
        self, split: Split, schema: Schema, durable_dir: str | None, written: list[BlockHandle]
    ) -> tuple[list[LoadedBlock], ReadMetrics]:
        from sharkpy.columnar.block import encode_block

        metrics, loaded = ReadMetrics(), []
        force = self._conf.value(settings.FORCE_ENCODING)
        batches = source(split.format).read(split, schema, schema.names, metrics)
        for table in _block_tables(batches, schema, self._conf.value(settings.BLOCK_BYTES)):
            encoded = encode_block(table, schema, force_encoding=force)
            handle = self._writer.write(encoded, durable_dir)
            written.append(handle)
            loaded.append(LoadedBlock(handle, encoded.statistics, split))
        return loaded, metrics


def _block_tables(batches: Iterator[pa.RecordBatch], schema: Schema, block_bytes: int) -> Iterator[pa.Table]:
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        pending.append(batch)
        size += batch.nbytes
        if size >= block_bytes:
            yield pa.Table.from_batches(pending, arrow_schema(schema))
            pending, size = [], 0
    if any(batch.num_rows for batch in pending):
        yield pa.Table.from_batches(pending, arrow_schema(schema))
