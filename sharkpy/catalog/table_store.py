"""What the catalog asks of the place where permanent databases, tables and Hive partitions are kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Database, Table
from sharkpy.catalog.partition_changes import PartitionChanges


class TableStore(Protocol):
    """Names are in lower case. What changes is called inside `transaction`, after the catalog's own checks.

    1. `find` and `tables` give the same object as before for a table that has not changed.
    2. `current` is the table with an id as it is now, whatever its name has become.
    """

    is_shared: bool
    """Others read and write the same tables: their files are plain (`Table.is_plain`), and dropped ones go at once."""

    def transaction(self) -> AbstractContextManager[None]: ...

    def find_database(self, name: str) -> Database | None: ...

    def database_names(self) -> list[str]: ...

    def database_location(self, name: str) -> str:
        """Where a new database lies that does not say."""

    def put_database(self, database: Database) -> None: ...

    def remove_database(self, name: str) -> None: ...

    def find(self, database: str, name: str) -> Table | None: ...

    def current(self, table: Table) -> Table | None: ...

    def table_names(self, database: str) -> list[str]: ...

    def tables(self, database: str) -> list[Table]: ...

    def add(self, table: Table) -> None: ...

    def alter(
        self, old: Table, new: Table, kept: Sequence[tuple[HivePartition, HivePartition]], cascade: bool, /
    ) -> None:
        """`new` in the place of `old`; of each pair of `kept` the second Hive partition in that of the first."""

    def remove(self, table: Table) -> None:
        """With its Hive partitions; their data is the caller's."""

    def note_written(self, table: Table) -> None:
        """Its files, or those of Hive partitions, are others now."""

    def partitions(self, table: Table) -> tuple[HivePartition, ...]: ...

    def partition_changes(self, table: Table) -> AbstractContextManager[PartitionChanges]: ...
