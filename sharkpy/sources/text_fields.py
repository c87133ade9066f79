"""Raw text fields to typed columns: NULL texts, escapes, nesting by levels of separators.

Escaped characters are replaced by bytes that UTF-8 never uses while lines are split into fields.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, column_type, list_array, map_array, pc
from sharkpy.sources.lenient_conversion import lenient, zoned_times
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.text_format import CARRIAGE_RETURN, NEWLINE, TextFormat
from sharkpy.values.types import TIMESTAMP, ArrayType, DataType, MapType, StructType, is_nested, is_string

if TYPE_CHECKING:
    pass

Numbers = np.ndarray[Any, np.dtype[Any]]
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class FieldReader:
    """Converts raw fields (binary arrays, NULL if a line is too short) to columns."""

    layout: TextFormat
    hidden: HiddenEscapes
    metrics: ReadMetrics

    def read(self, raw: Array, dtype: DataType, rows: Numbers | None = None) -> Array:
        """Convert `raw` to `dtype`. `rows`: numbers of the fields' rows, by default from 0 on."""
        lost = self.metrics.malformed_fields
        column = self._read(raw, dtype, 1)
        if self.metrics.marks is not None and self.metrics.malformed_fields > lost:
            found = self._lost(raw, column, dtype)
            self.metrics.mark(found if rows is None else rows[found])
        return column

    def _lost(self, raw: Array, column: Array, dtype: DataType) -> Numbers:
        """Numbers of the fields that do not have their type, or have such a part."""
        if is_nested(dtype):
            return np.array([place for place in range(len(raw)) if self._is_lost(raw.slice(place, 1), dtype)], np.int64)
        is_text = pc.and_(pc.not_equal(raw, b""), pc.not_equal(raw, self.hidden.null))
        found: Numbers = pc.indices_nonzero(pc.and_(pc.is_null(column), is_text)).to_numpy()
        return found

    def _is_lost(self, raw: Array, dtype: DataType) -> bool:
        alone = ReadMetrics()
        FieldReader(self.layout, self.hidden, alone)._read(raw, dtype, 1)
        return alone.malformed_fields > 0

    def _read(self, raw: Array, dtype: DataType, level: int) -> Array:
        """Convert `raw`. `level`: level of the separators inside these fields."""
        raw = pc.if_else(pc.equal(raw, self.hidden.null), pa.scalar(None, raw.type), raw)
        match dtype:
            case ArrayType(element):
                return self._array(raw, element, level)
            case MapType(key, value):
                return self._map(raw, key, value, level)
            case StructType():
                return self._struct(raw, dtype, level)
        text = pc.cast(self.hidden.reveal(raw) if self.hidden else raw, pa.string())
        column = lenient(text, dtype)
        if dtype == TIMESTAMP:
            column = with_other_time_formats(text, column, self.layout)
        if not is_string(dtype) and column.null_count > text.null_count:
            empty = pc.sum(pc.equal(text, ""), min_count=0).as_py()
            self.metrics.malformed_fields += column.null_count - text.null_count - empty
        return column

    def _lists(self, raw: Array, level: int) -> Array:
        """Items of each field; an empty field has none."""
        items = pc.split_pattern(raw, self.layout.separator(level))
        if not pc.any(pc.equal(raw, b""), min_count=0).as_py():
            return items
        empty = pa.scalar([], items.type)
        return pc.if_else(pc.equal(raw, b""), empty, items)

    def _array(self, raw: Array, element: DataType, level: int) -> Array:
        lists = self._lists(raw, level)
        values = self._read(lists.values, element, level + 1)
        return list_array(lists.offsets, values, mask=_mask(lists))

    def _map(self, raw: Array, key: DataType, value: DataType, level: int) -> Array:
        """Maps. An entry without a key separator has a NULL value; entries with a NULL key are dropped."""
        lists = self._lists(raw, level)
        separator = self.layout.separator(level + 1)
        pairs = pc.list_slice(
            pc.split_pattern(lists.values, separator, max_splits=1), 0, 2, return_fixed_size_list=True
        )
        keys = self._read(pc.list_element(pairs, 0), key, level + 2)
        values = self._read(pc.list_element(pairs, 1), value, level + 2)
        offsets, is_null = lists.offsets, _mask(lists)
        if keys.null_count:
            kept = pc.is_valid(keys)
            counts = pc.cumulative_sum(pc.cast(kept, pa.int32()))
            starts = pa.concat_arrays([pa.array([0], pa.int32()), counts])
            offsets = starts.take(offsets)
            keys, values = keys.filter(kept), values.filter(kept)
        entries = map_array(offsets, keys, values, column_type(MapType(key, value)), mask=is_null)
        return _first_of_duplicates(entries)

    def _struct(self, raw: Array, dtype: StructType, level: int) -> Array:
        split = pc.split_pattern(raw, self.layout.separator(level))
        parts = pc.list_slice(split, 0, len(dtype.names), return_fixed_size_list=True)
        children = [self._read(pc.list_element(parts, i), t, level + 1) for i, t in enumerate(dtype.types)]
        return pa.StructArray.from_arrays(
            children, fields=list(column_type(dtype)), mask=pc.is_null(raw) if raw.null_count else None
        )


def with_other_time_formats(text: Array, found: Array, layout: TextFormat) -> Array:
    """Fill the NULLs of TIMESTAMPs from texts with a time zone, if `layout` has a zone for them, and by the layout's
    formats.
    """
    if layout.time_zone is not None and found.null_count > text.null_count:
        others = pc.if_else(pc.is_null(found), text, pa.scalar(None, text.type))
        found = pc.coalesce(found, zoned_times(others, layout.time_zone))
    if layout.timestamp_formats and found.null_count > text.null_count:
        found = _in_formats(text, found, layout.timestamp_formats)
    return found


