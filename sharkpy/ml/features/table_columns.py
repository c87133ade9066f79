"""Features that a table's blocks store in the required layout: found by plan and statistics, read without a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sharkpy.columnar.block import Block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import TableVersion
from sharkpy.ml.features.block_reader import TableColumns, matrix_in
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project, Scan

if TYPE_CHECKING:
    from sharkpy.columnar.statistics_table import StatisticsTable
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.ml.features.feature_plan import FeaturePlan


def table_columns(
    features: FeaturePlan, snapshot: QuerySnapshot
) -> tuple[tuple[BlockHandle, ...], TableColumns] | None:
    """Return the blocks of a cached table on this machine, if the features are its own columns and seem to have the
    required layout.

    No value is missing or infinite, so no policy for missing values is needed. `lie_side_by_side` checks the layout of
    each block.
    """
    found = _scanned(features.plan)
    if found is None:
        return None
    scan, names = found
    version = snapshot.scan_source(scan.table)
    if not isinstance(version, TableVersion) or not version.num_rows:
        return None
    label = names[len(features.names)] if features.label is not None else None
    names = names[: len(features.names)]
    width = np.dtype(features.dtype).itemsize
    if not all(not block.host and _is_plain(block, names, width) for block in version.blocks):
        return None
    columns = (*names, label) if label is not None else names
    if not all(_is_finite(version.statistics, name) for name in columns):
        return None
    return version.blocks, TableColumns(names, label, features.dtype)


def lie_side_by_side(number: int, block: Block, columns: TableColumns) -> bool:
    """True if the columns of a block are stored contiguously, in the order of their names."""
    del number
    return matrix_in(block, columns.names, np.dtype(columns.dtype)) is not None


def _scanned(plan: LogicalPlan) -> tuple[Scan, tuple[str, ...]] | None:
    """Return the scan of all rows of a table, and the table's column for each column of the plan. Return None for any
    other plan.
    """
    wanted = tuple(column.column_id for column in plan.output)
    while isinstance(plan, Project):
        behind = {item.column_id: item.expr if isinstance(item, Alias) else item for item in plan.items}
        sources = [behind[column] for column in wanted]
        wanted = tuple(source.column_id for source in sources if isinstance(source, ColumnRef))
        if len(wanted) < len(sources):
            return None
        plan = plan.child
    if not isinstance(plan, Scan) or plan.predicate is not None or plan.sample is not None or plan.is_of_files:
        return None
    names = dict(zip((column.column_id for column in plan.columns), plan.names, strict=True))
    return plan, tuple(names[column] for column in wanted)


def _is_plain(block: BlockHandle, names: Sequence[str], width: int) -> bool:
    """True if columns seem unencoded, judging by their size in bytes."""
    return all(block.column_bytes.get(name) == block.num_rows * width for name in names)


def _is_finite(statistics: StatisticsTable, name: str) -> bool:
    column = statistics.columns[name]
    if column.null_counts.any() or column.has_nan.any():
        return False
    ends = [answer.value for answer in (statistics.minimum(name), statistics.maximum(name)) if answer is not None]
    return len(ends) == 2 and all(math.isfinite(float(end)) for end in ends)  # type: ignore[arg-type]
