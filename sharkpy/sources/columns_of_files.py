"""Columns of files for which nobody has declared any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.catalog.format_options import CSV
from sharkpy.sources.csv_files.inference import inferred_columns
from sharkpy.sources.json_columns import json_columns
from sharkpy.sources.layout import DataFile
from sharkpy.sources.other_columns import OtherColumn, checked_column, other_columns
from sharkpy.values.types import NULL, STRING, Field, Schema

if TYPE_CHECKING:
    from sharkpy.catalog.model import StorageFormat


def columns_of_files(files: Sequence[DataFile], storage: StorageFormat) -> Schema:
    """Columns of some files of a format in `hive_formats.SELF_DESCRIBING`: of the first one that has any, or, for CSV
    and JSON, by the rows of all of them. SourceError where none tells, or UnsupportedError where no table has such a
    column.
    """
    if storage.name == CSV:
        return inferred_columns(files, storage.properties)
    if storage.name == "json":
        found = [checked_column(OtherColumn(name, dtype)) for name, dtype in json_columns(files, storage.properties)]
        return _schema(found, files[0].path)
    first = next((file for file in files if file.size_bytes), None)
    if first is None:
        message = f"the columns of a table are not known: it has no {storage.name} files"
        raise SourceError(message, hint="declare them", sqlstate="42000")
    return _schema(other_columns(first, Schema(()), storage), first.path)


def _schema(columns: Sequence[OtherColumn], path: str) -> Schema:
    names = set[str]()
    for column in columns:
        if column.obstacle:
            raise UnsupportedError(f'the column "{column.name}" of "{path}": {column.obstacle}')
        if column.name in names:
            raise SourceError(f'"{path}" has two columns "{column.name}", whose names differ by case alone')
        names.add(column.name)
    return Schema(tuple(Field(one.name, STRING if one.dtype == NULL else one.dtype) for one in columns))
