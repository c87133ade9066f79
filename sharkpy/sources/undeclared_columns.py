"""Columns of files that no table declares: all columns for a new table, or additional columns of one file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.system_tables import is_virtual
from sharkpy.sources import avro
from sharkpy.sources.csv_files.chunks import first_tokens
from sharkpy.sources.csv_files.detection import inferred_columns
from sharkpy.sources.csv_files.options import csv_options
from sharkpy.sources.file_types import column_type_of, wider_type
from sharkpy.sources.json_columns import json_columns, key_types
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import map_files
from sharkpy.sources.orc_reader import OrcReader
from sharkpy.sources.parquet import file_schema
from sharkpy.sources.source import Properties, Split
from sharkpy.sources.text_files import utf8_chunks
from sharkpy.values.types import NULL, STRING, ArrayType, DataType, Field, MapType, Schema, StructType

if TYPE_CHECKING:
    from sharkpy.catalog.model import StorageFormat
    from sharkpy.sources.layout import DataFile


def columns_of_files(files: Sequence[DataFile], storage: StorageFormat) -> Schema:
    """Columns of files of a format in `hive_formats.SELF_DESCRIBING`: the union of all files' columns, by name, each
    with a type for the values of all files.

    Columns of types that the engine does not have are STRING, and an error when they are read. Columns whose names no
    table can have are left out. SourceError if the files define no columns, or have types that no common type holds.
    """
    if storage.name == CSV:
        return inferred_columns(files, storage.properties)
    if storage.name == "json":
        found = [
            checked_column(AdditionalColumn(name, dtype)) for name, dtype in json_columns(files, storage.properties)
        ]
        return _schema({one.name: (one.dtype, "") for one in found if not one.obstacle})
    written = [file for file in files if file.size_bytes]
    if not written:
        message = f"the columns of a table are not known: it has no {storage.name} files"
        raise SourceError(message, hint="declare them", sqlstate="42000")
    merged: dict[str, tuple[DataType, str]] = {}
    known = set[tuple[AdditionalColumn, ...]]()
    columns = map_files(lambda file: tuple(additional_columns(file, Schema(()), storage)), written)
    for file, of_file in zip(written, columns, strict=True):
        if of_file not in known:
            known.add(of_file)
            _merge(merged, of_file, file.path)
    return _schema(merged)


def _merge(merged: dict[str, tuple[DataType, str]], columns: Sequence[AdditionalColumn], path: str) -> None:
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


_LONGEST_NAME = 767
"""Most characters of a column's name, as in Hive's metastore."""


@dataclass(frozen=True, slots=True)
class AdditionalColumn:
    """Column of a file. `obstacle`: why it cannot be added after a table's columns; empty if it can."""

    name: str
    dtype: DataType = STRING
    obstacle: str = ""
    has_type: bool = True
    """False if the engine has no type for its values. Then `dtype` is STRING, but the values cannot be read."""


def additional_columns(file: DataFile, known: Schema, storage: StorageFormat) -> list[AdditionalColumn]:
    """Columns of a file other than the `known` ones, in the file's order, with lower-case names."""
    if not file.size_bytes:
        return []
    return [checked_column(one) for one in _COLUMNS[storage.name](file, known, storage.properties)]


def checked_column(column: AdditionalColumn) -> AdditionalColumn:
    """The column, with an obstacle if a table cannot have a column of that name."""
    name = column.name
    if not name or len(name) > _LONGEST_NAME or "\0" in name or is_virtual(name):
        return AdditionalColumn(name, column.dtype, f'"{name[:_LONGEST_NAME]}" cannot be the name of a column')
    return column


def _of_arrow(schema: pa.Schema, known: Schema) -> Iterable[AdditionalColumn]:
    return (one for one in _columns_of_arrow(schema) if not known.has(one.name))


@functools.lru_cache(maxsize=64)
def _columns_of_arrow(schema: pa.Schema) -> tuple[AdditionalColumn, ...]:
    """All columns of a file. Cached, since thousands of files have the same ones."""
    found = list[AdditionalColumn]()
    for field in schema:
        name = field.name.lower()
        try:
            found.append(AdditionalColumn(name, _lowered(column_type_of(field.type))))
        except UnsupportedError as error:
            found.append(AdditionalColumn(name, STRING, error.message, has_type=False))
    return tuple(found)


def _lowered(dtype: DataType) -> DataType:
    """The type with the names of its fields in lower case, as in tables."""
    match dtype:
        case ArrayType(element):
            return ArrayType(_lowered(element))
        case MapType(key, value):
            return MapType(_lowered(key), _lowered(value))
        case StructType(names, types):
            return StructType(tuple(name.lower() for name in names), tuple(map(_lowered, types)))
    return dtype


def _of_parquet(file: DataFile, known: Schema, _: Properties) -> Iterable[AdditionalColumn]:
    return _of_arrow(file_schema(file), known)


def _of_orc(file: DataFile, known: Schema, _: Properties) -> Iterable[AdditionalColumn]:
    return _of_arrow(OrcReader(file).schema, known)


def _of_avro(file: DataFile, known: Schema, _: Properties) -> Iterable[AdditionalColumn]:
    found = avro.file_columns(file)
    return [AdditionalColumn(field.name, _lowered(field.dtype)) for field in found if field.name not in known.names]


def _of_json(file: DataFile, known: Schema, properties: Properties) -> Iterable[AdditionalColumn]:
    return [AdditionalColumn(name, dtype) for name, dtype in key_types(file, known.names, properties).items()]


def _of_csv(file: DataFile, known: Schema, properties: Properties) -> Iterable[AdditionalColumn]:
    """Columns in the header of a CSV file. Rows are read by position, so new columns have to follow the known ones."""
    options = csv_options(properties)
    whole = Split.of(file, CSV, properties, 0, file.size_bytes)
    header = [
        (token or "").lower() for token in first_tokens(utf8_chunks(whole, options.encoding), options, file.path) or ()
    ]
    if not set(header) - set(known.names):
        return
    found, columns = inferred_columns([file], properties), options.fields(known).names
    is_behind = found.names[: len(columns)] == columns
    for field in found:
        if not known.has(field.name):
            obstacle = "" if is_behind else f"{field.name} does not stand behind the known columns, and CSV has places"
            yield AdditionalColumn(field.name, field.dtype, obstacle)


_COLUMNS: dict[str, Callable[[DataFile, Schema, Properties], Iterable[AdditionalColumn]]] = {
    "json": _of_json,
    CSV: _of_csv,
    "parquet": _of_parquet,
    "avro": _of_avro,
    "orc": _of_orc,
}
