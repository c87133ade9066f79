"""Snapshot of the tables for one statement: all parts of planning see the same versions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base.cleanup import finalize_at_once
from sharkpy.base.errors import TableChangedError, UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import CACHE_PROPERTY, CacheMode, TableKind
from sharkpy.columnar.block_ranges import prefix_share, range_share
from sharkpy.execution.tables.data_files import columns_in_files, partitions_of, table_files
from sharkpy.execution.tables.partition_reads import LakeReads, PartitionedTable
from sharkpy.optimizer.context import ColumnEstimate
from sharkpy.plan.subqueries import QueryTable
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.sources.malformed_rows import validated_splits
from sharkpy.sources.named_files import FileTable

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.folder_readers import FolderReaders, Reading
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.partition_list import CommittedFiles, PartitionList
    from sharkpy.catalog.table_statistics import TableStatistics
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics_table import PackedStatistics
    from sharkpy.columnar.version import TableVersion
    from sharkpy.execution.tables.table_cache import TableCache
    from sharkpy.physical.hive_partitions import HivePartitions
    from sharkpy.plan.expr import PythonValue
    from sharkpy.plan.logical import LogicalPlan
    from sharkpy.sources.layout import DataFile
    from sharkpy.sources.source import Split
    from sharkpy.values.types import DataType

    TableState: TypeAlias = TableVersion | tuple[Split, ...] | PartitionedTable | LakeReads
    """State of a table: its cached version, its files' splits, or reads of Hive partitions or lake files."""

    GiveStream: TypeAlias = Callable[[Table, "QuerySnapshot"], None]
    """Function that gives a snapshot the current rows of a stream."""

    ComputeTable: TypeAlias = Callable[["QueryTable", "QuerySnapshot"], Sequence[tuple[BlockHandle, PackedStatistics]]]
    """Function that makes the blocks of a query that is computed once for its statement."""

_SEVERAL = 2


