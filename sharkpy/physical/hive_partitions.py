"""Hive partitions of a table for planning: their values, and how they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.catalog.partition_list import PartitionNames
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import Domain, domain_of, to_domain
from sharkpy.columnar.pruning import Not, prune
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.columnar.version import TableVersion
from sharkpy.physical.pruning import pruning_predicate
from sharkpy.plan.logical import Scan
from sharkpy.plan.references import column_ids
from sharkpy.sources.lenient_conversion import typed_values
from sharkpy.sources.source import Split
from sharkpy.values.types import DataType, Schema


@dataclass(frozen=True, slots=True)
class PartitionRead:
    """Rows of some Hive partitions, each once, in blocks of `version` and in splits.

    The version may hold other partitions too.
    """

    version: TableVersion | None
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class HivePartitions:
    """Hive partitions of a table by name. `statistics` has each like a block of one row.

    1. `read` returns the rows of the named partitions; nothing is listed or opened before.
    2. The files of lake tables are planned like partitions: `statistics` are then the files', and `schema` has all
       their columns. `kind` names them in texts.
    """

    names: tuple[str, ...]
    schema: Schema
    read: Callable[[tuple[str, ...]], PartitionRead] = field(repr=False)
    statistics: StatisticsTable = field(repr=False, compare=False)
    kind: str = "partitions"

    @classmethod
    def of(
        cls, names: PartitionNames, schema: Schema, read: Callable[[tuple[str, ...]], PartitionRead]
    ) -> HivePartitions:
        return cls(names.texts, schema, read, partition_statistics(names, schema))

    def whole(self, scan: Scan) -> tuple[str, ...] | None:
        """Return the remaining partitions if their values prove the scan's predicate for all their rows, else None."""
        if scan.predicate is None:
            return self.names
        names = {column.column_id: name for column, name in zip(scan.columns, scan.names, strict=True)}
        used = {names.get(column_id, "") for column_id in column_ids(scan.predicate)}
        if not used <= set(self.schema.names):
            return None
        predicate = pruning_predicate(scan.predicate, names)
        kept = prune(self.statistics, predicate)
        columns = self.statistics.columns
        has_nulls = any((columns[name].null_counts[kept] > 0).any() for name in used)
        if has_nulls or prune(self.statistics, Not(predicate))[kept].any():
            return None
        return tuple(self.names[int(index)] for index in np.flatnonzero(kept))

    def kept(self, scan: Scan) -> tuple[str, ...]:
        """Return the partitions that may have rows for the scan's predicate."""
        if scan.predicate is None:
            return self.names
        columns = zip(scan.columns, scan.names, strict=True)
        known = {column.column_id: name for column, name in columns if name in self.schema.names}
        mask = prune(self.statistics, pruning_predicate(scan.predicate, known))
        return tuple(self.names[int(index)] for index in np.flatnonzero(mask))


def partition_statistics(names: PartitionNames, schema: Schema) -> StatisticsTable:
    """Return the values in the names as statistics of blocks with constant columns. They are cached with the names."""
    key = (partition_statistics, schema)
    if key not in names.derived:

        def add(blocks: dict[str, BlockStatistics], texts: Sequence[str]) -> None:
            blocks.update(
                (text, _as_block(row, schema)) for text, row in zip(texts, typed_values(texts, schema), strict=True)
            )

        blocks = names.indexed(key, dict[str, BlockStatistics], add)
        names.derived[key] = StatisticsTable.of(schema, [blocks[text] for text in names.texts])
    found: StatisticsTable = names.derived[key]
    return found


def _as_block(row: Sequence[object], schema: Schema) -> BlockStatistics:
    pairs = zip(schema, row, strict=True)
    return BlockStatistics(1, tuple((field.name, _constant(value, field.dtype)) for field, value in pairs))


def _constant(value: object, dtype: DataType) -> ColumnStatistics:
    bound = None if value is None else to_domain(value, dtype)
    if value is None:
        return ColumnStatistics(dtype, 1, 1, distinct=())
    is_nan = isinstance(bound, float) and math.isnan(bound)
    if is_nan or not isinstance(bound, (int, float, bytes)):
        return ColumnStatistics(dtype, 1, 0, exact=False, has_nan=domain_of(dtype) is Domain.FLOAT)
    # The bounds of a number are exact. The bounds of a text may be cut.
    distinct = (bound,) if isinstance(bound, bytes) else None
    return ColumnStatistics(dtype, 1, 0, bound, bound, distinct=distinct, num_distinct=1)
