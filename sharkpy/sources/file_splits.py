"""Splits of a table's files, each in the format of its Hive partition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sharkpy.catalog.model import StorageFormat
from sharkpy.catalog.serialize import form_from_text
from sharkpy.sources.layout import DataFile
from sharkpy.sources.registry import source
from sharkpy.sources.split import Split
from sharkpy.values.types import Schema


def file_splits(files: Sequence[DataFile], schema: Schema, storage: StorageFormat, split_bytes: int) -> list[Split]:
    """`storage` is the table's: that of all files which have none of their own."""
    return [
        split
        for form, part in by_form(files, storage)
        for split in source(form.name).splits(part, schema, form.properties, split_bytes)
    ]


def by_form(files: Sequence[DataFile], storage: StorageFormat) -> Iterator[tuple[StorageFormat, list[DataFile]]]:
    """Neighbouring files of one format."""
    for form, members in itertools.groupby(files, key=lambda file: file.form):
        yield form_from_text(form)[0] or storage, list(members)
