"""Reads of chosen parts of a table for one statement: Hive partitions, or the files of a lake table."""

from __future__ import annotations

from sharkpy.base.settings import Conf
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import Table
from sharkpy.catalog.partition_list import PartitionList
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.execution.tables.table_cache import TableCache
from sharkpy.physical.hive_partitions import HivePartitions, PartitionRead
from sharkpy.sources.formats import file_splits
from sharkpy.sources.lake.lake_table import LakeTable


class PartitionedTable:
    """Hive partitions of a table when this was made, and the reads of each choice of them."""

    def __init__(
        self,
        table: Table,
        partitions: PartitionList,
        cache: TableCache | None,
        conf: Conf,
        catalog: Catalog,
    ) -> None:
        """Make a view; without `cache` everything is read from files. `catalog` is the session's."""
        self._table = table
        self._partitions = partitions
        self._cache = cache
        self._conf = conf
        self._catalog = catalog
        self._reads: dict[tuple[str, ...], PartitionRead] = {}
        self._of_files: PartitionedTable | None = None

    def for_planning(self) -> HivePartitions:
        return HivePartitions.of(self._partitions.names, self._table.partition_schema, self.read)

    def of_files(self) -> PartitionedTable:
        """Return the same Hive partitions without blocks in memory, which have no virtual columns."""
        if self._of_files is None:
            self._of_files = PartitionedTable(self._table, self._partitions, None, self._conf, self._catalog)
        return self._of_files

    def read(self, names: tuple[str, ...]) -> PartitionRead:
        if names not in self._reads:
            self._reads[names] = self._read(names)
        return self._reads[names]

    def reads_same_as(self, older: PartitionedTable) -> bool:
        """True if all reads of `older` would be the same now. Reads depend on the names, and on the chosen ones."""
        now, then = self._partitions.names, older._partitions.names
        if now is not then and now.texts != then.texts:
            return False
        if older._of_files is not None and not self.of_files().reads_same_as(older._of_files):
            return False
        return all(_is_same_read(self.read(names), read) for names, read in list(older._reads.items()))

    def _read(self, names: tuple[str, ...]) -> PartitionRead:
        version, held = None, frozenset[str]()
        if self._cache is not None:
            version, held = self._cache.partial_version(self._table, self._partitions, names)
        rest = [one for one in map(self._partitions.find, names) if one is not None and one.name not in held]
        self._catalog.check_links(self._table, rest)
        files = partition_files(self._table, rest, self._catalog)
        table, schema_text = self._table, self._catalog.schema_text
        splits = file_splits(files, table.data_schema, table.storage, self._conf, schema_text)
        return PartitionRead(version if held & set(names) else None, tuple(splits))


def _is_same_read(now: PartitionRead, then: PartitionRead) -> bool:
    return now.version is then.version and now.splits == then.splits


class LakeReads:
    """Files of a table's snapshot, and the reads of some of them, one for each choice.

    They are planned like Hive partitions: each file is one, under its path, with the column statistics of the table's
    metadata. So files excluded by a predicate are not opened.
    """

    def __init__(self, table: LakeTable, conf: Conf) -> None:
        self._table = table
        self._conf = conf
        self._reads: dict[tuple[str, ...], PartitionRead] = {}

    def for_planning(self) -> HivePartitions:
        found, schema = self._table.snapshot.found, self._table.schema
        names = tuple(file.path for file in found.files)
        return HivePartitions(names, schema, self.read, found.statistics, "files")

    def read(self, names: tuple[str, ...]) -> PartitionRead:
        if names not in self._reads:
            wanted = set(names)
            found = self._table.snapshot
            files = found.files([file for file in found.found.files if file.path in wanted])
            splits = file_splits(files, self._table.schema, self._table.storage, self._conf)
            self._reads[names] = PartitionRead(None, tuple(splits))
        return self._reads[names]

    def reads_same_as(self, older: LakeReads) -> bool:
        """True if all reads of `older` would be the same now: the files of a snapshot never change."""
        return self._table.snapshot is older._table.snapshot
