"""Parquet: row groups as splits, columns by name."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.base.cancellation import checked
from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.sources.arrow import check_names
from sharkpy.sources.column_conversion import batches_of, conform, file_columns, row_count_batch
from sharkpy.sources.file_errors import format_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import cached_rows_of_split, output_file
from sharkpy.sources.open_files import LocalCopy, check_unchanged, local_copy, map_files, object_of_file
from sharkpy.sources.parquet_encodings import choose_encodings, write_in_background
from sharkpy.sources.parquet_footer import ParquetFooter, check_plain, fetch_footer, parquet_footer
from sharkpy.sources.source import PlainFile, Properties, ReadMetrics, Split
from sharkpy.sources.storage.store import is_identified
from sharkpy.values.nested_arrow import cast_table
from sharkpy.values.types import (
    STRING,
    CharType,
    DataType,
    DecimalType,
    Schema,
    VarcharType,
    arrow_schema,
    to_arrow,
)

ROW_GROUP_ROWS = 1_000_000
_CACHED_FILES = 10_000
_PIECE_VALUES = 1 << 20
"""Number of values that are read at a time for encoding: fewer have a cost for each read."""
_DICTIONARY_VALUE_BYTES = 4
"""Uncompressed bytes a value below which a column has a dictionary: a plain string takes as many just for its length.
"""
_TEXTS: dict[pa.DataType, pa.DataType] = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}
"""Arrow types that a writer may note in the file for values that are stored in the same way."""
_REFUSALS = ("Map keys must be annotated as required", "Decimal precision out of range")
"""Arrow's errors for files that conform to the format."""
_COMPRESSIONS: dict[str, Any] = {
    "uncompressed": "none",
    "none": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "zstd": "zstd",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "brotli": "brotli",
}

PlainOf = Callable[[pq.ParquetFile, Schema, Properties, ParquetFooter], PlainFile | None]
_WRITER_VERSION = "parquet.writer.version"
_VERSIONS = {"v1": False, "v2": True, "parquet_1_0": False, "parquet_2_0": True}
"""Versions of the writer by name: True for the encodings of the second version."""


