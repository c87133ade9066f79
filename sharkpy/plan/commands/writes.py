"""Commands that write rows and files to tables and folders; GENERATE, which calls functions of whole tables."""

from __future__ import annotations

from typing import ClassVar

from sharkpy.base.records import dataclass
from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.plan.commands.command import Command, PartitionSpec
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import Aggregate, LogicalPlan


@dataclass(frozen=True, slots=True)
class Insert(Command):
    """INSERT INTO | OVERWRITE table. `query` yields the table's columns in order, already cast.

    For a partitioned table, `partition` has all its partition columns. The query does not yield columns with a value
    there. `if_not_exists`: an existing Hive partition is left unchanged. `keeps_rows`: the statement rewrites existing
    rows to other files.
    """

    table: Table
    query: LogicalPlan
    overwrite: bool
    partition: PartitionSpec = ()
    if_not_exists: bool = False
    keeps_rows: bool = False


@dataclass(frozen=True, slots=True)
class InsertDirectory(Command):
    """INSERT OVERWRITE DIRECTORY: replace the contents of the folder `path` by files with the query's rows."""

    path: str
    storage: StorageFormat
    query: LogicalPlan


@dataclass(frozen=True, slots=True)
class MultiInsert(Command):
    """FROM source INSERT … INSERT …: the queries contain `source` as SharedRows."""

    source: LogicalPlan
    inserts: tuple[Insert | InsertDirectory, ...]


@dataclass(frozen=True, slots=True)
class StateInserts(Command):
    """An epoch of a continuous insert or sink with state.

    1. `added` is computed first, once. All queries read its rows as the table `rows`, which is in memory.
    2. `kept` write to the state, and to the table of late rows. `given` write to the targets, or outside.
    """

    added: LogicalPlan
    rows: Table
    kept: tuple[Insert, ...]
    given: tuple[Insert, ...]


@dataclass(frozen=True, slots=True)
class ChangeRows(Command):
    """UPDATE, DELETE or MERGE.

    1. `rows` are all existing rows that remain, after the change. None: they are not rewritten.
    2. If `marks_updates`, their last column, a BOOLEAN, marks the updated rows. Otherwise none were updated.
    3. `before`, if rows may be deleted, counts the table's rows before the change.
    4. `changed`, for a partitioned table: the partition columns of the changed rows, as texts.
    5. `added` are new rows of the table.
    6. The queries contain MERGE's `source` as SharedRows.
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
    """LOAD DATA: move files into the table. If they have partition columns or another `storage`, their rows are
    inserted.
    """

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
    """EXPORT TABLE. `partition`: only the Hive partitions with these values."""

    table: Table
    path: str
    partition: PartitionSpec = ()


@dataclass(frozen=True, slots=True)
class ImportTable(Command):
    """IMPORT TABLE. `name` None: the name of the exported table."""

    path: str
    database: str
    name: str | None
    is_external: bool
    partition: PartitionSpec = ()
    location: str | None = None


@dataclass(frozen=True, slots=True)
class GenerateArgument:
    """An argument. `value` is a query, or an expression without columns. `text` is its source. `name` None: by
    position.
    """

    name: str | None
    value: LogicalPlan | Expr
    text: str


@dataclass(frozen=True, slots=True)
class GenerateTable(Command):
    """GENERATE: call a function of whole tables. Its result becomes the table `name`, or rows if that is None.

    `function` is the name of a built-in function or the key of a user function.
    """

    verb: ClassVar[str] = "Generate"
    function: str
    arguments: tuple[GenerateArgument, ...]
    database: str | None = None
    name: str | None = None

    @property
    def yields_rows(self) -> bool:
        return self.name is None

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return tuple(one.value for one in self.arguments if isinstance(one.value, LogicalPlan))
