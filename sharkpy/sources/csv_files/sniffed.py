"""Detection for CSV files: the layout from the first lines of one file, the columns from all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.sources.csv_files.dialect import found_dialect
from sharkpy.sources.csv_files.inference import exact_columns
from sharkpy.sources.csv_files.options import CsvOptions, csv_options
from sharkpy.sources.layout import DataFile
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.source import Properties
from sharkpy.sources.whole_files import encoding_of_mark, head_of
from sharkpy.values.types import STRING, Field, Schema

_HEAD_BYTES, _LARGE_HEAD_BYTES = 1 << 17, 1 << 20
"""Bytes that are examined, and the bytes if a file has few, long lines."""
_FEW_LINES = 8
_MOST_FILES = 16
"""Most files that are examined until one has more than a header."""
_NOTHING = Schema((Field("_c0", STRING),))


def described(files: Sequence[DataFile], given: Properties = ()) -> tuple[Properties, Schema]:
    """Detected options of USING csv for some files, and their columns; `given` options are kept.

    SourceError for bytes that are invalid in the encoding, or for different headers.
    """
    if not files:
        raise SourceError("the columns of CSV files are not known: there are none", sqlstate="42000")
    options, num_fields = _layout(files, given)
    found = _properties(options, given)
    if not num_fields:
        return found, _NOTHING
    told = _told(files, found, num_fields)
    if (told is None or told[1].torn_rows) and not _is_given(given, "multiLine"):
        # The file may have quotes with line breaks, or an unclosed quote that swallows the lines after it.
        other = _properties(replace(options, multi_line=not options.multi_line), given)
        again = _told(files, other, num_fields)
        if again is not None and (told is None or not again[1].torn_rows or options.multi_line):
            return other, again[0]
    if told is None:
        return found, exact_columns(files, found, num_fields, ReadMetrics())
    return found, told[0]


def _told(files: Sequence[DataFile], found: Properties, num_fields: int) -> tuple[Schema, ReadMetrics] | None:
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
            dialect = found_dialect(text, options, frozenset(key for key, _ in given), is_whole=is_whole)
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
