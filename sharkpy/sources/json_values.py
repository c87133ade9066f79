"""JSON values to columns, one by one, and rows to JSON objects, by whole columns if possible."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.base.time_zone import UTC
from sharkpy.sources.arrow import Array, column_type, list_array, map_array, pc
from sharkpy.sources.json_texts import Json, object_parser
from sharkpy.sources.lenient_conversion import lenient
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.text_fields import with_other_time_formats
from sharkpy.sources.text_format import TextFormat
from sharkpy.values.types import (
    BOOLEAN,
    TIMESTAMP,
    ArrayType,
    DataType,
    MapType,
    Schema,
    StructType,
    arrow_schema,
    is_nested,
    is_string,
)

if TYPE_CHECKING:
    from sharkpy.sources.source import Rows

JSON_TIMES = TextFormat(time_zone=UTC)


@dataclass(frozen=True, slots=True)
class JsonReader:
    """Reads any lines. A value that does not have its column's type becomes NULL and is counted. `layout`: the form of
    times.
    """

    schema: Schema
    metrics: ReadMetrics
    layout: TextFormat = JSON_TIMES

    def read(self, lines: Sequence[str], rows: Rows | None = None) -> pa.Table:
        """Columns of lines. `rows`: numbers of the lines, by default from 0 on."""
        whole: list[int] = []
        marked: list[int] = []
        parsed = object_parser(self.schema)
        objects = [self._object(number, parsed(line), whole) for number, line in enumerate(lines)]
        self._mark(whole, rows, is_whole=True)
        if not len(self.schema):
            empty: Array = pa.array([{} for _ in objects], pa.struct([]))
            return pa.Table.from_struct_array(empty)
        columns = [self._marked_column([row.get(f.name) for row in objects], f.dtype, marked) for f in self.schema]
        self._mark(marked, rows)
        return pa.table(columns, schema=arrow_schema(self.schema))

    def _mark(self, marked: Sequence[int], rows: Rows | None, *, is_whole: bool = False) -> None:
        self.metrics.mark(marked if rows is None else [rows[number] for number in marked], is_whole=is_whole)

    def _marked_column(self, values: list[Json], dtype: DataType, marked: list[int]) -> Array:
        """Column of values. The numbers of rows with values, or parts, of another type are added to `marked`."""
        lost = self.metrics.malformed_fields
        column = self._column(values, dtype)
        if self.metrics.marks is not None and self.metrics.malformed_fields > lost:
            is_valid = [False] * len(values) if is_nested(dtype) else column.is_valid().to_pylist()
            marked += [
                number for number, value in enumerate(values) if not is_valid[number] and self._is_lost(value, dtype)
            ]
        return column

    def _is_lost(self, value: Json, dtype: DataType) -> bool:
        if not is_nested(dtype):
            return value is not None and value != ""
        alone = ReadMetrics()
        JsonReader(self.schema, alone, self.layout)._column([value], dtype)
        return alone.malformed_fields > 0

    def _object(self, number: int, value: dict[str, Json] | None, whole: list[int]) -> dict[str, Json]:
        if value is None:
            self.metrics.malformed_lines += 1
            whole.append(number)
            return {}
        return _lowered(value)

    def _column(self, values: list[Json], dtype: DataType) -> Array:
        match dtype:
            case ArrayType(element):
                return self._array(values, element)
            case MapType(key, value):
                return self._map(values, key, value)
            case StructType():
                return self._struct(values, dtype)
        texts: Array = pa.array([_as_text(value, dtype) for value in values], pa.string())
        column = lenient(texts, dtype)
        if dtype == TIMESTAMP:
            column = with_other_time_formats(texts, column, self.layout)
        if column.null_count:
            # An empty text is NULL if the type has no such value, as in a text file.
            pairs = zip(values, column.is_valid().to_pylist(), strict=True)
            self._count(sum(value is not None and value != "" and not is_valid for value, is_valid in pairs))
        return column

    def _count(self, lost: int) -> None:
        self.metrics.malformed_fields += lost

    def _array(self, values: list[Json], element: DataType) -> Array:
        lists = [value if isinstance(value, list) else None for value in values]
        self._count(sum(v is not None for v in values) - sum(v is not None for v in lists))
        items = self._column([item for items in lists if items for item in items], element)
        return list_array(_offsets(lists), items, mask=_mask(lists))

    def _map(self, values: list[Json], key: DataType, value: DataType) -> Array:
        maps = [item if isinstance(item, dict) else None for item in values]
        self._count(sum(v is not None for v in values) - sum(v is not None for v in maps))
        keys = self._column([name for entries in maps if entries for name in entries], key)
        items = self._column([item for entries in maps if entries for item in entries.values()], value)
        target = column_type(MapType(key, value))
        if keys.null_count:
            return _without_null_keys(maps, keys, items, target)
        return map_array(_offsets(maps), keys, items, target, mask=_mask(maps))

    def _struct(self, values: list[Json], dtype: StructType) -> Array:
        objects = [_lowered(value) if isinstance(value, dict) else None for value in values]
        self._count(sum(v is not None for v in values) - sum(v is not None for v in objects))
        children = [
            self._column([None if row is None else row.get(name.lower()) for row in objects], t)
            for name, t in zip(dtype.names, dtype.types, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(column_type(dtype)), mask=_mask(objects))


def _lowered(value: dict[str, Json]) -> dict[str, Json]:
    return {name.lower(): item for name, item in value.items()}


def _as_text(value: Json, dtype: DataType) -> str | None:
    """Text that Hive would have in a text file for this value; None if there is none."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower() if is_string(dtype) or dtype == BOOLEAN else None
        case str():
            return _encodable(value)
        case list() | dict():
            return None
    return str(value)


