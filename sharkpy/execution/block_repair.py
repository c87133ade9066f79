"""Lost and damaged blocks made again from the file splits that they came from, under their own names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from sharkpy import conf as settings
from sharkpy.catalog.model import Table
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store import BlockStore
from sharkpy.columnar.version import BlockOrigin, Origins, TableVersion
from sharkpy.conf import Conf
from sharkpy.errors import CorruptionError, ResourceError, SharkError
from sharkpy.sources.layout import DataFile
from sharkpy.sources.registry import source
from sharkpy.sources.split import Split
from sharkpy.types import Schema, arrow_schema


def rebuild_blocks(lost: set[str], version: TableVersion, table: Table, store: BlockStore, conf: Conf) -> None:
    """Make the blocks `lost` of `version` again, with the same rows at the same places: handles stay valid.

    CorruptionError naming table and block where the source is gone, was changed, or never was a file.
    """
    for origins, handles in _groups(version):
        missing = [handle for handle in handles if handle.block_id in lost]
        if missing:
            _rebuild(missing, handles, origins, version.schema, table, store, conf)


def _groups(version: TableVersion) -> Iterable[tuple[Origins, list[BlockHandle]]]:
    """Blocks that share their origins, in order: together they hold the rows of these."""
    groups: dict[Origins, list[BlockHandle]] = {}
    for handle, origins in zip(version.blocks, version.origins, strict=True):
        groups.setdefault(origins, []).append(handle)
    return groups.items()


def _rebuild(
    missing: Sequence[BlockHandle],
    handles: Sequence[BlockHandle],
    origins: Origins,
    schema: Schema,
    table: Table,
    store: BlockStore,
    conf: Conf,
) -> None:
    from sharkpy.columnar.block import encode_block

    if not origins:
        raise _hopeless(missing[0], table, "the table is in memory only")
    try:
        batches = [batch for origin in origins for batch in _read(origin, table, schema)]
        rows = pa.Table.from_batches(batches, arrow_schema(schema))
    except ResourceError:
        raise
    except SharkError as error:
        raise _hopeless(missing[0], table, error.message) from None
    if rows.num_rows != sum(handle.num_rows for handle in handles):
        raise _hopeless(missing[0], table, f"its source has {rows.num_rows} rows now")
    start = 0
    for handle in handles:
        if handle in missing:
            part = rows.slice(start, handle.num_rows)
            encoded = encode_block(part, schema, force_encoding=conf.value(settings.FORCE_ENCODING))
            store.rewrite(handle, memoryview(encoded.content).cast("B"))
        start += handle.num_rows


def _read(origin: BlockOrigin, table: Table, schema: Schema) -> Iterator[pa.RecordBatch]:
    split = split_of(origin, table)
    yield from source(split.format).read(split, schema, schema.names)


def _hopeless(handle: BlockHandle, table: Table, reason: str) -> CorruptionError:
    fact = f'lost or damaged, and cannot be made again: {reason} (table "{table.qualified_name}")'
    return CorruptionError.of_block(handle.block_id, fact)


def origin_of(split: Split) -> BlockOrigin:
    return BlockOrigin(split.path, split.start, split.length, split.file_bytes, split.modified_ns)


def file_of(origin: BlockOrigin) -> DataFile:
    return DataFile(origin.path, origin.file_bytes, origin.modified_ns)


def split_of(origin: BlockOrigin, table: Table) -> Split:
    return Split(
        origin.path,
        table.storage.name,
        table.storage.properties,
        origin.start,
        origin.length,
        origin.file_bytes,
        origin.modified_ns,
    )
