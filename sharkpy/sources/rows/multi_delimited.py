"""MultiDelimitSerDe: like LazySimpleSerDe, with a field delimiter of several characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, ExecutionError
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.delimited import DelimitedReader, DelimitedRows
from sharkpy.sources.rows.row_format import Properties
from sharkpy.values.types import Schema

_FIELD = "field.delim"
_SINGLE = b"\x01"


class MultiDelimitedRows:
    """Rows for LazySimpleSerDe's reader and writer, with the delimiter replaced by one byte."""

    _inner = DelimitedRows()

    def check(self, schema: Schema, properties: Properties) -> None:
        _delimiter(properties)
        self._inner.check(schema, _single(properties))

    def lines(self, properties: Properties) -> LineLayout:
        return self._inner.lines(_single(properties))

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> _MultiDelimitedReader:
        inner = self._inner.reader(schema, names, _single(properties), metrics)
        return _MultiDelimitedReader(inner, _delimiter(properties))

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:
        delimiter = _delimiter(properties)
        for column, field in zip(batch.columns, schema, strict=True):
            is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            if is_text and pc.any(pc.match_substring(column, delimiter.decode()), min_count=0).as_py():
                message = f'a value of column "{field.name}" holds the delimiter {delimiter.decode()!r} of its table'
                raise ExecutionError(message, hint="give the table another delimiter or format", sqlstate="22000")
        return pc.replace_substring(self._inner.encode(batch, schema, _single(properties)), _SINGLE, delimiter)


class _MultiDelimitedReader:
    def __init__(self, inner: DelimitedReader, delimiter: bytes) -> None:
        self._inner = inner
        self._delimiter = delimiter

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        yield from self._inner.read_lines(data.replace(self._delimiter, _SINGLE))

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        yield from self._inner.read_rows(pc.replace_substring(rows, self._delimiter, _SINGLE))


def _delimiter(properties: Properties) -> bytes:
    text = dict(properties).get(_FIELD, "")
    if not text:
        raise ConfigurationError(f'a table of the MultiDelimitSerDe needs the property "{_FIELD}"', sqlstate="22023")
    return text.encode()


def _single(properties: Properties) -> Properties:
    return tuple(item for item in properties if item[0] not in (_FIELD, "serialization.format"))
