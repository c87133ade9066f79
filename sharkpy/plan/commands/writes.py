"""Rows and files become those of tables and folders."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.plan.commands.command import Command, PartitionSpec
from sharkpy.plan.logical import Aggregate, LogicalPlan


@dataclass(frozen=True, slots=True)
class Insert(Command):
    """INSERT INTO | OVERWRITE table; `query` yields the table's columns in order, already cast.

    For a partitioned table `partition` has all its partition columns; the query does not yield those that have
    their value there. `if_not_exists`: a Hive partition that is there stays as it is. `keeps_rows`: the rows are those
    that they replace, put together in other files.
    """

    table: Table
    query: LogicalPlan
    overwrite: bool
    partition: PartitionSpec = ()
    if_not_exists: bool = False
    keeps_rows: bool = False


@dataclass(frozen=True, slots=True)
class InsertDirectory(Command):
    """INSERT OVERWRITE DIRECTORY: the query's rows as files are all that the folder `path` holds afterwards."""

    path: str
    storage: StorageFormat
    query: LogicalPlan


@dataclass(frozen=True, slots=True)
class MultiInsert(Command):
    """FROM source INSERT … INSERT …: the queries have `source` in them as SharedRows."""

    source: LogicalPlan
    inserts: tuple[Insert | InsertDirectory, ...]


@dataclass(frozen=True, slots=True)
class StateInserts(Command):
    """Epoch of a continuous insert or sink with state.

    1. `added` is computed first, once: its rows are those of the table `rows`, which is in memory, in all queries.
    2. `kept` go into the state, and into the table of late rows; `given` to the targets, or outside.
    """

    added: LogicalPlan
    rows: Table
    kept: tuple[Insert, ...]
    given: tuple[Insert, ...]


@dataclass(frozen=True, slots=True)
class ChangeRows(Command):
    """UPDATE, DELETE or MERGE.

    1. `rows` are all rows of the table that were there and stay, as they are afterwards; None: they are not touched.
    2. If `marks_updates`, their last column, a BOOLEAN, tells which of them were updated; else none were.
    3. `before`, if rows may be deleted, counts the table's rows before the change.
    4. `changed`, of a partitioned table: the partition columns of the changed rows, as texts.
    5. `added` are rows that the table has besides.
    6. The queries have MERGE's `source` in them as SharedRows.
    """

    verb: str
    table: Table
    rows: LogicalPlan | None
    changed: LogicalPlan | None = None
    added: LogicalPlan | None = None
    source: LogicalPlan | None = None
    marks_updates: bool = False
    before: Aggregate | None = None


@dataclass(frozen=True, slots=True)
class LoadData(Command):
    """The files become the table's; where they have partition columns or another `storage`, their rows are inserted."""

    table: Table
    path: str
    is_local: bool
    overwrite: bool
    partition: PartitionSpec = ()
    storage: StorageFormat | None = None

    @property
    def is_insert(self) -> bool:
        return self.storage is not None or any(value is None for _, value in self.partition)


@dataclass(frozen=True, slots=True)
class ExportTable(Command):
    """`partition`: of the Hive partitions with these values alone."""

    table: Table
    path: str
    partition: PartitionSpec = ()


@dataclass(frozen=True, slots=True)
class ImportTable(Command):
    """`name` None: that of the exported table."""

    path: str
    database: str
    name: str | None
    is_external: bool
    partition: PartitionSpec = ()
    location: str | None = None