class QuerySnapshot:
    """Snapshot of tables: the planner's ScanSource and the optimizer's StatisticsProvider.

    1. Files that were seen stay on disk until `release`, or until nothing refers to the snapshot.
    2. Tables passed to `see` before one of them is read are seen at the same moment: either all targets of an epoch
       have its rows, or none.
    """

    def __init__(
        self, catalog: Catalog, table_cache: TableCache, conf: Conf, compute: ComputeTable, give_now: GiveStream
    ) -> None:
        """Make a snapshot; `catalog` is a session's, with its temporary tables.

        `compute` makes the rows of query tables. `give_now` provides the rows of streams without files, unless rows
        were given.
        """
        self.catalog = catalog
        self._table_cache = table_cache
        self._conf = conf
        self._compute_table = compute
        self._give_now = give_now
        self._versions: dict[str, TableVersion | None] = {}
        self._splits: dict[str, list[Split]] = {}
        self._tables: dict[str, Table] = {}
        self._partitioned: dict[str, PartitionedTable] = {}
        self._lakes: dict[str, LakeReads] = {}
        self._files: dict[str, Sequence[DataFile]] = {}
        self._given: dict[str, tuple[DataFile, ...]] = {}
        self._given_splits: dict[str, list[Split]] = {}
        self._given_queries: dict[str, tuple[QueryTable, ...]] = {}
        self._malformed_handling: dict[str, str] = {}
        self._statistics: dict[str, TableStatistics | None] = {}
        self._published: dict[str, CommittedFiles] = {}
        self._together: dict[str, Table] = {}
        self._entered: list[Reading] = []
        self._computed: list[QueryTable] = []
        self._is_pinned = False
        self._release_readers = partial(_release_readers, catalog.readers, self._entered, table_cache, self._computed)
        finalize_at_once(self, self._release_readers)

    @property
    def conf(self) -> Conf:
        """Settings of the statement."""
        return self._conf

    def release(self) -> None:
        """End the snapshot after its rows have been read.

        It clears its state, which is large for many files, because planners may refer to it longer.
        """
        self._release_readers()
        for seen in (self._versions, self._splits, self._tables, self._partitioned, self._files, self._statistics):
            seen.clear()
        self._published.clear()
        self._together.clear()
        self._lakes.clear()

    def give(self, stream: Table, files: Sequence[DataFile]) -> None:
        """Set the files that a stream's rows are read from."""
        self._given[stream.table_id] = tuple(files)

    def given_files(self, stream: Table) -> Sequence[DataFile]:
        """Return the files that a stream's rows are read from."""
        return self._given.get(stream.table_id, ())

    def give_splits(self, stream: Table, splits: Sequence[Split]) -> None:
        """Set the splits that the rows of a stream without files are read from."""
        self._given_splits[stream.table_id] = list(splits)

    def give_queries(self, stream: Table, queries: Sequence[LogicalPlan]) -> None:
        """Set the queries that compute a stream's rows, one after the other, when the stream is first read.

        They have the columns of the stream.
        """
        of_memory = ((CACHE_PROPERTY, CacheMode.MEMORY_ONLY.value),)
        self._given_queries[stream.table_id] = tuple(
            QueryTable(
                new_table_id(), "", stream.name, TableKind.TEMPORARY, stream.schema, properties=of_memory, query=one
            )
            for one in queries
        )

    def has_own_rows(self, table: Table) -> bool:
        """True if this snapshot was given its own rows for a table."""
        return any(table.table_id in one for one in (self._given, self._given_splits, self._given_queries))

    def handle_malformed(self, stream: Table, how: str) -> None:
        """Set how malformed rows of a stream are handled: COUNTED or SKIPPED."""
        self._malformed_handling[stream.table_id] = how

    def pin(self, table: Table) -> None:
        """Read a table's current state now; later writes are not seen, and `renew` fails."""
        self._is_pinned = True
        self.scan_source(table)

    def renew(self) -> None:
        """Forget all states, so that tables are read again. Raise TableChangedError if a table is pinned."""
        if self._is_pinned:
            raise TableChangedError("the blocks of a table were replaced while it was read")
        self.release()

    def capture(self, tables: Iterable[Table]) -> None:
        """See all tables that a statement reads, at one moment.

        Their files need not be listed for that: the catalog tells which are committed. Versions in memory are updated
        to that moment, and not beyond.
        """
        unseen = {table.table_id: table for table in tables if table.table_id not in self._together}
        self._together |= unseen
        if len(unseen) < _SEVERAL:
            return
        for table in unseen.values():
            self._enter(table)
        cached = [table for table in unseen.values() if self._table_cache.is_cached(table)]
        self._table_cache.load_all(cached)
        with self._table_cache.locked_versions(cached):
            self._published |= self.catalog.published(unseen.values())
            for table in cached:
                if table.table_id in self._published:
                    self._version(table)

    @property
    def has_computed(self) -> bool:
        """True if a plan over the snapshot reads rows computed only for it."""
        return bool(self._computed)

    def states(self) -> tuple[tuple[Table, TableState], ...]:
        """Return the tables read so far, with their states."""
        return tuple((table, self._state(table)) for table in list(self._tables.values()))

    def is_state(self, table: Table, state: TableState) -> bool:
        """True if the table is still in the given state."""
        now = self._state(table)
        if isinstance(now, PartitionedTable):
            return isinstance(state, PartitionedTable) and now.reads_same_as(state)
        if isinstance(now, LakeReads):
            return isinstance(state, LakeReads) and now.reads_same_as(state)
        return now == state if isinstance(state, tuple) else now is state

    def scan_source(self, table: Table) -> TableVersion | Sequence[Split] | HivePartitions:
        state = self._state(table)
        return state.for_planning() if isinstance(state, PartitionedTable | LakeReads) else state

    def file_source(self, table: Table) -> Sequence[Split] | HivePartitions:
        """Return the files of a table; for a cached version, those it was made from."""
        if table.location is None and not table.is_stream:
            raise UnsupportedError(f"{table.qualified_name} is in memory only and has no virtual columns")
        self._version(table)
        if isinstance(table, LakeTable):
            return self._lake_reads(table).for_planning()
        return self._partitions(table).of_files().for_planning() if table.is_partitioned else self._file_splits(table)

    def num_rows(self, table: Table) -> int | None:
        if table.is_view:
            return None
        version = self._version(table)
        if version is not None:
            return version.statistics.count()
        if isinstance(table, LakeTable):
            return table.snapshot.found.num_rows
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
        """Return the statistics of ANALYZE TABLE if they still hold."""
        if table.table_id not in self._statistics:
            self._statistics[table.table_id] = self._find_analyzed(table)
        return self._statistics[table.table_id]

    def _find_analyzed(self, table: Table) -> TableStatistics | None:
        from sharkpy.execution.tables.file_contents import all_partitions_statistics, table_statistics

        catalog = self.catalog
        # ANALYZE TABLE does not support streams.
        if table.location is None or table.is_stream or isinstance(table, FileTable | LakeTable):
            return None
        if table.is_partitioned:
            return all_partitions_statistics(catalog, table)
        self._file_splits(table)
        return table_statistics(catalog, table, self._files[table.table_id])

    def _state(self, table: Table) -> TableState:
        version = self._version(table)
        if version is not None:
            return version
        if isinstance(table, LakeTable):
            return self._lake_reads(table)
        return self._partitions(table) if table.is_partitioned else tuple(self._file_splits(table))

    def _lake_reads(self, table: LakeTable) -> LakeReads:
        if table.table_id not in self._lakes:
            self._lakes[table.table_id] = LakeReads(table, self._conf)
        return self._lakes[table.table_id]

    def _partitions(self, table: Table) -> PartitionedTable:
        if table.table_id not in self._partitioned:
            made = PartitionedTable(table, self._partitions_of(table), self._table_cache, self._conf, self.catalog)
            self._partitioned[table.table_id] = made
        return self._partitioned[table.table_id]

    def _partitions_of(self, table: Table) -> PartitionList:
        published = None if isinstance(table, FileTable) else self._published.get(table.table_id)
        return partitions_of(table, self.catalog) if published is None else published.partitions

    def _enter(self, table: Table) -> None:
        """Become a reader of the table's folder before it is listed."""
        if table.location is not None:
            self._entered.append(self.catalog.readers.enter(table.location))

    def _version(self, table: Table) -> TableVersion | None:
        if table.table_id not in self._versions:
            found = self._compute(table) if isinstance(table, QueryTable) else self._find_version(table)
            self._versions[table.table_id] = found
        return self._versions[table.table_id]

    def _find_version(self, table: Table) -> TableVersion | None:
        self._tables[table.table_id] = table
        self._enter(table)
        if table.is_stream:
            if self._needs_reader(table):
                self._give_now(table, self)
            queries = self._given_queries.get(table.table_id)
            return self._compute(*queries) if queries else None
        if isinstance(table, LakeTable):
            self.catalog.check_links(table, ())
            self.catalog.gate.check_outside(table.snapshot.found.outside, table.location)
        if self._table_cache.is_cached(table):
            self.catalog.check_links(table, self._partitions_of(table))
        return self._table_cache.version(table, self._published.get(table.table_id))

    def _compute(self, first: QueryTable, *others: QueryTable) -> TableVersion:
        version = self._table_cache.put(first, self._compute_table(first, self))
        self._computed.append(first)
        for one in others:
            version = self._table_cache.append(first, self._compute_table(one, self))
        return version

    def _file_splits(self, table: Table) -> list[Split]:
        if table.table_id not in self._splits:
            splits = self._list_splits(table)
            how = self._malformed_handling.get(table.table_id)
            self._splits[table.table_id] = splits if how is None else validated_splits(splits, how)
        return self._splits[table.table_id]

    def _list_splits(self, table: Table) -> list[Split]:
        if table.table_id in self._given_splits:
            return self._given_splits[table.table_id]
        if table.location is None:
            return []
        from sharkpy.sources.formats import file_splits

        given = self._given.get(table.table_id)
        if given is None or not table.is_stream:
            self.catalog.check_links(table, ())
        else:
            # The files found by a stream's reader are not links, but its folder may have become one.
            self.catalog.check_folders(table)
        if given is None:
            given = table_files(table, self.catalog, self._published.get(table.table_id))
        files = self._files[table.table_id] = given
        columns = columns_in_files(table.schema, files)
        return file_splits(files, columns, table.storage, self._conf, self.catalog.schema_text)

    def _needs_reader(self, stream: Table) -> bool:
        """True if the stream's reader must provide its current rows."""
        from sharkpy.catalog.stream_kinds import is_listed

        return not self.has_own_rows(stream) and not is_listed(stream)


@contextlib.contextmanager
def reading(new: Callable[[], QuerySnapshot], snapshot: QuerySnapshot | None) -> Iterator[QuerySnapshot]:
    """Yield `snapshot`, or a new one that ends with the body."""
    seen = new() if snapshot is None else snapshot
    try:
        yield seen
    finally:
        if snapshot is None:
            seen.release()


def _release_readers(
    readers: FolderReaders, entered: list[Reading], table_cache: TableCache, computed: list[QueryTable]
) -> None:
    while entered:
        readers.leave(entered.pop())
    while computed:
        table_cache.forget(computed.pop())


def _value(answer: object) -> PythonValue:
    return getattr(answer, "value", None)


def _bound(text: str | None, dtype: DataType) -> PythonValue:
    from sharkpy.sources.lenient_conversion import single_value

    value: PythonValue = None if text is None else single_value(text, dtype)[0].as_py()
    return value
