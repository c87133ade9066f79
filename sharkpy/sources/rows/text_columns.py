"""Rows of text that are split one by one, for CSV and regular expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.columns import row_count_batch
from sharkpy.sources.lenient import lenient
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.source import BATCH_ROWS
from sharkpy.values.types import Schema, arrow_schema, is_string

Part = Callable[[str], Sequence[str | None] | None]
"""Returns the fields of a row; None if it does not fit the format. Missing fields are NULL."""


class TextColumnsReader:
    """A RowReader for a function that splits rows."""

    def __init__(self, part: Part, schema: Schema, names: Sequence[str], metrics: ReadMetrics) -> None:
        self._part = part
        self._schema = schema.select(names)
        self._places = [schema.names.index(name) for name in names]
        self._num_fields = len(schema)
        self._metrics = metrics

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield from self._read(data.decode("utf-8", "replace").removesuffix("\n").split("\n"))

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        yield from self._read([row.decode("utf-8", "replace") for row in rows.to_pylist()])

    def _read(self, rows: list[str]) -> Iterator[pa.RecordBatch]:
        if not self._places:
            self._metrics.rows += len(rows)
            yield row_count_batch(len(rows))
            return
        for start in range(0, len(rows), BATCH_ROWS):
            part = rows[start : start + BATCH_ROWS]
            batch = self._batch([self._fields(number, row) for number, row in enumerate(part)])
            self._metrics.rows += len(part)
            yield batch

    def _fields(self, number: int, row: str) -> Sequence[str | None]:
        fields = self._part(row)
        if fields is None or len(fields) < self._num_fields:
            self._metrics.malformed_lines += 1
            self._metrics.mark([number], is_whole=True)
        return fields or ()

    def _batch(self, rows: list[Sequence[str | None]]) -> pa.RecordBatch:
        columns = []
        for place, field in zip(self._places, self._schema, strict=True):
            text: Array = pa.array([row[place] if place < len(row) else None for row in rows], pa.string())
            column = lenient(text, field.dtype)
            if not is_string(field.dtype):
                self._metrics.malformed_fields += column.null_count - text.null_count
                if column.null_count > text.null_count:
                    is_lost = pc.and_(pc.is_null(column), pc.is_valid(text))
                    self._metrics.mark(pc.indices_nonzero(is_lost).to_numpy())
            columns.append(column)
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._schema))
