"""Rows as JSON objects, column by column: whole columns are converted at once if possible."""

from __future__ import annotations

import json
import math

import pyarrow as pa

from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.json_values import json_value
from sharkpy.values.types import DataType, Schema

_ESCAPED = '["\\\\\\x00-\\x1f]'
_CONTROL = "[\\x00-\\x1f]"
"""Characters with a numeric escape in JSON texts."""


def json_rows(batch: pa.RecordBatch, schema: Schema) -> Array:
    """JSON object of each row as binary, with NULLs as null, and with lower-case names."""
    if not len(schema):
        return pa.array([b"{}"] * batch.num_rows, pa.binary())
    pieces: list[object] = []
    for number, (column, field) in enumerate(zip(batch.columns, schema, strict=True)):
        pieces += [f"{',' if number else '{'}{_text(field.name)}:", _texts(column, field.dtype)]
    joined: Array = pc.binary_join_element_wise(*pieces, "}", "")
    return joined.cast(pa.binary())


def _texts(column: Array, dtype: DataType) -> Array:
    """JSON text of each value."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _or_null(column.cast(pa.string()))
    if pa.types.is_string(kind) and (quoted := _quoted(column)) is not None:
        return _or_null(quoted)
    if pa.types.is_floating(kind):
        return _floats(column)
    return pa.array([_text(json_value(value, dtype)) for value in column.to_pylist()], pa.string())


def _quoted(column: Array) -> Array | None:
    """Texts in quotes; None if one has a character that needs a numeric escape."""
    if pc.any(pc.match_substring_regex(column, _ESCAPED), min_count=0).as_py():
        if pc.any(pc.match_substring_regex(column, _CONTROL), min_count=0).as_py():
            return None
        column = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    quoted: Array = pc.binary_join_element_wise('"', column, '"', "")
    return quoted


def _floats(column: Array) -> Array:
    texts = [
        None if value is None else repr(value) if math.isfinite(value) else _text(json_value(value, None))
        for value in column.to_pylist()
    ]
    return _or_null(pa.array(texts, pa.string()))


def _or_null(texts: Array) -> Array:
    return pc.fill_null(texts, "null") if texts.null_count else texts


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
