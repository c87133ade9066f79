"""Files of a lake table for one statement, chosen by predicates."""

from __future__ import annotations

from sharkpy.base.settings import Conf
from sharkpy.physical.hive_partitions import HivePartitions, PartitionRead
from sharkpy.sources.formats import file_splits
from sharkpy.sources.lake.lake_table import LakeTable


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
