"""Columns of CSV files: names from the header, types from all values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.catalog.format_options import CSV
from sharkpy.sources.arrow import Array
from sharkpy.sources.csv_files.exact_types import ExactTypes
from sharkpy.sources.csv_files.multi_line import first_tokens
from sharkpy.sources.csv_files.options import CsvOptions, csv_options
from sharkpy.sources.csv_files.records import Token
from sharkpy.sources.csv_files.seen_types import SeenTypes
from sharkpy.sources.csv_files.source import CsvSource
from sharkpy.sources.layout import DataFile
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.sources.whole_files import utf8_chunks
from sharkpy.values.types import STRING, DataType, Field, Schema

_SPLIT_BYTES = 1 << 26
_MOST_COLUMNS = 50_000


class _Types(Protocol):
    """Common type of all values of a column."""

    def add(self, texts: Array) -> None: ...

    @property
    def dtype(self) -> DataType: ...


def inferred_columns(files: Sequence[DataFile], properties: Properties) -> Schema:
    """Columns as Spark infers them. SourceError if the files have no row."""
    options = csv_options(properties)
    first = next((tokens for _, tokens in _first_rows(files, options)), None)
    if first is None:
        raise SourceError("the columns of a CSV table are not known: its files have no row", sqlstate="42000")
    names = _names(first, options)
    if not options.infer_schema:
        return _texts(names)
    return _told(files, names, properties, [SeenTypes(options) for _ in names], ReadMetrics())


def exact_columns(files: Sequence[DataFile], properties: Properties, num_fields: int, metrics: ReadMetrics) -> Schema:
    """At least `num_fields` columns, with types that preserve the files' texts. SourceError if the headers of two files
    differ.
    """
    options, longest, named = csv_options(properties), list[Token](), ""
    for path, tokens in _first_rows(files, options) if options.header else ():
        longer, shorter = (tokens, longest) if len(tokens) > len(longest) else (longest, tokens)
        if _lowered(longer[: len(shorter)]) != _lowered(shorter):
            message = f'the header of "{path}" has other columns than that of "{named}"'
            raise SourceError(message, hint="name files of one kind: columns go by their places", sqlstate="42000")
        longest, named = longer, named or path
    given = [token and token.strip() for token in longest]
    names = _names([*given, *[None] * (num_fields - len(given))], options)
    if not options.infer_schema:
        return _texts(names)
    return _told(files, names, properties, [ExactTypes(options) for _ in names], metrics)


def _lowered(tokens: Sequence[Token]) -> list[str]:
    return [(token or "").strip().lower() for token in tokens]


def _first_rows(files: Sequence[DataFile], options: CsvOptions) -> Iterator[tuple[str, list[Token]]]:
    """Path of each file that has rows, with the fields of its first row or header."""
    for file in files:
        whole = Split.of(file, CSV, (), 0, file.size_bytes)
        tokens = first_tokens(utf8_chunks(whole, options.encoding), options, file.path)
        if tokens is not None:
            yield file.path, tokens


def _texts(names: Sequence[str]) -> Schema:
    return Schema(tuple(Field(name, STRING) for name in names))


def _told(
    files: Sequence[DataFile],
    names: Sequence[str],
    properties: Properties,
    types: Sequence[_Types],
    metrics: ReadMetrics,
) -> Schema:
    """Columns with types for all rows, including malformed ones."""
    reader, texts = CsvSource(), _texts(names)
    others = [(key, value) for key, value in properties if key not in ("mode", "columnNameOfCorruptRecord")]
    lenient = (*others, ("columnNameOfCorruptRecord", ""))
    for split in reader.splits(files, texts, lenient, _SPLIT_BYTES):
        for batch in reader.read(split, texts, texts.names, metrics):
            _add(batch, types)
    return Schema(tuple(Field(name, column.dtype) for name, column in zip(names, types, strict=True)))


def _add(batch: pa.RecordBatch, types: Sequence[_Types]) -> None:
    for column, array in zip(types, batch.columns, strict=True):
        check_cancelled()
        column.add(array)


def _names(first: Sequence[Token], options: CsvOptions) -> list[str]:
    """Names of columns from the header; a missing or repeated name gets the column's number."""
    if len(first) > _MOST_COLUMNS:
        raise ResourceError(f"a table has at most {_MOST_COLUMNS:,} columns, not {len(first):,}", sqlstate="54011")
    if not options.header:
        return [f"_c{place}" for place in range(len(first))]
    counts = Counter(name.lower() for name in first if name)
    names = [_name(name or "", place, counts, options).lower() for place, name in enumerate(first)]
    taken = set[str]()
    return [_free_name(name, place, taken) for place, name in enumerate(names)]


def _free_name(name: str, place: int, taken: set[str]) -> str:
    while name in taken:
        name = f"{name}_{place}"
    taken.add(name)
    return name


def _name(name: str, place: int, counts: Counter[str], options: CsvOptions) -> str:
    if not name or name == options.null:
        return f"_c{place}"
    return f"{name}{place}" if counts[name.lower()] > 1 else name
