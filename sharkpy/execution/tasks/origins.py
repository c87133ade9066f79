"""What a block remembers of the file split that it was made from, and the split again."""

from __future__ import annotations

from sharkpy.catalog.model import Table
from sharkpy.columnar.version import BlockOrigin
from sharkpy.sources.layout import DataFile
from sharkpy.sources.split import Split


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
