"""Interface of a store of permanent databases, tables and Hive partitions, which the catalog uses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Database, Table
from sharkpy.catalog.partition_changes import PartitionChanges


class TableStore(Protocol):
    """Store of databases and tables. Names are in lower case. The catalog calls methods that change it inside
    `transaction`, after its own checks.

    1. `find` and `tables` return the same object as before for an unchanged table.
    2. `current` returns the current table with an id, whatever its name. `current_ones` returns several by id, without
       dropped ones, and at one moment if the store has transactions.
    """

    is_shared: bool
    """True if other systems read and write the same tables: files are plain (`Table.is_plain`), and dropped files are
    deleted at once.
    """

    def transaction(self) -> AbstractContextManager[None]: ...

    def find_database(self, name: str) -> Database | None: ...

    def database_names(self) -> list[str]: ...

    def database_location(self, name: str) -> str:
        """Return the folder of a new database whose statement names none."""

    def put_database(self, database: Database) -> None: ...

    def remove_database(self, name: str) -> None: ...

    def find(self, database: str, name: str) -> Table | None: ...

    def current(self, table: Table) -> Table | None: ...

    def current_ones(self, table_ids: Collection[str]) -> dict[str, Table]: ...

    def table_names(self, database: str) -> list[str]: ...

    def tables(self, database: str) -> list[Table]: ...

    def add(self, table: Table) -> None: ...

    def alter(
        self, old: Table, new: Table, kept: Sequence[tuple[HivePartition, HivePartition]], cascade: bool, /
    ) -> None:
        """Replace `old` by `new`. In each pair of `kept`, the second Hive partition replaces the first."""

    def remove(self, table: Table) -> None:
        """Remove a table and its Hive partitions. The caller removes their data."""

    def note_written(self, table: Table) -> None:
        """Record that the files of a table, or of its Hive partitions, have changed."""

    def partitions(self, table: Table) -> tuple[HivePartition, ...]: ...

    def placed_partitions(self) -> frozenset[str]:
        """Return the ids of the tables with Hive partitions outside their table's folder, as far as this store
        knows.
        """

    def partition_changes(self, table: Table) -> AbstractContextManager[PartitionChanges]: ...
