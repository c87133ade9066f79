"""Parquet files of lake tables: columns by their ids, without deleted rows."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import StorageFormat
from sharkpy.sources.arrow import Array, ChunkedArray, pc
from sharkpy.sources.column_conversion import batches_of, conform, row_count_batch
from sharkpy.sources.lake.columns import LakeColumn, columns_of_text, file_schema, stored_names, with_current_names
from sharkpy.sources.lake.deleted_rows import (
    EQUALITY,
    Deletes,
    EqualRows,
    deleted_rows,
    equal_rows,
    name_of_id,
    remaining_by_values,
    remaining_rows,
)
from sharkpy.sources.layout import DataFile
from sharkpy.sources.lenient_conversion import single_value
from sharkpy.sources.open_files import check_unchanged, data_file_of, local_copy, store_for_access
from sharkpy.sources.parquet import ParquetSource, cached_splits, open_file, plain_file, read_group, splits_of
from sharkpy.sources.parquet_footer import ParquetFooter, parquet_footer
from sharkpy.sources.source import PlainFile, Properties, ReadMetrics, Split
from sharkpy.values.types import DataType, Schema, arrow_schema

COLUMNS = "lake.columns"
"""Property with the columns of a table."""
_FILE = "lake.file"
"""Property with the facts of one file."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts about one file for its reader.

    `written_path`: its name in deletes. `values`: texts of columns with one value in all rows, None for NULL, that
    replace the file's own columns or are not in the file.
    """

    written_path: str = ""
    deletes: tuple[Deletes, ...] = ()
    values: tuple[tuple[str, str | None], ...] = ()

    def form(self, storage: StorageFormat) -> StorageFormat | None:
        """Format of the file; None if it is the same as the table's."""
        if not self.deletes and not self.values:
            return None
        deletes = [[one.kind, one.path, one.ids] for one in self.deletes]
        body = json.dumps([self.written_path, deletes, self.values], separators=(",", ":"))
        return StorageFormat(storage.name, (*storage.properties, (_FILE, body)))


@functools.lru_cache(4096)
def _facts_of_text(text: str) -> FileFacts:
    path, deletes, values = json.loads(text)
    made = tuple(Deletes(kind, place, tuple(ids)) for kind, place, ids in deletes)
    return FileFacts(path, made, tuple((name, value) for name, value in values))


def _facts(properties: Properties) -> FileFacts:
    text = dict(properties).get(_FILE)
    return FileFacts() if text is None else _facts_of_text(text)


def lake_columns(properties: Properties) -> tuple[LakeColumn, ...]:
    return columns_of_text(dict(properties)[COLUMNS])


