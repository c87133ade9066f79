"""Changes to a table's Hive partitions within one transaction of the catalog."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from sharkpy.base.errors import BindError
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.epoch_store import EpochStore
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.catalog.serialize import form_from_text, form_to_text
from sharkpy.values.types import Schema


def read_partitions(file: CatalogFile, table: Table) -> tuple[HivePartition, ...]:
    """Return the Hive partitions of a table by name, all from one state of the catalog."""
    sql = "SELECT partition_id, name, folder, newest, form FROM partition_ WHERE table_id = ? ORDER BY name"
    rows, absolute = file.rows(sql, table.table_id), file.locations.absolute
    return tuple(
        HivePartition(number, name, None if folder is None else absolute(folder), newest, *form_from_text(form))
        for number, name, folder, newest, form in rows
    )


class PartitionChanges:
    """Changes of one transaction to the Hive partitions of `table`. `known` has the current ones by name.

    For a continuous table, the earlier state is stored for its kept epochs.
    """

    def __init__(self, file: CatalogFile, table: Table) -> None:
        self._file = file
        self.table = table
        self.known = {one.name: one for one in read_partitions(file, table)}

    def add(
        self,
        name: str,
        location: str | None = None,
        newest: int | None = None,
        storage: StorageFormat | None = None,
        columns: Schema | None = None,
    ) -> HivePartition:
        """Add a Hive partition. Raise BindError 42710 if the name exists."""
        self._check_free(name)
        sql = "INSERT INTO partition_ (table_id, name, folder, newest, form) VALUES (?, ?, ?, ?, ?)"
        form = form_to_text(storage, columns)
        self._file.run(sql, self.table.table_id, name, self._stored(location), newest, form)
        ((partition_id,),) = self._file.rows("SELECT last_insert_rowid()")
        self._note(partition_id, None)
        self.known[name] = HivePartition(partition_id, name, location, newest, storage, columns)
        return self.known[name]

    def alter(self, old: HivePartition, new: HivePartition) -> None:
        """Replace `old` by `new`, under the same id. Raise BindError 42710 if another one has its name."""
        if new.name != old.name:
            self._check_free(new.name)
        sql = "UPDATE partition_ SET name = ?, folder = ?, newest = ?, form = ? WHERE partition_id = ?"
        form = form_to_text(new.storage, new.columns)
        if old.newest is not None and new.newest != old.newest:
            self._note(old.partition_id, old.newest)
        self._file.run(sql, new.name, self._stored(new.location), new.newest, form, old.partition_id)
        del self.known[old.name]
        self.known[new.name] = dataclasses.replace(new, partition_id=old.partition_id)

    def drop(self, partitions: Iterable[HivePartition], *, with_data: bool) -> None:
        """Forget Hive partitions. `with_data` lists their folders as garbage (see `Catalog.collect_garbage`)."""
        for one in partitions:
            self._file.run("DELETE FROM partition_ WHERE partition_id = ?", one.partition_id)
            if with_data:
                self._file.add_garbage(one.folder(self.table))
            del self.known[one.name]

    def _check_free(self, name: str) -> None:
        if name in self.known:
            raise BindError(f"{self.table.qualified_name} has the partition {name} already", sqlstate="42710")

    def _note(self, partition_id: int, newest: int | None) -> None:
        if self.table.continuous:
            EpochStore(self._file).note_change(self.table.continuous, partition_id, newest)

    def _stored(self, location: str | None) -> str | None:
        return None if location is None else self._file.locations.stored(location)
