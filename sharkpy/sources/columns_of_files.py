"""Columns of files of a table that declares none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import SourceError
from sharkpy.catalog.format_options import CSV
from sharkpy.sources.csv_files.inference import inferred_columns
from sharkpy.sources.file_types import wider_type
from sharkpy.sources.json_columns import json_columns
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import of_each
from sharkpy.sources.other_columns import OtherColumn, checked_column, other_columns
from sharkpy.values.types import NULL, STRING, DataType, Field, Schema

if TYPE_CHECKING:
    from sharkpy.catalog.model import StorageFormat


def columns_of_files(files: Sequence[DataFile], storage: StorageFormat) -> Schema:
    """Columns of files of a format in `hive_formats.SELF_DESCRIBING`: the union of all files' columns, by name, each
    with a type for the values of all files.

    Columns of types that the engine does not have are STRING, and an error when they are read. Columns whose names no
    table can have are left out. SourceError if the files define no columns, or have types that no common type holds.
    """
    if storage.name == CSV:
        return inferred_columns(files, storage.properties)
    if storage.name == "json":
        found = [checked_column(OtherColumn(name, dtype)) for name, dtype in json_columns(files, storage.properties)]
        return _schema({one.name: (one.dtype, "") for one in found if not one.obstacle})
    written = [file for file in files if file.size_bytes]
    if not written:
        message = f"the columns of a table are not known: it has no {storage.name} files"
        raise SourceError(message, hint="declare them", sqlstate="42000")
    merged: dict[str, tuple[DataType, str]] = {}
    known = set[tuple[OtherColumn, ...]]()
    columns = of_each(lambda file: tuple(other_columns(file, Schema(()), storage)), written)
    for file, of_file in zip(written, columns, strict=True):
        if of_file not in known:
            known.add(of_file)
            _merge(merged, of_file, file.path)
    return _schema(merged)


def _merge(merged: dict[str, tuple[DataType, str]], columns: Sequence[OtherColumn], path: str) -> None:
    """Add the columns of the file at `path` to the columns of earlier files, each with the file of its type."""
    names = set[str]()
    for one in columns:
        if one.name in names or (one.obstacle and one.has_type):
            continue
        names.add(one.name)
        dtype, origin = merged.get(one.name, (NULL, path))
        found = wider_type(dtype, one.dtype)
        if found is None:
            message = f'the column "{one.name}" is {dtype} in "{origin}" and {one.dtype} in "{path}"'
            raise SourceError(message, hint="declare a table with the type that you want, or name files of one type")
        merged[one.name] = found, origin if found == dtype else path


def _schema(columns: Mapping[str, tuple[DataType, str]]) -> Schema:
    if not columns:
        raise SourceError("the columns of a table are not known: its files have none", sqlstate="42000")
    return Schema(tuple(Field(name, _stored(dtype)) for name, (dtype, _) in columns.items()))


def _stored(dtype: DataType) -> DataType:
    return STRING if dtype == NULL else dtype
