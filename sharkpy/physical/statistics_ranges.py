"""Statistics of a table version for the planner: blocks to read and ranges of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.columnar.bounds import NumberBounds
from sharkpy.columnar.domain import Domain, domain_of
from sharkpy.columnar.pruning import Not, Predicate, prune
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsTable
from sharkpy.physical.column_bounds import MOST_STRINGS
from sharkpy.physical.pruning_predicate import pruning_predicate
from sharkpy.physical.ranges import ColumnRange
from sharkpy.plan.logical import Scan
from sharkpy.plan.references import column_ids
from sharkpy.values.types import is_string

if TYPE_CHECKING:
    from sharkpy.columnar.version import TableVersion

Indexes = np.ndarray[Any, np.dtype[np.int64]]


def kept_blocks(scan: Scan, version: TableVersion) -> Indexes | None:
    """Return the indexes of blocks that may have rows for the scan's predicate, or None if all may."""
    predicate = _predicate(scan)
    if predicate is None:
        return None
    mask = prune(version.statistics, predicate)
    return None if mask.all() else np.flatnonzero(mask)


def whole_blocks(scan: Scan, version: TableVersion) -> bool:
    """Whether statistics prove the scan's predicate TRUE for each row of each block that it keeps."""
    predicate = _predicate(scan)
    if predicate is None:
        return True
    names = _names(scan)
    used = {names[column_id] for column_id in column_ids(scan.predicate)} if scan.predicate else set()
    kept = prune(version.statistics, predicate)
    columns = version.statistics.columns
    if any((columns[name].null_counts[kept] > 0).any() for name in used):
        return False
    return not prune(version.statistics, Not(predicate))[kept].any()


def column_ranges(scan: Scan, version: TableVersion, kept: Indexes | None) -> tuple[tuple[str, ColumnRange], ...]:
    """Return the ranges, over the kept blocks, of the scan's columns whose values are stored as integers."""
    found = []
    for name in dict.fromkeys(scan.names):
        known = _column_range(version.statistics, name, kept)
        if known is not None:
            found.append((name, known))
    return tuple(found)


def distinct_strings(
    scan: Scan, version: TableVersion, kept: Indexes | None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the values of the scan's string columns over the kept blocks, if each block has few."""
    found = []
    for column, name in zip(scan.columns, scan.names, strict=True):
        values = _strings(version.statistics.columns[name], kept) if is_string(column.dtype) else None
        if values is not None:
            found.append((name, values))
    return tuple(found)


def _strings(column: ColumnTable, kept: Indexes | None) -> tuple[str, ...] | None:
    chosen = slice(None) if kept is None else kept
    live = column.valid_counts[chosen] > 0
    set_ids = np.unique(column.sets.set_ids[chosen][live])
    if len(set_ids) == 0 or set_ids[0] < 0:
        return None
    offsets, codes = column.sets.offsets, column.sets.codes
    used = np.unique(np.concatenate([codes[offsets[set_id] : offsets[set_id + 1]] for set_id in set_ids]))
    if len(used) > MOST_STRINGS:
        return None
    values = sorted(column.sets.values[int(code)] for code in used)
    return tuple(value.decode("utf-8", "surrogatepass") for value in values if isinstance(value, bytes))


def _column_range(statistics: StatisticsTable, name: str, kept: Indexes | None) -> ColumnRange | None:
    column = statistics.columns[name]
    if domain_of(column.dtype) is not Domain.INTEGER or not isinstance(column.bounds, NumberBounds):
        return None
    chosen = slice(None) if kept is None else kept
    live = column.valid_counts[chosen] > 0
    if (column.bounds.unknown[chosen] & live).any():
        return None
    if not live.any():
        return ColumnRange(0, 0)
    return ColumnRange(int(column.bounds.low[chosen][live].min()), int(column.bounds.high[chosen][live].max()))


def _predicate(scan: Scan) -> Predicate | None:
    return None if scan.predicate is None else pruning_predicate(scan.predicate, _names(scan))


def _names(scan: Scan) -> dict[int, str]:
    return {column.column_id: name for column, name in zip(scan.columns, scan.names, strict=True)}
