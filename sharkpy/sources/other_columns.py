"""Columns of a file that a table lacks: from the file's schema, its header, or the keys of its objects."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.system_tables import is_virtual
from sharkpy.sources import avro
from sharkpy.sources.csv_files.inference import inferred_columns
from sharkpy.sources.csv_files.multi_line import first_tokens
from sharkpy.sources.csv_files.options import csv_options
from sharkpy.sources.file_types import column_type_of
from sharkpy.sources.json_keys import key_types
from sharkpy.sources.orc_reader import OrcReader
from sharkpy.sources.parquet import file_schema
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.sources.whole_files import utf8_chunks
from sharkpy.values.types import STRING, ArrayType, DataType, MapType, Schema, StructType

if TYPE_CHECKING:
    from sharkpy.catalog.model import StorageFormat
    from sharkpy.sources.layout import DataFile

_LONGEST_NAME = 767
"""Most characters of a column's name, as in Hive's metastore."""


@dataclass(frozen=True, slots=True)
class OtherColumn:
    """Column of a file. `obstacle`: why it cannot be added after a table's columns; empty if it can."""

    name: str
    dtype: DataType = STRING
    obstacle: str = ""
    has_type: bool = True
    """False if the engine has no type for its values. Then `dtype` is STRING, but the values cannot be read."""


def other_columns(file: DataFile, known: Schema, storage: StorageFormat) -> list[OtherColumn]:
    """Columns of a file other than the `known` ones, in the file's order, with lower-case names."""
    if not file.size_bytes:
        return []
    return [checked_column(one) for one in _COLUMNS[storage.name](file, known, storage.properties)]


def checked_column(column: OtherColumn) -> OtherColumn:
    """The column, with an obstacle if a table cannot have a column of that name."""
    name = column.name
    if not name or len(name) > _LONGEST_NAME or "\0" in name or is_virtual(name):
        return OtherColumn(name, column.dtype, f'"{name[:_LONGEST_NAME]}" cannot be the name of a column')
    return column


def _of_arrow(schema: pa.Schema, known: Schema) -> Iterable[OtherColumn]:
    return (one for one in _columns_of_arrow(schema) if not known.has(one.name))


@functools.lru_cache(maxsize=64)
def _columns_of_arrow(schema: pa.Schema) -> tuple[OtherColumn, ...]:
    """All columns of a file. Cached, since thousands of files have the same ones."""
    found = list[OtherColumn]()
    for field in schema:
        name = field.name.lower()
        try:
            found.append(OtherColumn(name, _lowered(column_type_of(field.type))))
        except UnsupportedError as error:
            found.append(OtherColumn(name, STRING, error.message, has_type=False))
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


def _of_parquet(file: DataFile, known: Schema, _: Properties) -> Iterable[OtherColumn]:
    return _of_arrow(file_schema(file), known)


def _of_orc(file: DataFile, known: Schema, _: Properties) -> Iterable[OtherColumn]:
    return _of_arrow(OrcReader(file).schema, known)


def _of_avro(file: DataFile, known: Schema, _: Properties) -> Iterable[OtherColumn]:
    found = avro.file_columns(file)
    return [OtherColumn(field.name, _lowered(field.dtype)) for field in found if field.name not in known.names]


def _of_json(file: DataFile, known: Schema, properties: Properties) -> Iterable[OtherColumn]:
    return [OtherColumn(name, dtype) for name, dtype in key_types(file, known.names, properties).items()]


def _of_csv(file: DataFile, known: Schema, properties: Properties) -> Iterable[OtherColumn]:
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
            yield OtherColumn(field.name, field.dtype, obstacle)


_COLUMNS: dict[str, Callable[[DataFile, Schema, Properties], Iterable[OtherColumn]]] = {
    "json": _of_json,
    CSV: _of_csv,
    "parquet": _of_parquet,
    "avro": _of_avro,
    "orc": _of_orc,
}
