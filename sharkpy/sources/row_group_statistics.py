"""Statistics of the row groups of a Parquet file, in the form of block statistics."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterator
from typing import Any

from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.local_copy import check_unchanged, local_copy
from sharkpy.sources.parquet_footer import (
    BOOLEAN,
    BYTE_ARRAY,
    DOUBLE,
    FIXED_BYTES,
    FLOAT,
    INT32,
    INT64,
    parquet_footer,
    row_group_messages,
)
from sharkpy.sources.parquet_ranges import fetch_footer
from sharkpy.sources.split import Split
from sharkpy.values.types import DataType, DecimalType, Schema

_NUMBERS = {BOOLEAN: "<?", INT32: "<i", INT64: "<q", FLOAT: "<f", DOUBLE: "<d"}
_KEPT = 1024
"""Most splits in the cache of statistics."""


@functools.lru_cache(maxsize=_KEPT)
def row_group_statistics(split: Split, schema: Schema) -> tuple[Schema, StatisticsTable]:
    """Statistics of a split's row groups, and the columns of `schema` that have them: flat columns with the types of
    the file (see `PlainFile`).
    """
    check_unchanged(split)
    copy = local_copy(split)
    fetch_footer(split, copy)
    places = {path.lower(): place for place, path in enumerate(parquet_footer(split, copy).paths)}
    groups = row_group_messages(copy.path, split.path)[split.start : split.start + split.length]
    found: dict[str, list[ColumnStatistics]] = {}
    for field in schema:
        columns = list(_columns(groups, places[field.name], field.dtype)) if field.name in places else []
        if len(columns) == len(groups):
            found[field.name] = columns
    known = schema.select([field.name for field in schema if field.name in found])
    blocks = [
        BlockStatistics(group.num_rows or 0, tuple((name, found[name][number]) for name in known.names))
        for number, group in enumerate(groups)
    ]
    return known, StatisticsTable.of(known, blocks)


def _columns(groups: list[Any], place: int, dtype: DataType) -> Iterator[ColumnStatistics]:
    """Statistics of a column in row groups; fewer if one of them does not have the number of NULLs."""
    for group in groups:
        meta = group.columns[place].meta
        stored = meta and meta.statistics
        if not stored or stored.null_count is None:
            return
        low, high = (_bound(meta.type, one, dtype) for one in _bounds(meta.type, stored))
        if low is None or high is None:
            low = high = None
        # Writers leave NaN out of the bounds without a mark.
        is_float = domain_of(dtype) is Domain.FLOAT
        yield ColumnStatistics(dtype, group.num_rows or 0, stored.null_count, low, high, exact=False, has_nan=is_float)


def _bounds(kind: int, stored: Any) -> tuple[bytes | None, bytes | None]:
    """Stored bounds. The old fields are in the order of signed bytes, so they are useless for strings."""
    if stored.min_value is None and stored.max_value is None and kind in _NUMBERS:
        return stored.min, stored.max
    return stored.min_value, stored.max_value


def _bound(kind: int, stored: bytes | None, dtype: DataType) -> DomainValue | None:
    """Bound in the column's domain. A cut string is not valid text, but its bytes are still a bound."""
    if stored is None:
        return None
    if isinstance(dtype, DecimalType):
        whole = int.from_bytes(stored, "big" if kind == FIXED_BYTES else "little", signed=True)
        return whole if abs(whole) < 1 << 63 else None
    if kind == BYTE_ARRAY:
        return stored
    form = _NUMBERS.get(kind)
    if form is None or len(stored) != struct.calcsize(form):
        return None
    (value,) = struct.unpack(form, stored)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return int(value)