class ParquetSource:
    name = "parquet"
    splits_bytes = False

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def check(self, schema: Schema, properties: Properties) -> None:  # noqa: ARG002 - any columns
        _codec(properties)
        _has_deltas(properties)

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,
        properties: Properties,
        split_bytes: int,
    ) -> list[Split]:
        return splits_of(files, cached_splits(self.name, _plain_file, schema, properties, split_bytes))

    def stored_schema(self, schema: Schema, properties: Properties) -> pa.Schema:  # noqa: ARG002 - used by lake tables
        """Columns of a new file, in Arrow's types."""
        return arrow_schema(schema)

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_unchanged(split)
        if not names:
            rows = split.num_rows or 0
            if metrics is not None:
                metrics.rows += rows
            # In pieces, since a damaged footer may contain any number of rows.
            for start in checked(range(0, max(rows, 1), ROW_GROUP_ROWS)):
                yield row_count_batch(min(rows - start, ROW_GROUP_ROWS))
            return
        copy, groups = local_copy(split), range(split.start, split.start + split.length)
        with open_file(split, copy) as file:
            footer, found = (
                parquet_footer(split, copy),
                file_columns(file.schema_arrow.names, schema, names, split.path),
            )
            wanted = frozenset(found.values())
            footer.check_readable(wanted, split.path)
            with closing(copy.steps(len(groups), lambda step: footer.ranges(groups[step], wanted))) as steps:
                for group in map(groups.__getitem__, steps):
                    table = read_group(file, footer, group, found.values(), split.path)
                    if metrics is not None:
                        metrics.rows += table.num_rows
                        metrics.bytes += footer.column_bytes(group, wanted)
                    rows = max(table.num_rows, 1)
                    yield from batches_of(conform(table, found, schema, names, split.path), rows)

    def read_coded(self, split: Split, schema: Schema, metrics: ReadMetrics) -> Iterator[pa.Table]:
        """All rows of a split, some columns at a time. A reader that drops each piece needs memory for few columns, and
        the allocator gives the next piece the same memory.

        Strings with few distinct values are Arrow dictionaries if that costs nothing.
        """
        check_unchanged(split)
        if (written := cached_rows_of_split(split)) is not None:
            metrics.rows += written.num_rows
            metrics.bytes += split.file_bytes
            yield as_read(written, schema, split.path)
            return
        copy, groups = local_copy(split), range(split.start, split.start + split.length)
        with open_file(split, copy) as file:
            footer, metadata = parquet_footer(split, copy), file.metadata
            found = file_columns(file.schema_arrow.names, schema, schema.names, split.path)
            coded, wanted = _coded_columns(footer, groups, found, schema), frozenset(found.values())
        footer.check_readable(wanted, split.path)
        rows = sum(footer.rows[group] for group in groups)
        metrics.rows += rows
        metrics.bytes += sum(footer.column_bytes(group, wanted) for group in groups)
        copy.fetch(part for group in groups for part in footer.ranges(group, wanted))
        with open_file(split, copy, metadata, [found[name] for name in coded]) as file:
            step = max(_PIECE_VALUES // max(rows, 1), 1)
            # Columns that the file lacks come last: a damaged footer is found before it tells their rows.
            order = sorted(schema.names, key=lambda name: name not in found)
            for names in (order[start : start + step] for start in range(0, len(order), step)):
                there = {name: found[name] for name in names if name in found}
                # The rows have no name here: a name would hold them while the next piece is read.
                yield conform(
                    _read_groups(file, groups, rows, there, split.path), there, schema, names, split.path, coded
                )

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        schema: Schema,
        properties: Properties,
        path: str,
        heard: Callable[[pa.Table, int], None] | None = None,
    ) -> int:
        """Write a file. `heard` is called with the rows as they are written, and the number of their row groups."""
        target, num_rows = self.stored_schema(schema, properties), 0
        groups = _groups(batches, target)
        with output_file(path) as file:
            first = next(groups, None)
            with _writer(file, target, first, properties) as writer:
                rows = itertools.chain([first], groups) if first is not None else ()
                # Closed before the writer, since another thread may still be writing.
                with closing(write_in_background(rows, functools.partial(_write_group, writer))) as written:
                    for table in written:
                        num_rows += table.num_rows
                        if heard is not None:
                            heard(table, math.ceil(table.num_rows / ROW_GROUP_ROWS))
        return num_rows


def read_group(
    file: pq.ParquetFile, footer: ParquetFooter, group: int, columns: Collection[str], path: str
) -> pa.Table:
    """Rows of a row group, in some columns of the file."""
    if not columns:
        return pa.Table.from_batches([row_count_batch(footer.rows[group])])
    try:
        return file.read_row_group(group, columns=list(columns), use_threads=pa.cpu_count() > 1)
    except (pa.ArrowException, OSError) as error:
        raise format_error(path, "Parquet", error) from None


def _read_groups(file: pq.ParquetFile, groups: Sequence[int], rows: int, found: dict[str, str], path: str) -> pa.Table:
    """Rows of row groups in the columns of the file that `found` names."""
    if not found:
        return pa.Table.from_batches([row_count_batch(rows)])
    try:
        table = file.read_row_groups(list(groups), columns=list(found.values()), use_threads=False)
        if table.num_rows != rows:
            raise pa.ArrowInvalid(f"columns have {table.num_rows} rows, and the footer {rows}")
    except (pa.ArrowException, OSError) as error:
        raise format_error(path, "Parquet", error) from None
    return table


def as_read(rows: pa.Table, schema: Schema, path: str = "") -> pa.Table:
    """Rows that were written to a file, in the form in which they would be read from it."""
    return conform(rows, file_columns(rows.schema.names, schema, schema.names, path), schema, schema.names, path)