def _in_formats(text: Array, found: Array, formats: Sequence[str]) -> Array:
    """Fill the NULLs of `found` by the first of `formats` that matches the text."""
    from sharkpy.udf.java_datetime import parse_time

    values = []
    for raw, value in zip(text.to_pylist(), found.to_pylist(), strict=True):
        parsed = value
        for pattern in formats if raw is not None and value is None else ():
            if pattern == "millis":
                is_number = re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]*)?", raw)
                parsed = _EPOCH + datetime.timedelta(milliseconds=float(raw)) if is_number else None
            else:
                parsed = parse_time(raw, pattern)
            if parsed is not None:
                break
        values.append(parsed)
    return pa.array(values, found.type)


def _mask(array: Array) -> Array | None:
    return pc.is_null(array) if array.null_count else None


def _first_of_duplicates(entries: Array) -> Array:
    """Keep only the first entry of each key."""
    keys = entries.keys
    if is_nested_arrow(keys.type) or len(keys) < 2:
        return entries
    rows = pc.list_parent_indices(list_array(entries.offsets, keys))
    positions = pa.array(range(len(keys)), pa.int64())
    table = pa.table({"row": rows, "key": keys, "position": positions})
    if table.group_by(["row", "key"]).aggregate([]).num_rows == len(keys):
        return entries
    unique = [None if row is None else list(dict(reversed(row)).items()) for row in entries.to_pylist()]
    return pa.array([None if row is None else row[::-1] for row in unique], entries.type)


def is_nested_arrow(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_nested(arrow_type))


_SPARE_BYTES = (0xC0, 0xC1, *range(0xF5, 0x100))
"""Bytes that are never part of valid UTF-8, so never in the (validated) data."""
_MOST_HIDDEN = 11
"""Most escaped characters with a byte of their own; two bytes remain for line ends inside rows."""


@dataclass(frozen=True, slots=True)
class HiddenEscapes:
    """Substitutions made by `hide_escapes`.

    In values, `escape` is dropped (None: it did not occur), then `restores` are undone. `null` is the NULL text in its
    form in the data.
    """

    escape: int | None
    restores: tuple[tuple[int, int], ...]
    null: bytes

    def __bool__(self) -> bool:
        return self.escape is not None or bool(self.restores)

    def reveal(self, raw: Array) -> Array:
        """Field values (binary) without escapes."""
        if self.escape is not None:
            raw = pc.replace_substring(raw, bytes([self.escape]), b"")
        for spare, original in self.restores:
            raw = pc.replace_substring(raw, bytes([spare]), bytes([original]))
        return raw


def hide_escapes(data: bytes, layout: TextFormat) -> tuple[bytes, HiddenEscapes]:
    """`data` (valid UTF-8), changed so that every line feed ends a line and every separator ends a field.

    An escape before `n` or `r` means a line feed or carriage return, as Hive writes them.
    """
    restores: list[tuple[int, int]] = []
    spares = iter(_SPARE_BYTES)
    null = layout.null
    if layout.line != NEWLINE:
        for byte in (NEWLINE, CARRIAGE_RETURN):
            if bytes([byte]) in data:
                spare = next(spares)
                restores.append((spare, byte))
                data = data.replace(bytes([byte]), bytes([spare]))
        data = data.replace(bytes([layout.line]), b"\n")
    escape = layout.escape
    if escape is None or bytes([escape]) not in data:
        return data, HiddenEscapes(None, tuple(restores), null)
    hidden = {ord("n"): NEWLINE, ord("r"): CARRIAGE_RETURN}
    hidden |= {byte: byte for byte in (*layout.separators, escape)}
    if len(hidden) > _MOST_HIDDEN:
        # There are fewer unused bytes than separators of the extended nesting: only escaped ones get a byte.
        hidden = {byte: meaning for byte, meaning in hidden.items() if bytes([escape, byte]) in data}
    table = bytearray(256)
    for byte, meaning in hidden.items():
        table[byte] = next(spares)
        restores.append((table[byte], meaning))
    data = _replace_escaped(data, escape, table)
    present = tuple(item for item in restores if bytes([item[0]]) in data)
    return data, HiddenEscapes(escape, present, _replace_escaped(null, escape, table))


def _replace_escaped(data: bytes, escape: int, table: bytearray) -> bytes:
    """Replace bytes after an active escape by `table`; an escape at the end of a line becomes a plain character."""
    import numpy as np

    buffer = np.frombuffer(data + b"\n", dtype=np.uint8).copy()
    places = np.flatnonzero(buffer == escape)
    if not len(places):
        return data
    indices = np.arange(len(places))
    is_start = np.concatenate(([True], np.diff(places) != 1))
    run_start = np.maximum.accumulate(np.where(is_start, indices, 0))
    leading = places[(indices - run_start) % 2 == 0]
    follows = buffer[leading + 1]
    at_end = (follows == NEWLINE) | (follows == CARRIAGE_RETURN)
    lookup = np.frombuffer(bytes(table), dtype=np.uint8)
    active = leading[~at_end]
    replacement = lookup[buffer[active + 1]]
    buffer[active + 1] = np.where(replacement != 0, replacement, buffer[active + 1])
    buffer[leading[at_end]] = lookup[escape]
    return buffer[:-1].tobytes()
