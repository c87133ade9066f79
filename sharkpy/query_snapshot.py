"""The tables of one statement as they were when it was planned: every part of planning sees the same versions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sharkpy import conf as settings
from sharkpy.columnar.range_share import prefix_share, range_share
from sharkpy.execution.tables.partitioned_table import PartitionedTable
from sharkpy.optimizer.statistics import ColumnEstimate

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.columnar.version import TableVersion
    from sharkpy.expr import PythonValue
    from sharkpy.physical.hive_partitions import HivePartitions
    from sharkpy.session import SharkContext
    from sharkpy.sources.split import Split

    TableState: TypeAlias = TableVersion | tuple[Split, ...] | PartitionedTable
    """The cached version of a table, else its files' splits, or what was read of its Hive partitions."""


class QuerySnapshot:
    """Is the planner's ScanSource and the optimizer's StatisticsProvider."""

    def __init__(self, context: SharkContext) -> None:
        self._context = context
        self._versions: dict[str, TableVersion | None] = {}
        self._splits: dict[str, list[Split]] = {}
        self._tables: dict[str, Table] = {}
        self._partitioned: dict[str, PartitionedTable] = {}

    @property
    def catalog(self) -> Catalog:
        """The session's, with its temporary tables."""
        return self._context.catalog

    def states(self) -> tuple[tuple[Table, TableState], ...]:
        """The tables that were looked at so far, as they were seen."""
        return tuple((table, self._state(table)) for table in list(self._tables.values()))

    def is_state(self, table: Table, state: TableState) -> bool:
        """Whether the table is still as it was then."""
        now = self._state(table)
        if isinstance(now, PartitionedTable):
            return isinstance(state, PartitionedTable) and now.is_as(state)
        return now == state if isinstance(state, tuple) else now is state

    def scan_source(self, table: Table) -> TableVersion | Sequence[Split] | HivePartitions:
        state = self._state(table)
        return state.for_planning() if isinstance(state, PartitionedTable) else state

    def num_rows(self, table: Table) -> int | None:
        if table.is_view:
            return None
        version = self._version(table)
        if version is not None:
            return version.statistics.count()
        if table.is_partitioned:
            return None
        counts = [split.num_rows for split in self._file_splits(table)]
        return sum(count for count in counts if count is not None) if None not in counts else None

    def column(self, table: Table, name: str) -> ColumnEstimate | None:
        version = None if table.is_view else self._version(table)
        if version is None or name not in version.statistics.columns:
            return None
        statistics = version.statistics
        rows = statistics.count()
        low, high = statistics.minimum(name), statistics.maximum(name)
        return ColumnEstimate(
            ndv=float(statistics.num_distinct(name)),
            min=_value(low),
            max=_value(high),
            null_fraction=1.0 - statistics.count_valid(name) / rows if rows else 0.0,
            range_share=partial(range_share, statistics.columns[name]),
            prefix_share=partial(prefix_share, statistics.columns[name]),
        )

    def _state(self, table: Table) -> TableState:
        version = self._version(table)
        if version is not None:
            return version
        return self._partitions(table) if table.is_partitioned else tuple(self._file_splits(table))

    def _partitions(self, table: Table) -> PartitionedTable:
        if table.table_id not in self._partitioned:
            context = self._context
            partitions = context.catalog.partitions(table)
            made = PartitionedTable(table, partitions, context.table_cache, context.conf)
            self._partitioned[table.table_id] = made
        return self._partitioned[table.table_id]

    def _version(self, table: Table) -> TableVersion | None:
        if table.table_id not in self._versions:
            self._tables[table.table_id] = table
            self._versions[table.table_id] = self._context.table_cache.version(table)
        return self._versions[table.table_id]

    def _file_splits(self, table: Table) -> list[Split]:
        if table.table_id not in self._splits:
            self._splits[table.table_id] = self._list_splits(table)
        return self._splits[table.table_id]

    def _list_splits(self, table: Table) -> list[Split]:
        if table.location is None:
            return []
        from sharkpy.sources.layout import list_data_files
        from sharkpy.sources.registry import source

        files = list_data_files(table.location)
        split_bytes = self._context.conf.value(settings.SPLIT_BYTES)
        return source(table.storage.name).splits(files, table.schema, table.storage.properties, split_bytes)


def _value(answer: object) -> PythonValue:
    return getattr(answer, "value", None)
