"""Formats of a statement's rows: an Arrow IPC stream, a Parquet file, or lines of JSON.

Each says at its end that it is complete, so that a reader notices an answer that was cut off.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.values.python_values import python_values
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    Schema,
    StructType,
    arrow_schema,
    is_interval,
)
from sharkpy.values.value_text import format_value
from sharkpy.web.errors import ErrorAnswer, error_of
from sharkpy.web.shapes import json_bytes

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from sharkpy.base.errors import SharkError
    from sharkpy.web.sql_statement import Summary


class SqlFormat(Protocol):
    """Writer of one answer. Call `head`, then `rows` any number of times, then `end` or `failure`."""

    @property
    def content_type(self) -> str: ...

    @property
    def most_rows(self) -> int:
        """Limit on the rows of one call of `rows`."""

    @property
    def ends_after_failure(self) -> bool:
        """True if a reader cannot take the answer for complete after `failure`. Otherwise the connection is cut."""

    def head(self, schema: Schema, query_id: str, session_id: str | None) -> bytes: ...

    def rows(self, batches: Sequence[pa.RecordBatch]) -> bytes: ...

    def end(self, summary: Summary) -> bytes: ...

    def failure(self, error: SharkError) -> bytes: ...


ROW_GROUP_BYTES = 16 << 20
TYPE_KEY, END_KEY, ERROR_KEY = b"sharkpy:type", b"sharkpy:end", b"sharkpy:error"
"""Keys of metadata: the Hive type of a field, and of the last batch, which has no rows, its summary or its error."""


class ArrowStream:
    """Arrow IPC stream with buffers compressed by zstd. Fields have their Hive types as metadata.

    The last batch has no rows. Its metadata has either the summary, or the error that ended the statement; then the
    stream has no end marker and the body of the answer is cut off.
    """

    content_type = "application/vnd.apache.arrow.stream"
    most_rows = sys.maxsize
    ends_after_failure = False

    def __init__(self) -> None:
        self._sink = BytesIO()
        self._schema = pa.schema([])
        self._writer: pa.RecordBatchStreamWriter | None = None

    def head(self, schema: Schema, query_id: str, session_id: str | None) -> bytes:  # noqa: ARG002
        fields = zip(arrow_schema(schema), schema, strict=True)
        self._schema = pa.schema(
            [plain.with_metadata({TYPE_KEY: str(field.dtype).encode()}) for plain, field in fields]
        )
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._sink, "w"), self._schema, options=options)
        return self._taken()

    def rows(self, batches: Sequence[pa.RecordBatch]) -> bytes:
        for batch in batches:
            self._write(batch)
        return self._taken()

    def end(self, summary: Summary) -> bytes:
        self._write_last(END_KEY, json_bytes(summary))
        if self._writer is not None:
            self._writer.close()
        return self._taken()

    def failure(self, error: SharkError) -> bytes:
        self._write_last(ERROR_KEY, json_bytes(error_of(error)))
        return self._taken()

    def _write_last(self, key: bytes, value: bytes) -> None:
        self._write(
            pa.RecordBatch.from_arrays([pa.nulls(0, one.type) for one in self._schema], schema=self._schema),
            {key: value},
        )

    def _write(self, batch: pa.RecordBatch, metadata: Mapping[bytes, bytes] | None = None) -> None:
        if self._writer is not None:
            self._writer.write_batch(batch, metadata)

    def _taken(self) -> bytes:
        return _taken(self._sink)


class ParquetFile:
    """Parquet file with row groups of about 16 MB, compressed by zstd. Without its end, it cannot be read."""

    content_type = "application/vnd.apache.parquet"
    most_rows = sys.maxsize
    ends_after_failure = False

    def __init__(self) -> None:
        self._sink = BytesIO()
        self._schema = pa.schema([])
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        """Batches of the next row group."""

    def head(self, schema: Schema, query_id: str, session_id: str | None) -> bytes:  # noqa: ARG002
        for field in schema:
            if is_interval(field.dtype):
                hint = "cast the column to string"
                raise UnsupportedError(f'Parquet has no type for the column "{field.name}": {field.dtype}', hint=hint)
        # The module takes longer to import than the server should need for its start.
        import pyarrow.parquet as pq

        self._schema = arrow_schema(schema)
        self._writer = pq.ParquetWriter(pa.PythonFile(self._sink, "w"), self._schema, compression="zstd")
        return self._taken()

    def rows(self, batches: Sequence[pa.RecordBatch]) -> bytes:
        self._waiting += batches
        if sum(batch.nbytes for batch in self._waiting) >= ROW_GROUP_BYTES:
            self._write_group()
        return self._taken()

    def end(self, summary: Summary) -> bytes:  # noqa: ARG002
        self._write_group()
        if self._writer is not None:
            self._writer.close()
        return self._taken()

    def failure(self, error: SharkError) -> bytes:  # noqa: ARG002
        return b""

    def _write_group(self) -> None:
        if self._writer is not None and self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
            self._waiting = []

    def _taken(self) -> bytes:
        return _taken(self._sink)


class JsonLines:
    """Lines of JSON: one with the columns, an array for each row, and one with the summary or with the error."""

    content_type = "application/x-ndjson"
    most_rows = 10_000
    ends_after_failure = True

    def __init__(self) -> None:
        self._converters: list[_Converter | None] = []

    def head(self, schema: Schema, query_id: str, session_id: str | None) -> bytes:
        self._converters = [_converter(field.dtype) for field in schema]
        columns = [{"name": field.name, "type": str(field.dtype)} for field in schema]
        return _line({"query_id": query_id, "session_id": session_id, "columns": columns})

    def rows(self, batches: Sequence[pa.RecordBatch]) -> bytes:
        return b"".join(line for batch in batches for line in self._lines(batch))

    def _lines(self, batch: pa.RecordBatch) -> Iterable[bytes]:
        columns = [
            _converted(python_values(column), convert)
            for column, convert in zip(batch.columns, self._converters, strict=True)
        ]
        return map(_line, zip(*columns, strict=True))

    def end(self, summary: Summary) -> bytes:
        return _line(asdict(summary))

    def failure(self, error: SharkError) -> bytes:
        return json_bytes(ErrorAnswer(error_of(error))) + b"\n"


FORMATS: dict[str, Callable[[], SqlFormat]] = {
    "application/vnd.apache.arrow.stream": ArrowStream,
    "application/vnd.apache.parquet": ParquetFile,
    "application/x-ndjson": JsonLines,
    "application/json": JsonLines,
}
"""Formats by the content types that a client accepts."""

_Converter = Callable[[Any], Any]
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LARGEST_INTEGER = 2**53 - 1
"""Largest integer that readers of JSON keep exactly."""


def _taken(sink: BytesIO) -> bytes:
    """Return the bytes that were written since the last call."""
    written = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return written


def _line(value: object) -> bytes:
    return _encode(value).encode() + b"\n"


def _converted(values: list[Any], convert: _Converter | None) -> list[Any]:
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _converter(dtype: DataType) -> _Converter | None:
    """Return the function from a Python value of the type to its JSON, or None if they are the same."""
    match dtype:
        case ArrayType(element):
            convert = _converter(element)
            return None if convert is None else lambda values: _converted(values, convert)
        case MapType(key, value):
            return lambda values: dict(
                zip(
                    (format_value(one, key) for one in values),
                    _converted([*values.values()], _converter(value)),
                    strict=True,
                )
            )
        case StructType(names, types):
            converters = dict(zip(names, map(_converter, types), strict=True))
            return lambda values: {name: _converted([values[name]], one)[0] for name, one in converters.items()}
        case DecimalType():
            return lambda value: format(value, "f")
    if is_interval(dtype):
        return lambda value: format_value(value, dtype)
    return _CONVERTERS.get(dtype)


def _integer(value: int) -> int | str:
    return value if abs(value) <= _LARGEST_INTEGER else str(value)


def _double(value: float) -> float | str:
    return value if math.isfinite(value) else format_value(value, DOUBLE)


def _float(value: float) -> float | str:
    return float(format_value(value, FLOAT)) if math.isfinite(value) else format_value(value, DOUBLE)


_CONVERTERS: dict[DataType, _Converter] = {
    BIGINT: _integer,
    FLOAT: _float,
    DOUBLE: _double,
    DATE: datetime.date.isoformat,
    TIMESTAMP: datetime.datetime.isoformat,
    BINARY: lambda value: base64.b64encode(value).decode(),
}
"""Types whose values are not the same in JSON. JSON has no NaN and no infinity."""
