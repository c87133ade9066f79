"""Changes to the Hive partitions of a metastore's table, collected until the transaction ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.catalog.partition_changes import PartitionChanges
from sharkpy.values.types import Schema


class MetastoreChanges(PartitionChanges):
    """Collected changes. A renamed Hive partition is dropped and added, since the metastore would move its folder
    itself.

    `added` has pairs of the former name (the current one for a new Hive partition) and the Hive partition.
    """

    def __init__(self, file: CatalogFile, table: Table) -> None:
        super().__init__(file, table)
        self._added: dict[str, tuple[str, HivePartition]] = {}
        self._altered: dict[str, HivePartition] = {}
        self.dropped: list[str] = []

    @property
    def added(self) -> list[tuple[str, HivePartition]]:
        return list(self._added.values())

    @property
    def altered(self) -> list[HivePartition]:
        return list(self._altered.values())

    def add(
        self,
        name: str,
        location: str | None = None,
        newest: int | None = None,  # noqa: ARG002 - other systems' files have no generations
        storage: StorageFormat | None = None,
        columns: Schema | None = None,
    ) -> HivePartition:
        one = super().add(name, location, None, storage, columns)
        self._added[name] = (name, one)
        return one

    def alter(self, old: HivePartition, new: HivePartition) -> None:
        new = dataclasses.replace(new, newest=None)
        super().alter(old, new)
        if old.name in self._added:
            was, _ = self._added.pop(old.name)
            self._added[new.name] = (was, new)
        elif old.name == new.name:
            self._altered[new.name] = new
        else:
            self.dropped.append(old.name)
            self._added[new.name] = (old.name, new)

    def drop(self, partitions: Iterable[HivePartition], *, with_data: bool) -> None:
        gone = list(partitions)
        super().drop(gone, with_data=with_data)
        for one in gone:
            self._altered.pop(one.name, None)
            if self._added.pop(one.name, None) is None:
                self.dropped.append(one.name)