def _writer(file: Any, target: pa.Schema, first: pa.Table | None, properties: Properties) -> pq.ParquetWriter:
    """Writer of a file that begins with the rows of `first`."""
    encodings = choose_encodings(first or target.empty_table(), has_deltas=_has_deltas(properties))
    dictionaries: Any = list(encodings.dictionaries)
    return pq.ParquetWriter(
        file,
        target,
        compression=_codec(properties),
        write_page_checksum=True,
        use_dictionary=dictionaries,
        column_encoding=dict(encodings.encodings) or None,
    )


def _write_group(writer: pq.ParquetWriter, table: pa.Table) -> None:
    writer.write_table(table, row_group_size=ROW_GROUP_ROWS)


def _codec(properties: Properties) -> Any:
    """Arrow's name of a table's codec; ConfigurationError for an unknown one."""
    name = dict(properties).get("parquet.compression", "snappy")
    if name.lower() not in _COMPRESSIONS:
        hint = did_you_mean(name, _COMPRESSIONS) or f"one of {', '.join(_COMPRESSIONS)}"
        raise ConfigurationError(f'"{name}" is not a compression of Parquet', hint=hint, sqlstate="22023")
    return _COMPRESSIONS[name.lower()]


def _has_deltas(properties: Properties) -> bool:
    """True if numbers may be stored as differences, which the oldest readers do not support.

    ConfigurationError for an unknown version of the writer.
    """
    name = dict(properties).get(_WRITER_VERSION, "v2")
    if name.lower() not in _VERSIONS:
        hint = did_you_mean(name, _VERSIONS) or f"one of {', '.join(_VERSIONS)}"
        raise ConfigurationError(f'"{name}" is not a version of the Parquet writer', hint=hint, sqlstate="22023")
    return _VERSIONS[name.lower()]


@functools.lru_cache(maxsize=8)
def cached_splits(
    format_name: str, plain_of: PlainOf, schema: Schema, properties: Properties, split_bytes: int
) -> Callable[[DataFile], tuple[Split, ...]]:
    """Function for the splits of a file. A file's footer is read once for each access, since a DataFile identifies the
    content.

    `plain_of` returns what DuckDB can read of the file.
    """

    def made(file: DataFile) -> tuple[Split, ...]:
        copy = local_copy(file)
        with open_file(file, copy) as parquet:
            footer = parquet_footer(file, copy)
            plain = plain_of(parquet, schema, properties, footer)
        return tuple(
            Split.of(
                file,
                format_name,
                properties,
                start,
                length,
                sum(footer.rows[start : start + length]),
                plain,
            )
            for start, length in packed(footer.bytes.sum(axis=1).tolist(), split_bytes)
        )

    @functools.lru_cache(maxsize=_CACHED_FILES)
    def known(file: DataFile, _access: str) -> tuple[Split, ...]:
        return made(file)

    def splits_of_file(file: DataFile) -> tuple[Split, ...]:
        # With another access the same name may be a file on another server.
        return known(file, file.access) if not file.access or is_identified(object_of_file(file)) else made(file)

    return splits_of_file


def splits_of(files: Sequence[DataFile], splits_of_file: Callable[[DataFile], tuple[Split, ...]]) -> list[Split]:
    """Splits of all files, in order. Hive writes empty files for empty tables; they have no splits."""
    written = [file for file in files if file.size_bytes]
    return [split for splits in map_files(splits_of_file, written) for split in splits]


def packed(sizes: Sequence[int], split_bytes: int) -> Iterator[tuple[int, int]]:
    """Runs (start, length) of neighbours whose sizes add up to at most `split_bytes`, or single larger ones."""
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and total + size > split_bytes:
            yield start, index - start
            start, total = index, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes) - start


def _groups(batches: Iterable[pa.RecordBatch], target: pa.Schema) -> Iterator[pa.Table]:
    """Tables of about a row group each."""
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        if rows >= ROW_GROUP_ROWS:
            yield cast_table(pa.Table.from_batches(pending), target)
            pending, rows = [], 0
    if rows:
        yield cast_table(pa.Table.from_batches(pending), target)


