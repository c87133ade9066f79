"""Statistics of the row groups of a Parquet file, as those of blocks."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of, to_domain
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.parquet import file_metadata
from sharkpy.sources.split import Split
from sharkpy.values.types import DataType, DecimalType, Schema

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_KEPT = 1024
"""Splits whose statistics are kept between queries."""


@functools.lru_cache(maxsize=_KEPT)
def row_group_statistics(split: Split, schema: Schema) -> tuple[Schema, StatisticsTable]:
    """Statistics of a split's row groups, and the columns among those of `schema` that have them. The columns are flat,
    and of the types that the file has (see `PlainFile`).
    """
    metadata = file_metadata(split)
    places = {metadata.schema.column(index).name.lower(): index for index in range(metadata.num_columns)}
    groups = [metadata.row_group(number) for number in range(split.start, split.start + split.length)]
    found: dict[str, list[ColumnStatistics]] = {}
    for field in schema:
        columns = list(_columns(groups, places[field.name], field.dtype))
        if len(columns) == len(groups):
            found[field.name] = columns
    known = schema.select([field.name for field in schema if field.name in found])
    blocks = [
        BlockStatistics(group.num_rows, tuple((name, found[name][number]) for name in known.names))
        for number, group in enumerate(groups)
    ]
    return known, StatisticsTable.of(known, blocks)


def _columns(groups: list[pq.RowGroupMetaData], place: int, dtype: DataType) -> Iterator[ColumnStatistics]:
    """Statistics of a column in row groups; fewer where one does not say how many NULLs it has."""
    for group in groups:
        stored: Any = group.column(place).statistics
        if stored is None or not stored.has_null_count:
            return
        low, high = (_bound(stored, name, dtype) for name in ("min", "max")) if stored.has_min_max else (None, None)
        if low is None or high is None:
            low = high = None
        # Writers leave NaN out of the bounds, and do not tell of it.
        is_float = domain_of(dtype) is Domain.FLOAT
        yield ColumnStatistics(dtype, group.num_rows, stored.null_count, low, high, exact=False, has_nan=is_float)


def _bound(stored: Any, name: str, dtype: DataType) -> DomainValue | None:
    """Least or greatest value in the column's domain. A cut string is no text, but bounds the others as bytes."""
    if isinstance(dtype, DecimalType):
        found = to_domain(getattr(stored, name), dtype)
        return found if isinstance(found, int) and abs(found) < 1 << 63 else None
    value = getattr(stored, f"{name}_raw")
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return int(value) if isinstance(value, bool | int) else value if isinstance(value, bytes) else None
