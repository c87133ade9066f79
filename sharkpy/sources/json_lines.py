"""One JSON object a line, with the rules of Hive's JsonSerDe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.json

from sharkpy.sources.arrow import reader_of
from sharkpy.sources.columns import batches_of, row_count_batch
from sharkpy.sources.json_values import JsonReader, json_lines
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import line_chunks, line_splits
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.output_file import output_file
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    DataType,
    Field,
    Schema,
    arrow_schema,
    from_arrow,
)

_QUICK_TYPES: tuple[DataType, ...] = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING)


class JsonLinesSource:
    """Keys are matched without case; a line that is no object gives a row of NULLs and is counted.

    Arrow's reader takes chunks it reads the same way; the rest goes line by line.
    """

    name = "json"

    def infer_schema(self, path: str) -> Schema:
        from sharkpy.sources.failures import format_error

        try:
            found = pa.json.read_json(path).schema
        except (pa.ArrowException, OSError) as error:
            raise format_error(path, "JSON", error) from None
        return Schema(tuple(Field(field.name.lower(), _inferred(field.type)) for field in found))

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,  # noqa: ARG002 - the protocol's
        properties: Properties,
        split_bytes: int,
    ) -> list[Split]:
        return line_splits(files, self.name, properties, split_bytes, 0, b"\n")

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        wanted = schema.select(names)
        counted = metrics or ReadMetrics()
        for chunk in line_chunks(split, 0, b"\n"):
            counted.bytes += len(chunk)
            table = _by_arrow(chunk, wanted) if names else None
            if table is None:
                table = JsonReader(wanted, counted).read(chunk)
            counted.rows += table.num_rows
            if names:
                yield from batches_of(table)
            else:
                yield row_count_batch(table.num_rows)

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        schema: Schema,
        properties: Properties,  # noqa: ARG002 - the protocol's
        path: str,
    ) -> int:
        num_rows = 0
        with output_file(path) as file:
            for batch in batches:
                file.write(json_lines(batch, schema))
                num_rows += batch.num_rows
        return num_rows


def _by_arrow(chunk: bytes, schema: Schema) -> pa.Table | None:
    """None where Arrow's reader could give another answer than Hive's rules."""
    if not all(_is_quick(field.dtype) for field in schema) or b"\r" in chunk:
        return None
    try:
        parsed = pa.json.read_json(
            reader_of(chunk),
            read_options=pa.json.ReadOptions(block_size=max(len(chunk), 1), use_threads=False),
            parse_options=pa.json.ParseOptions(explicit_schema=arrow_schema(schema), unexpected_field_behavior="infer"),
        )
    except pa.ArrowException:
        return None
    others = {name.lower() for name in parsed.column_names if name not in schema.names}
    lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
    if others & set(schema.names) or parsed.num_rows != lines:
        return None
    return parsed.select(list(schema.names)).cast(arrow_schema(schema))


def _is_quick(dtype: DataType) -> bool:
    return dtype in _QUICK_TYPES or (isinstance(dtype, ArrayType) and _is_quick(dtype.element))


def _inferred(arrow_type: pa.DataType) -> DataType:
    if pa.types.is_timestamp(arrow_type):
        return from_arrow(pa.timestamp("us"))
    return STRING if pa.types.is_null(arrow_type) else from_arrow(arrow_type)