def _encodable(text: str) -> str:
    """The text, with ? for unpaired surrogates, as in Java."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _offsets(groups: list[list[Json] | None] | list[dict[str, Json] | None]) -> Array:
    lengths = pa.array([0] + [len(group) if group else 0 for group in groups], pa.int32())
    return pc.cumulative_sum(lengths)


def _mask(values: list[list[Json] | None] | list[dict[str, Json] | None]) -> Array | None:
    mask = [value is None for value in values]
    return pa.array(mask, pa.bool_()) if any(mask) else None


def _without_null_keys(maps: list[dict[str, Json] | None], keys: Array, items: Array, target: pa.DataType) -> Array:
    pairs = iter(zip(keys.to_pylist(), items.to_pylist(), strict=True))
    rows = [None if entries is None else [next(pairs) for _ in entries] for entries in maps]
    kept = [None if row is None else [pair for pair in row if pair[0] is not None] for row in rows]
    return pa.array(kept, target)


def json_value(value: object, dtype: DataType | None) -> object:
    """A value of a column in the form that `json` takes. The type matters only for nested values."""
    match value, dtype:
        case None, _:
            return None
        case list(), ArrayType(element):
            return [json_value(item, element) for item in value]
        case list(), MapType(key, item_type):
            return {_key_text(name, key): json_value(item, item_type) for name, item in value}
        case Mapping(), StructType(names, types):
            return {name: json_value(value[name], t) for name, t in zip(names, types, strict=True)}
        case float(), _:
            return value if math.isfinite(value) else _real_name(value)
        case bytes(), _:
            return base64.b64encode(value).decode()
        case Decimal(), _:
            return format(value, "f")
        case datetime.datetime(), _:
            return value.isoformat(sep=" ")
        case datetime.date(), _:
            return value.isoformat()
    return value


def _key_text(value: object, dtype: DataType) -> str:
    written = json_value(value, dtype)
    return str(written).lower() if dtype == BOOLEAN else str(written)


def _real_name(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


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
