"""Blocks of a file, made while its rows are written."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import CancelledError, ExecutionError
from sharkpy.columnar.block_folders import sync_file
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.parquet import as_read
from sharkpy.sources.source import ReadMetrics, Split

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.execution.tables.block_loading import DriverLoader, LoadedBlock
    from sharkpy.execution.tables.staged_blocks import StagedBlocks


class WrittenBlocks:
    """RowsTaker of one file that makes blocks of its rows, with copies in `directory`, if any.

    If that fails, the blocks are removed, and the file is loaded after it is complete.
    """

    def __init__(self, staged: StagedBlocks, table: Table, loader: DriverLoader, directory: str | None) -> None:
        self._staged = staged
        self._table = table
        self._loader = loader
        self._directory = directory
        self._blocks: list[LoadedBlock] = []
        self._copies: list[Future[None]] = []
        self._num_rows = 0
        self._is_over = False

    def take(self, rows: pa.Table, first: int, count: int) -> None:
        if self._is_over or self._staged.is_over:
            return
        schema, storage = self._table.schema, self._table.storage
        split = Split("", storage.name, storage.properties, first, count, 0, 0, rows.num_rows)
        try:
            self._staged.use(self._directory)
            for block in self._loader.make([as_read(rows, schema)], split, schema, self._directory):
                self._blocks.append(block)
                self._staged.adopt(block)
                if (copy := block.handle.durable_path) is not None and self._directory is not None:
                    self._copies.append(self._staged.syncs.begin(partial(sync_file, copy)))
        except CancelledError:
            raise
        except ExecutionError:
            self.drop()
        self._num_rows += rows.num_rows

    def end(self, path: Path) -> None:
        if self._is_over or not self._blocks:
            return
        try:
            status = path.stat()
        except OSError as error:
            raise io_error(error, str(path)) from None
        file = DataFile(str(path), status.st_size, status.st_mtime_ns)
        blocks = [replace(block, split=_split_in(file, block.split)) for block in self._blocks]
        self._is_over = True
        self._staged.put(blocks, ReadMetrics(self._num_rows), self._copies)

    def drop(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._staged.remove(self._blocks)
            self._blocks = []


def _split_in(file: DataFile, split: Split) -> Split:
    return Split.of(file, split.format, split.properties, split.start, split.length, split.num_rows)
