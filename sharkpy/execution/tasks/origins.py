"""Origins of blocks: records of their file splits, and back to splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sharkpy.base import uri
from sharkpy.catalog.avro_schema import with_schema_text
from sharkpy.catalog.json_rows import partition_format_from_text
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.columnar.version import BlockOrigin
from sharkpy.sources.formats import source
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import with_line_limit
from sharkpy.sources.source import Split


def origin_of(split: Split) -> BlockOrigin:
    identity = (split.file_bytes, split.modified_ns, split.partition, split.form, split.tag)
    return BlockOrigin(split.path, split.start, split.length, *identity)


def file_of(origin: BlockOrigin) -> DataFile:
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
    file = file_of(origin)
    if access is not None and uri.is_remote(file.path):
        file = replace(file, access=access(file.path))
    return Split.of(file, storage.name, properties, origin.start, origin.length)
