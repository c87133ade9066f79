"""Detection for CSV files: layout from the first lines of one file, names from the header, types from all values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.catalog.format_options import CSV
from sharkpy.sources.arrow import Array
from sharkpy.sources.csv_files.chunks import first_tokens
from sharkpy.sources.csv_files.column_types import ExactTypes, InferredTypes
from sharkpy.sources.csv_files.dialect import detect_dialect
from sharkpy.sources.csv_files.options import CsvOptions, csv_options
from sharkpy.sources.csv_files.records import Token
from sharkpy.sources.csv_files.source import CsvSource
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import Properties, ReadMetrics, Split
from sharkpy.sources.text_files import encoding_of_mark, head_of, utf8_chunks
from sharkpy.values.types import STRING, DataType, Field, Schema

_HEAD_BYTES, _LARGE_HEAD_BYTES = 1 << 17, 1 << 20
"""Bytes that are examined, and the bytes if a file has few, long lines."""
_FEW_LINES = 8
_MOST_FILES = 16
"""Most files that are examined until one has more than a header."""
_NOTHING = Schema((Field("_c0", STRING),))


def detect_csv(files: Sequence[DataFile], given: Properties = ()) -> tuple[Properties, Schema]:
    """Detected options of USING csv for some files, and their columns; `given` options are kept.

    SourceError for bytes that are invalid in the encoding, or for different headers.
    """
    if not files:
        raise SourceError("the columns of CSV files are not known: there are none", sqlstate="42000")
    options, num_fields = _layout(files, given)
    found = _properties(options, given)
    if not num_fields:
        return found, _NOTHING
    told = _detected_columns(files, found, num_fields)
    if (told is None or told[1].torn_rows) and not _is_given(given, "multiLine"):
        # The file may have quotes with line breaks, or an unclosed quote that swallows the lines after it.
        other = _properties(replace(options, multi_line=not options.multi_line), given)
        again = _detected_columns(files, other, num_fields)
        if again is not None and (told is None or not again[1].torn_rows or options.multi_line):
            return other, again[0]
    if told is None:
        return found, exact_columns(files, found, num_fields, ReadMetrics())
    return found, told[0]


def _detected_columns(
    files: Sequence[DataFile], found: Properties, num_fields: int
) -> tuple[Schema, ReadMetrics] | None:
    """Columns and metrics; None if a row is too large."""
    metrics = ReadMetrics()
    try:
        return exact_columns(files, found, num_fields, metrics), metrics
    except ResourceError:
        return None


def _is_given(given: Properties, name: str) -> bool:
    return any(key == name for key, _ in given)


def _layout(files: Sequence[DataFile], given: Properties) -> tuple[CsvOptions, int]:
    """Options and number of columns from the first file with several rows, or else any file; 0 columns if there are no
    rows.
    """
    found: tuple[CsvOptions, int] | None = None
    options = csv_options(given)
    for file in [file for file in files if file.size_bytes][:_MOST_FILES]:
        text, is_whole, encoding = _text(file, options, is_given=_is_given(given, "encoding"))
        options = replace(options, encoding=encoding)
        if text.strip():
            dialect = detect_dialect(text, options, frozenset(key for key, _ in given), is_whole=is_whole)
            found = found or dialect
            if len(text.strip().splitlines()) > 1:
                return dialect
    return found or (options, 0)


def _text(file: DataFile, options: CsvOptions, *, is_given: bool) -> tuple[str, bool, str | None]:
    """First lines of a file, whether these are the whole file, and its encoding."""
    head, is_whole = head_of(file, _HEAD_BYTES)
    if not is_whole and head.count(b"\n") < _FEW_LINES:
        head, is_whole = head_of(file, _LARGE_HEAD_BYTES)
    encoding = options.encoding if is_given else (encoding_of_mark(head) or _wide_encoding(head))
    try:
        text = _decoded(head, encoding or "utf-8", is_whole=is_whole)
    except UnicodeDecodeError as error:
        hint = "name its encoding: csv.`path` OPTIONS (encoding = 'ISO-8859-1'), or read_csv('path', encoding = …)"
        message = f'byte {error.start:,} of the CSV file "{file.path}" is no {encoding or "UTF-8"}'
        raise SourceError(message, hint=hint, sqlstate="22021") from None
    return text.removeprefix("\ufeff"), is_whole, encoding


def _decoded(head: bytes, encoding: str, *, is_whole: bool) -> str:
    import codecs

    return codecs.getincrementaldecoder(encoding)().decode(head, final=is_whole)


def _wide_encoding(head: bytes) -> str | None:
    """Detect UTF-16 without a byte-order mark: every other byte of mostly Latin text is 0."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if len(head) < 4 or max(even, odd) * 4 < len(head) or min(even, odd) * 8 > max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _properties(options: CsvOptions, given: Properties) -> Properties:
    found = {
        "sep": options.separator,
        "quote": options.quote,
        "escape": options.escape,
        "comment": options.comment,
        "header": str(options.header).lower(),
        "inferSchema": "true",
        "multiLine": str(options.multi_line).lower(),
        "encoding": options.encoding or "",
        "ignoreLeadingWhiteSpace": "true" if options.trim_left else "",
        "skip": str(options.skip) if options.skip else "",
    }
    kept = {name: value for name, value in found.items() if value or name in ("quote", "escape")}
    return tuple({**kept, **dict(given)}.items())


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
    return _typed_columns(files, names, properties, [InferredTypes(options) for _ in names], ReadMetrics())


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
    return _typed_columns(files, names, properties, [ExactTypes(options) for _ in names], metrics)


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


def _typed_columns(
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
