"""Rebuilding of lost blocks from their file splits, in the driver or in a task."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.base.errors import CancelledError, CorruptionError, ResourceError, SharkError
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import Origins, TableVersion
from sharkpy.execution.tasks.origins import split_of
from sharkpy.execution.tasks.row_buckets import RowBuckets
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.split_rows import read_split, read_split_coded
from sharkpy.values.types import Schema, arrow_schema

Siblings = tuple[Origins, tuple[BlockHandle, ...]]
"""Blocks that share their origins, in order; together they hold all rows of these."""


def siblings(version: TableVersion) -> list[Siblings]:
    groups: dict[Origins, list[BlockHandle]] = {}
    for handle, origins in zip(version.blocks, version.origins, strict=True):
        groups.setdefault(origins, []).append(handle)
    return [(origins, tuple(handles)) for origins, handles in groups.items()]


@dataclass(frozen=True, slots=True)
class BlockRebuilder:
    table: Table
    schema: Schema
    force_encoding: str
    access: Callable[[str], str] | None = None
    """Function that returns access ids for remote files; tasks have none."""
    schema_text: Callable[[str], str] = local_path
    """Function that reads remote schemas; tasks have none."""

    def rebuild(self, missing: Sequence[BlockHandle], group: Siblings) -> Iterator[tuple[BlockHandle, memoryview]]:
        """Rebuild the blocks `missing` of `group`; yield each with its bytes.

        Raise CorruptionError, naming table and block, if the source is gone, has changed, or never was a file.
        """
        from sharkpy.columnar.block import encode_block

        origins, handles = group
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
        for handle, part in _parts(handles, rows, self.table):
            check_cancelled()
            if handle in missing:
                encoded = encode_block(part, self.schema, force_encoding=self.force_encoding)
                yield handle, memoryview(encoded.content).cast("B")

    def _read(self, origins: Origins) -> pa.Table:
        """Read the rows of all origins in order.

        Rows of a single origin have their loaded form, with strings of few values as codes.
        """
        splits = [split_of(origin, self.table, self.access, self.schema_text) for origin in origins]
        if len(splits) == 1:
            tables = list(checked(read_split_coded(splits[0], self.schema, ReadMetrics())))
            return pa.concat_tables(tables) if tables else arrow_schema(self.schema).empty_table()
        readers = (checked(read_split(split, self.schema, self.schema.names)) for split in splits)
        return pa.Table.from_batches(itertools.chain.from_iterable(readers), arrow_schema(self.schema))


def _parts(handles: Sequence[BlockHandle], rows: pa.Table, table: Table) -> Iterator[tuple[BlockHandle, pa.Table]]:
    """Yield the rows of each block: the next ones of its bucket."""
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