def _coded_columns(
    footer: ParquetFooter, groups: Sequence[int], found: dict[str, str], schema: Schema
) -> frozenset[str]:
    """The table's STRING columns that the file stores as dictionaries, judging by their size."""
    figures = (one[list(groups)].sum(axis=0).tolist() for one in (footer.plain_bytes, footer.num_values))
    totals = dict(zip(footer.paths, zip(*figures, strict=True), strict=True))
    strings = {name: stored for name, stored in found.items() if schema[name].dtype == STRING and stored in totals}
    return frozenset(
        name for name, stored in strings.items() if totals[stored][0] < _DICTIONARY_VALUE_BYTES * totals[stored][1]
    )


def file_schema(file: DataFile) -> pa.Schema:
    """Arrow schema of a file."""
    with open_file(file, local_copy(file)) as parquet:
        return parquet.schema_arrow


def open_file(
    file: DataFile | Split,
    copy: LocalCopy,
    metadata: pq.FileMetaData | None = None,
    dictionaries: Sequence[str] | None = None,
) -> pq.ParquetFile:
    """Open a copy of a file, of which only the footer has to be present."""
    try:
        if metadata is None:
            fetch_footer(file, copy)
        opened = pq.ParquetFile(
            copy.path,
            metadata=metadata,
            read_dictionary=list(dictionaries or ()),
            memory_map=True,
            coerce_int96_timestamp_unit="us",
            # For pages with a checksum: a damaged page would silently give other values.
            page_checksum_verification=True,
        )
        check_names(opened.schema_arrow)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if any(refusal in str(error) for refusal in _REFUSALS):
            return _opened_by_duckdb(file, copy)
        check_plain(copy, file.path)
        raise format_error(file.path, "Parquet", error) from None
    return opened


def _opened_by_duckdb(file: DataFile | Split, copy: LocalCopy) -> pq.ParquetFile:
    from sharkpy.sources.duckdb_files import DuckDBParquet

    try:
        made: Any = DuckDBParquet(copy.path, parquet_footer(file, copy))
    except pa.ArrowException as error:
        raise format_error(file.path, "Parquet", error) from None
    opened: pq.ParquetFile = made
    return opened


def _plain_file(
    file: pq.ParquetFile,
    schema: Schema,
    properties: Properties,  # noqa: ARG001 - used by lake tables
    footer: ParquetFooter,
) -> PlainFile | None:
    return plain_file(file, schema, footer)


def plain_file(file: pq.ParquetFile, schema: Schema, footer: ParquetFooter) -> PlainFile | None:
    """Columns that DuckDB can read. None if columns are nested, if names differ only by case, or if Arrow cannot open
    the file.
    """
    opened: Any = file
    if opened.metadata is None:
        return None
    names = [name.lower() for name in file.schema_arrow.names]
    if len(set(names)) < len(names) or any(pa.types.is_nested(field.type) for field in file.schema_arrow):
        return None
    if footer.rows and len(footer.paths) != len(names):
        # Its reader raises an error for that.
        return None
    totals = footer.bytes.sum(axis=0).tolist() if footer.rows else [0] * len(names)
    unlike = footer.misread | footer.encrypted
    plain = [
        (name, size)
        for name, size, stored, column in zip(names, totals, file.schema_arrow, _leaves(file), strict=True)
        if schema.has(name)
        and _is_plain(stored.type, column.physical_type, schema[name].dtype)
        and stored.name not in unlike
    ]
    return PlainFile(sum(footer.rows), tuple(plain))


def _leaves(file: pq.ParquetFile) -> Iterator[pq.ColumnSchema]:
    return (file.schema.column(place) for place in range(len(file.schema)))


def _is_plain(stored: pa.DataType, physical_type: str, dtype: DataType) -> bool:
    """True if every reader converts the stored values to the same values of `dtype`."""
    if isinstance(dtype, VarcharType | CharType) or _TEXTS.get(stored, stored) != to_arrow(dtype):
        return False
    return physical_type not in (("BYTE_ARRAY",) if isinstance(dtype, DecimalType) else ("INT96",))
