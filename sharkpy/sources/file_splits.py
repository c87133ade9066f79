"""Splits of a table's files, each in the format of its Hive partition."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from sharkpy.base.settings import LINE_BYTES, SPLIT_BYTES, Conf
from sharkpy.catalog.avro_schema import with_schema_text
from sharkpy.catalog.json_rows import partition_format_from_text
from sharkpy.catalog.model import StorageFormat
from sharkpy.catalog.path_gate import local_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_limit import with_line_limit
from sharkpy.sources.registry import source
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.values.types import Schema


def file_splits(
    files: Sequence[DataFile],
    schema: Schema,
    storage: StorageFormat,
    conf: Conf,
    schema_text: Callable[[str], str] = local_path,
) -> list[Split]:
    """Splits of files. `storage` is the table's format, for files without one of their own. `schema_text` reads schemas
    at remote locations.
    """
    split_bytes = conf.value(SPLIT_BYTES)
    return [
        split
        for form, part in by_form(files, storage)
        for split in source(form.name).splits(part, schema, read_properties(form, conf, schema_text), split_bytes)
    ]


def read_properties(storage: StorageFormat, conf: Conf, schema_text: Callable[[str], str]) -> Properties:
    """Properties of a split: its format's properties, with the session's limits."""
    if not source(storage.name).splits_lines(storage.properties):
        return with_schema_text(storage.properties, schema_text)
    return with_line_limit(storage.properties, conf.value(LINE_BYTES))


def by_form(files: Sequence[DataFile], storage: StorageFormat) -> Iterator[tuple[StorageFormat, list[DataFile]]]:
    """Groups of adjacent files with the same format."""
    for form, members in itertools.groupby(files, key=lambda file: file.form):
        yield partition_format_from_text(form)[0] or storage, list(members)
