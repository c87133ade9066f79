"""The tables of one statement as they were when it was planned: every part of planning sees the same versions."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base import settings
from sharkpy.base.errors import UnsupportedError
from sharkpy.columnar.range_share import prefix_share, range_share
from sharkpy.execution.tables.partitioned_table import PartitionedTable
from sharkpy.optimizer.statistics import ColumnEstimate
from sharkpy.physical.stage import BlockSink
from sharkpy.plan.query_table import QueryTable

if TYPE_CHECKING:
    from sharkpy.catalog.folder_readers import FolderReaders
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.catalog.table_statistics import TableStatistics
    from sharkpy.columnar.version import TableVersion
    from sharkpy.execution.tables.cache import TableCache
    from sharkpy.physical.hive_partitions import HivePartitions
    from sharkpy.plan.expr import PythonValue
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.sources.layout import DataFile
    from sharkpy.sources.split import Split
    from sharkpy.values.types import DataType

    TableState: TypeAlias = TableVersion | tuple[Split, ...] | PartitionedTable
    """The cached version of a table, else its files' splits, or what was read of its Hive partitions."""


class QuerySnapshot:
    """Is the planner's ScanSource and the optimizer's StatisticsProvider.

    Files that were seen stay on disk until `release`, or until nobody has the snapshot any more.
    """

    def __init__(self, context: SharkContext) -> None:
        self._context = context
        self._versions: dict[str, TableVersion | None] = {}
        self._splits: dict[str, list[Split]] = {}
        self._tables: dict[str, Table] = {}
        self._entered: list[str] = []
        weakref.finalize(self, _leave, context.catalog.readers, self._entered).atexit = False
        self._partitioned: dict[str, PartitionedTable] = {}
        self._files: dict[str, list[DataFile]] = {}
        self._statistics: dict[str, TableStatistics | None] = {}
        self._computed: list[QueryTable] = []
        # A session that was stopped meanwhile gives neither.
        self._readers, self._table_cache = context.catalog.readers, context.table_cache
        weakref.finalize(self, _forget, self._table_cache, self._computed).atexit = False

    @property
    def catalog(self) -> Catalog:
        """The session's, with its temporary tables."""
        return self._context.catalog

    def release(self) -> None:
        """The rows have been read."""
        _leave(self._readers, self._entered)
        _forget(self._table_cache, self._computed)

    @property
    def has_computed(self) -> bool:
        """Whether a plan over it reads rows that were computed for it alone."""
        return bool(self._computed)

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

    def file_source(self, table: Table) -> Sequence[Split] | HivePartitions:
        """The files that the cached version, if there is one, was made of."""
        if table.location is None:
            raise UnsupportedError(f"virtual columns of {table.qualified_name}, which is in memory only")
        self._version(table)
        if not table.is_partitioned:
            return self._file_splits(table)
        context = self._context
        return PartitionedTable(table, context.catalog.partitions(table), None, context.conf).for_planning()

    def num_rows(self, table: Table) -> int | None:
        if table.is_view:
            return None
        version = self._version(table)
        if version is not None:
            return version.statistics.count()
        counts = [None] if table.is_partitioned else [split.num_rows for split in self._file_splits(table)]
        if None not in counts:
            return sum(count for count in counts if count is not None)
        analyzed = self._analyzed(table)
        return None if analyzed is None else analyzed.num_rows

    def column(self, table: Table, name: str) -> ColumnEstimate | None:
        if table.is_view:
            return None
        version = self._version(table)
        if version is None:
            return self._analyzed_column(table, name)
        if name not in version.statistics.columns:
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

    def _analyzed_column(self, table: Table, name: str) -> ColumnEstimate | None:
        analyzed = self._analyzed(table)
        found = None if analyzed is None else analyzed.column(name)
        if analyzed is None or found is None:
            return None
        dtype = table.schema[name].dtype
        low, high = (_bound(text, dtype) for text in (found.low, found.high))
        nulls = found.num_nulls / analyzed.num_rows if analyzed.num_rows else 0.0
        ndv = None if found.num_distinct is None else float(found.num_distinct)
        return ColumnEstimate(ndv, low, high, nulls)

    def _analyzed(self, table: Table) -> TableStatistics | None:
        """What ANALYZE TABLE has found, as far as it still holds."""
        if table.table_id not in self._statistics:
            self._statistics[table.table_id] = self._find_analyzed(table)
        return self._statistics[table.table_id]

    def _find_analyzed(self, table: Table) -> TableStatistics | None:
        from sharkpy.execution.tables.analyzed import all_partitions_statistics, table_statistics

        catalog = self.catalog
        if table.location is None:
            return None
        if table.is_partitioned:
            return all_partitions_statistics(catalog, table)
        self._file_splits(table)
        return table_statistics(catalog, table, self._files[table.table_id])

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

    def _enter(self, table: Table) -> None:
        """Before anything of the table is listed."""
        if table.location is not None:
            self._context.catalog.readers.enter(table.location)
            self._entered.append(table.location)

    def _version(self, table: Table) -> TableVersion | None:
        if isinstance(table, QueryTable) and table.table_id not in self._versions:
            self._versions[table.table_id] = self._compute(table)
        if table.table_id not in self._versions:
            self._tables[table.table_id] = table
            self._enter(table)
            self._versions[table.table_id] = self._context.table_cache.version(table)
        return self._versions[table.table_id]

    def _compute(self, table: QueryTable) -> TableVersion:
        context = self._context
        sink = BlockSink(table.schema, context.conf.value(settings.BLOCK_ROWS), None)
        blocks = context.write_blocks(table.query, sink, self)
        self._computed.append(table)
        return context.table_cache.put(table, blocks)

    def _file_splits(self, table: Table) -> list[Split]:
        if table.table_id not in self._splits:
            self._splits[table.table_id] = self._list_splits(table)
        return self._splits[table.table_id]

    def _list_splits(self, table: Table) -> list[Split]:
        if table.location is None:
            return []
        from sharkpy.sources.file_splits import file_splits
        from sharkpy.sources.layout import list_data_files

        files = self._files[table.table_id] = list_data_files(table.location)
        split_bytes = self._context.conf.value(settings.SPLIT_BYTES)
        return file_splits(files, table.schema, table.storage, split_bytes)


@contextlib.contextmanager
def reading(context: SharkContext, snapshot: QuerySnapshot | None) -> Iterator[QuerySnapshot]:
    """`snapshot`, or one that ends with what is done inside."""
    seen = QuerySnapshot(context) if snapshot is None else snapshot
    try:
        yield seen
    finally:
        if snapshot is None:
            seen.release()


def _leave(readers: FolderReaders, entered: list[str]) -> None:
    while entered:
        readers.leave(entered.pop())


def _forget(table_cache: TableCache, computed: list[QueryTable]) -> None:
    while computed:
        table_cache.forget(computed.pop())


def _value(answer: object) -> PythonValue:
    return getattr(answer, "value", None)


def _bound(text: str | None, dtype: DataType) -> PythonValue:
    from sharkpy.sources.partition_values import single_value

    value: PythonValue = None if text is None else single_value(text, dtype)[0].as_py()
    return value
