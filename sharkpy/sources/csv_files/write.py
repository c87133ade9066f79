"""Rows as lines of CSV, quoted if Spark's reader needs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, time

import pyarrow as pa

from sharkpy.base.errors import ExecutionError
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.patterns import written
from sharkpy.sources.csv_files.records import BLANKS
from sharkpy.sources.line_source import flat_lines
from sharkpy.sources.text_write import hive_text
from sharkpy.values.types import BINARY, DATE, TIMESTAMP, DataType, Schema, is_string

_INVALID_TEXT = "22000"
_EMPTY = '""'
_SIMPLE_SEPARATORS = (",", ";", "|", "\t")
"""Separators that do not occur in numbers and times."""


def header_row(schema: Schema, options: CsvOptions) -> bytes:
    names: list[Array] = [_field(pa.array([name], pa.string()), name, options) for name in schema.names]
    return _joined(names, options)


def rows_of(batch: pa.RecordBatch, schema: Schema, options: CsvOptions) -> bytes:
    """Lines of the rows; ExecutionError 22000 if a value could not be read back."""
    columns = []
    is_simple = options.separator in _SIMPLE_SEPARATORS and not (options.date_format or options.timestamp_format)
    for place, (column, field) in enumerate(zip(batch.columns, schema, strict=True)):
        text = _text(column, field.dtype, field.name, options)
        if is_string(field.dtype) or field.dtype == BINARY or not is_simple:
            text = _field(text, field.name, options, is_first=place == 0)
        elif options.quote_all:
            text = pc.binary_join_element_wise(options.quote, text, options.quote, "")
        columns.append(pc.fill_null(text, options.null))
    return _joined(columns, options)


def _joined(columns: Sequence[Array], options: CsvOptions) -> bytes:
    rows = pc.binary_join_element_wise(*columns, options.separator) if len(columns) > 1 else columns[0]
    # Readers skip a blank line. A row with only empty fields would make one.
    is_blank = pc.match_substring_regex(rows, r"^[\x00-\x20]*$")
    if pc.any(is_blank, min_count=0).as_py():
        if not options.quote:
            raise ExecutionError(
                "a row has empty fields alone, which a CSV table without quotes would not give back",
                hint="give the table the option nullValue",
                sqlstate=_INVALID_TEXT,
            )
        rows = pc.if_else(is_blank, pc.binary_join_element_wise(options.quote * 2, rows, ""), rows)
    return bytes(flat_lines(pc.cast(rows, pa.binary()), options.line_end.encode()))


def _text(array: Array, dtype: DataType, name: str, options: CsvOptions) -> Array:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if dtype == DATE and options.date_format is not None:
        return _in_pattern(array, options.date_format)
    if dtype == TIMESTAMP and options.timestamp_format is not None:
        return _in_pattern(array, options.timestamp_format)
    if dtype == TIMESTAMP:
        text = pc.replace_substring(pc.cast(array, pa.string()), " ", "T")
        return pc.replace_substring_regex(text, r"(\.[0-9]{3})000$", r"\1")
    if dtype == BINARY:
        try:
            return pc.cast(array, pa.string())
        except pa.ArrowInvalid:
            raise _refusal(name, "bytes that are no text", "store the table in another format") from None
    return pc.cast(hive_text(array, dtype), pa.string())


def _in_pattern(array: Array, pattern: str) -> Array:
    distinct = array.dictionary_encode()
    values = distinct.dictionary.to_pylist()
    times = [value if isinstance(value, datetime) else datetime.combine(value, time()) for value in values]
    return pa.array([written(value, pattern) for value in times], pa.string()).take(distinct.indices)


def _field(text: Array, name: str, options: CsvOptions, *, is_first: bool = True) -> Array:
    """Fields, quoted if they would otherwise be read as another value."""
    if options.trim_left:
        text = pc.ascii_ltrim(text, characters=BLANKS)
    if options.trim_right:
        text = pc.ascii_rtrim(text, characters=BLANKS)
    if not options.multi_line:
        _check_lines(text, name, options)
    is_quoted = pc.match_substring_regex(text, _needs_quotes(options, is_first=is_first))
    empty = options.quote * 2 if options.empty is None else options.empty
    plain = pc.if_else(pc.equal(text, ""), empty, text)
    if not options.quote:
        if pc.any(is_quoted, min_count=0).as_py():
            raise _refusal(name, "a separator, a line break or blanks alone", "give the table the option quote")
        return plain
    if not options.escape and pc.any(pc.and_(is_quoted, pc.match_substring(text, options.quote)), min_count=0).as_py():
        raise _refusal(name, "a quote", "give the table the option escape")
    return pc.if_else(pc.is_valid(text) if options.quote_all else is_quoted, _quoted(text, options), plain)


def _needs_quotes(options: CsvOptions, *, is_first: bool) -> str:
    """Pattern of texts that would be read as another value without quotes."""
    quote = re.escape(options.quote)
    parts = [re.escape(options.separator), f"[{re.escape(options.newline)}\\n\\r]", r"^[\x00-\x20]+$"]
    if quote:
        parts.append(quote if options.escape else f"^{quote}")
    if options.comment and is_first:
        parts.append(f"^{re.escape(options.comment)}")
    return "|".join(parts)


def _quoted(text: Array, options: CsvOptions) -> Array:
    quote, escape = options.quote, options.escape
    if escape and escape != quote:
        text = pc.replace_substring(text, escape, escape * 2)
    text = pc.replace_substring(text, quote, escape + quote)
    return pc.binary_join_element_wise(quote, text, quote, "")


def _check_lines(text: Array, name: str, options: CsvOptions) -> None:
    ends = (options.newline,) if options.newline else ("\n", "\r")
    for end in ends:
        if pc.any(pc.match_substring(text, end), min_count=0).as_py():
            raise _refusal(name, "a line break", "give the table the option multiLine 'true'")


def _refusal(name: str, what: str, hint: str) -> ExecutionError:
    message = f'a value of column "{name}" holds {what}, which a CSV table would not give back'
    return ExecutionError(message, hint=hint, sqlstate=_INVALID_TEXT)
