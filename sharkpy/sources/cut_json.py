"""JSON objects to columns by compiled loops. They find and read plain values; `JsonReader` reads the other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.sources.arrow import Array
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.cut_fields import ColumnReader, CutLines
from sharkpy.sources.json_values import JSON_TIMES, JsonReader
from sharkpy.sources.kernels.cut_json import ANY, MOST_COLUMNS, NUMBER, REAL, TEXT, cut_json
from sharkpy.sources.kernels.cut_json import BOOLEAN as BOOLEANS
from sharkpy.sources.kernels.cut_lines import count_byte, line_ends
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.text_fields import FieldReader, HiddenEscapes
from sharkpy.sources.text_format import NEWLINE, TextFormat
from sharkpy.values.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_TYPES,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    Schema,
    arrow_schema,
)

_KINDS: dict[DataType, int] = {
    BOOLEAN: BOOLEANS,
    **dict.fromkeys(INTEGER_TYPES, NUMBER),
    **dict.fromkeys((FLOAT, DOUBLE), REAL),
    **dict.fromkeys((DATE, TIMESTAMP), TEXT),
    STRING: ANY,
}
_NEVER = b'"'
"""NULL text that matches no value: a value is never a single quote character."""
_Numbers = np.ndarray[Any, np.dtype[Any]]


def can_cut(schema: Schema) -> bool:
    """True if the loops can find the values of all columns' types."""
    return len(schema) <= MOST_COLUMNS and all(_kind(field.dtype) is not None for field in schema)


def _kind(dtype: DataType) -> int | None:
    return NUMBER if isinstance(dtype, DecimalType) else _KINDS.get(dtype)


def cut_lines_of(data: bytes, schema: Schema, metrics: ReadMetrics, layout: TextFormat = JSON_TIMES) -> pa.Table:
    """Columns of objects, one in each line. `JsonReader` defines the values of a row."""
    array = np.frombuffer(data, np.uint8)
    newline = np.uint8(NEWLINE)
    places = np.empty(count_byte(array, newline) + 2, np.int32)
    # A line begins after the end of the one before; the last may lack its newline.
    places[0] = -1
    num_lines = line_ends(array, newline, places[1:])
    if not data.endswith(b"\n"):
        num_lines += 1
        places[num_lines] = len(data)
    return _cut(array, places[:num_lines] + 1, places[1 : num_lines + 1], JsonReader(schema, metrics, layout))


def cut_rows_of(rows: Array, schema: Schema, metrics: ReadMetrics, layout: TextFormat = JSON_TIMES) -> pa.Table:
    """Columns of objects, each a binary value; a NULL is not an object."""
    offsets = np.frombuffer(rows.buffers()[1], np.int32)[rows.offset : rows.offset + len(rows) + 1]
    data = rows.buffers()[2]
    array = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return _cut(array, offsets[:-1], offsets[1:], JsonReader(schema, metrics, layout))


def cut_parts_of(
    data: bytes,
    starts: _Numbers,
    ends: _Numbers,
    schema: Schema,
    metrics: ReadMetrics,
    layout: TextFormat = JSON_TIMES,
) -> pa.Table:
    """Columns of objects between pairs of offsets in `data`."""
    return _cut(np.frombuffer(data, np.uint8), starts, ends, JsonReader(schema, metrics, layout))


def _cut(data: _Numbers, row_starts: _Numbers, row_ends: _Numbers, others: JsonReader) -> pa.Table:
    """Columns of objects; `others` reads the rows that are not plain."""
    num_rows, schema = len(row_starts), others.schema
    names = "".join(schema.names).encode()
    name_ends = np.cumsum([len(name.encode()) for name in schema.names], dtype=np.int64)
    kinds = np.array([_kind(field.dtype) for field in schema], np.int64)
    starts, ends = (np.empty((len(schema), num_rows), np.int32) for _ in range(2))
    odd = np.empty(num_rows, np.int32)
    found = (np.frombuffer(names, np.uint8), name_ends, kinds, starts, ends, odd)
    num_odd = cut_json(data, row_starts, row_ends, *found)
    lines = CutLines(data, np.frombuffer(_NEVER, np.uint8), num_rows, 0, starts, ends)
    if not len(schema):
        plain = pa.Table.from_batches([row_count_batch(num_rows)])
    else:
        reader = ColumnReader(lines, FieldReader(others.layout, HiddenEscapes(None, (), _NEVER), others.metrics))
        columns = [reader.column(index, field.dtype) for index, field in enumerate(schema)]
        plain = pa.Table.from_arrays(columns, schema=arrow_schema(schema))
    return plain if not num_odd else _with_odd(plain, odd[:num_odd], data, (row_starts, row_ends), others)


def _with_odd(
    plain: pa.Table, odd: _Numbers, data: _Numbers, rows: tuple[_Numbers, _Numbers], reader: JsonReader
) -> pa.Table:
    """The plain rows, with the other rows, read one by one, in their positions."""
    texts = [
        data[start:end].tobytes().decode("utf-8", "replace")
        for start, end in zip(*(one[odd] for one in rows), strict=True)
    ]
    others = reader.read(texts, odd)
    if not len(reader.schema):
        return plain
    places = np.arange(plain.num_rows)
    places[odd] = np.arange(plain.num_rows, plain.num_rows + len(odd))
    order: Array = pa.array(places)
    return pa.concat_tables([plain, others]).take(order).combine_chunks()
