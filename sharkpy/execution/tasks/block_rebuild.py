"""Rebuilding of lost or damaged blocks from their file splits, in the driver or in the task that misses them.

A block's origins are records of its splits. Blocks with the same origins are rebuilt together. The driver writes the
origins of all blocks as recipes into a file, so that a local task can rebuild a block and its stage need not rerun.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.base.errors import CancelledError, CorruptionError, ExecutionError, ResourceError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.catalog.avro_schema import with_schema_text
from sharkpy.catalog.json_rows import partition_format_from_text
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.columnar import block_folders
from sharkpy.columnar.block_cache import forget_block
from sharkpy.columnar.block_writer import BlockWriter
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import BlockOrigin, Origins, TableVersion
from sharkpy.execution.tasks.buckets import RowBuckets
from sharkpy.sources.formats import source
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import with_line_limit
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.sources.split_rows import read_split, read_split_coded
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.execution.tasks.inputs import TaskMetrics


def origin_of(split: Split) -> BlockOrigin:
    identity = (split.file_bytes, split.modified_ns, split.partition, split.form, split.tag)
    return BlockOrigin(split.path, split.start, split.length, *identity)


def file_of_origin(origin: BlockOrigin) -> DataFile:
    return DataFile(origin.path, origin.file_bytes, origin.modified_ns, origin.partition, origin.form, origin.tag)


def split_of(
    origin: BlockOrigin,
    table: Table,
    access: Callable[[str], str] | None = None,
    schema_text: Callable[[str], str] = local_path,
) -> Split:
    """Return the split of an origin, without a limit on lines, as it was read before.

    `access` returns the current access id for a remote file; `schema_text` is as for `file_splits`.
    """
    storage = partition_format_from_text(origin.form)[0] or table.storage
    is_by_lines = source(storage.name).splits_lines(storage.properties)
    properties = with_line_limit(storage.properties, 0) if is_by_lines else storage.properties
    properties = with_schema_text(properties, schema_text)
    file = file_of_origin(origin)
    if access is not None and uri.is_remote(file.path):
        file = replace(file, access=access(file.path))
    return Split.of(file, storage.name, properties, origin.start, origin.length)


BlockGroup = tuple[Origins, tuple[BlockHandle, ...]]
"""Blocks that share their origins, in order; together they hold all rows of these."""


def block_groups(version: TableVersion) -> list[BlockGroup]:
    groups: dict[Origins, list[BlockHandle]] = {}
    for handle, origins in zip(version.blocks, version.origins, strict=True):
        groups.setdefault(origins, []).append(handle)
    return [(origins, tuple(handles)) for origins, handles in groups.items()]


@dataclass(frozen=True, slots=True)
class BlockRebuilder:
    """Rebuilder of a table's blocks from their file splits."""

    table: Table
    schema: Schema
    force_encoding: str
    access: Callable[[str], str] | None = None
    """Function that returns access ids for remote files; tasks have none."""
    schema_text: Callable[[str], str] = local_path
    """Function that reads remote schemas; tasks have none."""

    def rebuild(self, missing: Sequence[BlockHandle], group: BlockGroup) -> Iterator[tuple[BlockHandle, memoryview]]:
        """Rebuild the blocks `missing` of `group`; yield each with its bytes.

        Raise CorruptionError, naming table and block, if the source is gone, has changed, or never was a file.
        """
        from sharkpy.columnar.block import encode_block

        origins, handles = group
        name = self.table.qualified_name
        if not origins:
            raise unrepairable(missing[0], name, "the table is in memory only")
        try:
            rows = self._read(origins)
        except (CancelledError, ResourceError):
            raise
        except SharkError as error:
            raise unrepairable(missing[0], name, error.message) from None
        if rows.num_rows != sum(handle.num_rows for handle in handles):
            raise unrepairable(missing[0], name, f"its source has {rows.num_rows} rows now")
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


def unrepairable(handle: BlockHandle, table_name: str, reason: str) -> CorruptionError:
    fact = f'lost or damaged, and cannot be made again: {reason} (table "{table_name}")'
    return CorruptionError.of_block(handle.block_id, fact)


_SUFFIX = ".recipes"