class LakeParquet(ParquetSource):
    """Parquet files of the tables of one lake format, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def splits(
        self, files: Sequence[DataFile], schema: Schema, properties: Properties, split_bytes: int
    ) -> list[Split]:
        own = tuple(pair for pair in properties if pair[0] != _FILE)
        splits = splits_of(files, cached_splits(self.name, _plain_lake_file, schema, own, split_bytes))
        if own == properties:
            return splits
        # The number of rows without deleted ones is only known when they are read.
        has_deletes = bool(_facts(properties).deletes)
        return [
            replace(split, properties=properties, plain=None, num_rows=None if has_deletes else split.num_rows)
            for split in splits
        ]

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        facts = _facts(split.properties)
        if not names and not facts.deletes:
            yield from super().read(split, schema, names, metrics)
            return
        check_unchanged(split)
        columns = {one.name: one for one in lake_columns(split.properties)}
        constants = dict(facts.values)
        deleted = deleted_rows(facts.deletes, facts.written_path, split.access)
        copy, groups = local_copy(split), range(split.start, split.start + split.length)
        with open_file(split, copy) as file:
            stored = stored_names((columns[name] for name in names if name not in constants), file.schema_arrow)
            values = _DeletedValues.of(facts, tuple(columns.values()), schema, file.schema_arrow, split.access)
            footer, wanted = parquet_footer(split, copy), frozenset(stored.values()) | values.stored
            footer.check_readable(wanted, split.path)
            first = sum(footer.rows[: split.start])
            with closing(copy.steps(len(groups), lambda step: footer.ranges(groups[step], wanted))) as steps:
                for group in map(groups.__getitem__, steps):
                    table = read_group(file, footer, group, sorted(wanted), split.path)
                    mask = _both(remaining_rows(deleted, first, table.num_rows), values.kept(table))
                    first += table.num_rows
                    table = table if mask is None else _filtered(table, mask)
                    if metrics is not None:
                        metrics.rows += table.num_rows
                        metrics.bytes += footer.column_bytes(group, wanted)
                    if not names:
                        yield row_count_batch(table.num_rows)
                        continue
                    current = {name: with_current_names(table.column(at), columns[name]) for name, at in stored.items()}
                    for name in constants.keys() & set(names):
                        current[name] = _repeated(constants[name], schema[name].dtype, table.num_rows)
                    if current:
                        table = pa.table(list(current.values()), names=list(current))
                    rows = conform(table, {name: name for name in current}, schema, names, split.path)
                    yield from batches_of(rows, max(table.num_rows, 1))

    def read_coded(self, split: Split, schema: Schema, metrics: ReadMetrics) -> Iterator[pa.Table]:
        with open_file(split, local_copy(split)) as file:
            is_as_stored = _is_as_stored(file.schema_arrow, schema, split.properties)
        if is_as_stored:
            yield from super().read_coded(split, schema, metrics)
        else:
            yield pa.Table.from_batches(list(self.read(split, schema, schema.names, metrics)), arrow_schema(schema))

    def stored_schema(self, schema: Schema, properties: Properties) -> pa.Schema:
        return file_schema(arrow_schema(schema), lake_columns(properties))


@dataclass(frozen=True, slots=True)
class _DeletedValues:
    """Equality deletes of one file. `names`: name of each column in the file, by id; `constants`: columns with one
    value there.
    """

    found: tuple[EqualRows, ...]
    names: dict[int, str | None]
    constants: dict[int, tuple[str | None, DataType]]

    @classmethod
    def of(
        cls, facts: FileFacts, columns: tuple[LakeColumn, ...], schema: Schema, stored: pa.Schema, access_id: str
    ) -> _DeletedValues:
        found = tuple(equal_rows(one, columns, access_id) for one in facts.deletes if one.kind == EQUALITY)
        ids = {wanted for one in found for wanted in one.ids}
        values = dict(facts.values)
        constants = {
            one.key: (values[one.name], schema[one.name].dtype)
            for one in columns
            if one.key in ids and one.name in values and isinstance(one.key, int)
        }
        return cls(found, {wanted: name_of_id(wanted, columns, stored) for wanted in ids - set(constants)}, constants)

    @property
    def stored(self) -> frozenset[str]:
        """Names of the columns that have to be read."""
        return frozenset(name for name in self.names.values() if name is not None)

    def kept(self, table: pa.Table) -> pa.BooleanArray | None:
        """Mask of the rows of a group that are not deleted; None if all stay."""

        def column(wanted: int) -> ChunkedArray:
            if wanted in self.constants:
                return _repeated(*self.constants[wanted], table.num_rows)
            name = self.names[wanted]
            return pa.chunked_array([pa.nulls(table.num_rows)]) if name is None else table.column(name)

        return remaining_by_values(self.found, column)


def _both(first: pa.BooleanArray | None, second: pa.BooleanArray | None) -> pa.BooleanArray | None:
    if first is None or second is None:
        return second if first is None else first
    both: pa.BooleanArray = pc.and_(first, second)
    return both


def _filtered(table: pa.Table, mask: pa.BooleanArray) -> pa.Table:
    if table.num_columns:
        return table.filter(mask)
    return pa.Table.from_batches([row_count_batch(mask.true_count)])


def _repeated(text: str | None, dtype: DataType, count: int) -> ChunkedArray:
    """Column of one value."""
    values: Array = pa.repeat(single_value(text, dtype)[0], count)
    return pa.chunked_array([values])


def _plain_lake_file(
    file: pq.ParquetFile, schema: Schema, properties: Properties, footer: ParquetFooter
) -> PlainFile | None:
    """Plain description of a file; None if its rows or columns are not read as they are stored."""
    return plain_file(file, schema, footer) if _is_as_stored(file.schema_arrow, schema, properties) else None


def _is_as_stored(stored: pa.Schema, schema: Schema, properties: Properties) -> bool:
    """True for a file without deletes, whose columns have the table's names and types, or names that the table does not
    use.
    """
    if dict(properties).get(_FILE) is not None:
        return False
    columns = [one for one in lake_columns(properties) if one.name in schema.names]
    names = stored_names(columns, stored)
    alike = {field.name.lower() for field in stored if field.name.lower() in schema.names}
    if set(names) != alike or any(name != place.lower() for name, place in names.items()):
        return False
    return not any(pa.types.is_nested(field.type) for field in stored)


def footer_of(path: str, access_id: str) -> tuple[pq.FileMetaData, int]:
    """Footer of a new file, and its modification time in nanoseconds."""
    facts = store_for_access(path, access_id).stat(path)
    if facts is None:
        raise SourceError(f'"{uri.redacted(path)}" was removed while it was written', sqlstate="58P01")
    file = data_file_of(facts, access_id)
    with open_file(file, local_copy(file)) as opened:
        return opened.metadata, facts.modified_ns
