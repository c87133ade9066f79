"""DelimitedJSONSerDe, which can only write: delimited values, with nested ones as JSON. Queries' scripts read it."""

from __future__ import annotations

import pyarrow as pa

from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.text_format import text_format
from sharkpy.sources.text_write import hive_text
from sharkpy.values.types import BINARY, DataType, Schema, is_nested
from sharkpy.values.value_text import format_column


def delimited_json(batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:
    """Bytes of each row, without a line end. Delimiters within values are not escaped."""
    layout = text_format(properties)
    null = pa.scalar(layout.null, pa.binary())
    columns = [
        pc.fill_null(_texts(column, field.dtype), null) for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pc.binary_join_element_wise(*columns, layout.separator(0)) if len(columns) > 1 else columns[0]


def _texts(column: Array, dtype: DataType) -> Array:
    """Values as binary; NULL stays NULL."""
    if is_nested(dtype):
        mask = column.is_null().to_numpy(zero_copy_only=False)
        return pa.array(format_column(column, dtype), pa.string(), mask=mask).cast(pa.binary())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.binary()) if dtype == BINARY else hive_text(column, dtype)