@dataclass(frozen=True, slots=True)
class TableRecipes:
    """Recipes of a table whose groups of blocks are each made from file splits only."""

    table: Table
    schema: Schema
    groups: tuple[BlockGroup, ...]
    writer: BlockWriter

    def group_of(self, block_id: str) -> BlockGroup | None:
        return next((one for one in self.groups if any(block.block_id == block_id for block in one[1])), None)


class RecipeRegistry:
    """Recipes of tables' newest versions. Thread-safe.

    They are written only before the next job, as versions may change often.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        """Make a registry with files in `folder`, which is called when there is something to write."""
        self._folder = folder
        self._noted: dict[str, tuple[Table, TableVersion | None, BlockWriter]] = {}
        self._lock = threading.Lock()

    def note(self, table: Table, version: TableVersion | None, writer: BlockWriter) -> None:
        """Note a table's newest version and the writer of its blocks; None if there is none any more."""
        with self._lock:
            self._noted[table.table_id] = table, version, writer

    def save(self) -> Path:
        """Write the noted recipes and return the folder. The driver rebuilds blocks whose recipes cannot be written."""
        folder = self._folder()
        with self._lock:
            while self._noted:
                _, (table, version, writer) = self._noted.popitem()
                with contextlib.suppress(ExecutionError, OSError):
                    if version is None:
                        remove_recipes(folder, table)
                    else:
                        save_recipes(folder, table, version, writer)
        return folder


def save_recipes(folder: Path, table: Table, version: TableVersion, writer: BlockWriter) -> None:
    """Write the recipes of a table's version over the earlier version's."""
    groups = tuple(group for group in block_groups(version) if group[0])
    if not groups:
        remove_recipes(folder, table)
        return
    folder.mkdir(parents=True, exist_ok=True)
    content = pickle.dumps(TableRecipes(table, version.schema, groups, writer), pickle.HIGHEST_PROTOCOL)
    block_folders.write_file(str(_recipes_path(folder, table)), memoryview(content))


def remove_recipes(folder: Path, table: Table) -> None:
    block_folders.remove(str(_recipes_path(folder, table)))


def find_recipes(folder: Path, block_id: str) -> TableRecipes | None:
    """Return the recipes of the table that has the block now, or None."""
    from pyspark.serializers import CPickleSerializer

    for path in folder.glob(f"*{_SUFFIX}"):
        content = path.read_bytes()
        if block_id.encode() in content:
            recipes = CPickleSerializer().loads(content)  # type: ignore[no-untyped-call]
            return recipes if isinstance(recipes, TableRecipes) else None
    return None


def _recipes_path(folder: Path, table: Table) -> Path:
    return folder / f"{table.table_id}{_SUFFIX}"


@dataclass(frozen=True, slots=True)
class RebuildInTask:
    """Rebuild of a block's group by the task that found the block lost or damaged. Failures are left to the driver."""

    recipes_dir: str
    force_encoding: str
    metrics: TaskMetrics

    def __call__(self, handle: BlockHandle) -> bool:
        """Rebuild the block. Return True if it is whole now, by this task or by another that was faster."""
        try:
            return self._rebuild(handle)
        except Exception:  # noqa: BLE001 - the driver tries too, and reports the cause
            return False
        finally:
            forget_block(handle.block_id)

    def _rebuild(self, handle: BlockHandle) -> bool:

        folder = Path(self.recipes_dir)
        recipes = find_recipes(folder, handle.block_id)
        group = recipes.group_of(handle.block_id) if recipes is not None else None
        if recipes is None or group is None:
            return False
        # One task reads the splits; tasks that wait for it find the blocks whole.
        with block_folders.locked_file(str(folder / f"{group[1][0].block_id}.lock")):
            self._rebuild_group(recipes, group)
        return True

    def _rebuild_group(self, recipes: TableRecipes, group: BlockGroup) -> None:
        from sharkpy.columnar.store import repair_copies

        def rewrite(block: BlockHandle, content: memoryview) -> None:
            recipes.writer.rewrite(block, content)
            forget_block(block.block_id)
            self.metrics.blocks_rebuilt += 1

        missing = [block for block in group[1] if not repair_copies(block, rewrite)]
        if missing:
            rebuilder = BlockRebuilder(recipes.table, recipes.schema, self.force_encoding)
            for block, content in rebuilder.rebuild(missing, group):
                rewrite(block, content)
