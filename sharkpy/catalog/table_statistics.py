"""Figures of ANALYZE TABLE as the catalog stores them, for a table or for each of its Hive partitions."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sharkpy.base.records import dataclass


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Figures of a column's values. `low` and `high` are texts, only for numbers, dates and timestamps.

    `num_distinct` is estimated. Lengths are of strings and binaries, in bytes.
    """

    num_nulls: int
    num_distinct: int | None = None
    low: str | None = None
    high: str | None = None
    average_length: float | None = None
    max_length: int | None = None
    num_true: int | None = None
    num_false: int | None = None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Figures of a table or a Hive partition.

    1. `content` identifies the analyzed files. The figures are valid while these files are unchanged.
    2. `num_rows` and `raw_bytes` are None if the rows were not read (NOSCAN).
    3. `raw_bytes` is Hive's rawDataSize: the bytes of text without line ends, else the number of values.
    4. `mark` is the state of the Hive partition in the catalog at that time. The planner compares it without reading
       files.
    """

    content: str
    num_files: int
    total_bytes: int
    num_rows: int | None = None
    raw_bytes: int | None = None
    columns: tuple[tuple[str, ColumnStatistics], ...] = ()
    mark: str = ""

    def column(self, name: str) -> ColumnStatistics | None:
        return dict(self.columns).get(name)

    def with_columns(self, older: TableStatistics | None) -> TableStatistics:
        """Add the figures of `older`, of the same content, for columns that were not analyzed now."""
        if older is None or older.content != self.content:
            return self
        merged = dict(older.columns) | dict(self.columns)
        num_rows = older.num_rows if self.num_rows is None else self.num_rows
        raw_bytes = older.raw_bytes if self.raw_bytes is None else self.raw_bytes
        return dataclasses.replace(self, num_rows=num_rows, raw_bytes=raw_bytes, columns=tuple(merged.items()))


def statistics_to_json(statistics: TableStatistics) -> str:
    return json.dumps(dataclasses.asdict(statistics))


@lru_cache(16_384)
def statistics_from_json(text: str) -> TableStatistics:
    body: dict[str, Any] = json.loads(text)
    columns = tuple((name, ColumnStatistics(**facts)) for name, facts in body.pop("columns"))
    return TableStatistics(**body, columns=columns)


def merged_statistics(parts: Iterable[TableStatistics]) -> TableStatistics | None:
    """Combine the figures of all Hive partitions of a table. Return None if there are none, or a row count is
    missing.
    """
    found = list(parts)
    if not found or any(one.num_rows is None for one in found):
        return None
    names = [name for name, _ in found[0].columns if all(one.column(name) for one in found)]
    return TableStatistics(
        "",
        sum(one.num_files for one in found),
        sum(one.total_bytes for one in found),
        sum(one.num_rows or 0 for one in found),
        sum(one.raw_bytes or 0 for one in found),
        tuple((name, _joined([column for one in found if (column := one.column(name))])) for name in names),
    )


def _joined(columns: list[ColumnStatistics]) -> ColumnStatistics:
    """Combine figures of a column. The largest number of distinct values of a part is a lower bound of the total."""
    lows = [one.low for one in columns if one.low is not None]
    highs = [one.high for one in columns if one.high is not None]
    lengths = [one.average_length for one in columns if one.average_length is not None]
    return ColumnStatistics(
        sum(one.num_nulls for one in columns),
        max((one.num_distinct or 0 for one in columns), default=None),
        min(lows, key=bound_key, default=None),
        max(highs, key=bound_key, default=None),
        sum(lengths) / len(lengths) if lengths else None,
        max((one.max_length for one in columns if one.max_length is not None), default=None),
        _sum(one.num_true for one in columns),
        _sum(one.num_false for one in columns),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def bound_key(text: str) -> tuple[float, str]:
    """Return a sort key of a bound: numbers in their order, dates and timestamps as texts."""
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text
