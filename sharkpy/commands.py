"""Statements that are not queries, bound: names resolved, defaults filled in, types parsed."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import BucketSpec, StorageFormat, Table, TableKind
from sharkpy.logical import LogicalPlan
from sharkpy.types import Field, Schema

Properties = tuple[tuple[str, str], ...]
PartitionSpec = tuple[tuple[str, str | None], ...]
"""PARTITION (ds='x', hr): columns with their values as written, in the table's order; None where there is none."""
PartitionFilter = tuple[tuple[str, str, str], ...]
"""PARTITION (ds < 'x', hr = 1): column, comparison, value as written; all of them hold."""


@dataclass(frozen=True, slots=True)
class Command:
    """Base of commands, which yield no rows but for listings."""

    @property
    def yields_rows(self) -> bool:
        """Whether the answer is rows, though there may be none of them: known before the command is carried out."""
        return False


@dataclass(frozen=True, slots=True)
class Listing(Command):
    """SHOW, DESCRIBE and EXPLAIN."""

    @property
    def yields_rows(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class CreateDatabase(Command):
    name: str
    if_not_exists: bool
    comment: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class DropDatabase(Command):
    name: str
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True)
class UseDatabase(Command):
    name: str


@dataclass(frozen=True, slots=True)
class CreateTable(Command):
    """CREATE TABLE, its LIKE form (schema already copied) and, with `query`, CREATE TABLE AS SELECT.

    `storage` None: the default format.
    """

    database: str
    name: str
    kind: TableKind
    schema: Schema
    if_not_exists: bool
    storage: StorageFormat | None = None
    location: str | None = None
    properties: Properties = ()
    comment: str | None = None
    query: LogicalPlan | None = None
    partition_columns: tuple[str, ...] = ()
    buckets: BucketSpec | None = None
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateView(Command):
    """`text` is the view's query as written; `database` that it was written in resolves its names."""

    database: str
    name: str
    schema: Schema
    text: str
    if_not_exists: bool
    or_replace: bool
    temporary: bool
    comment: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True)
class DropTable(Command):
    """DROP TABLE and DROP VIEW; `table` None: it does not exist and IF EXISTS (or Hive's default) allows that."""

    table: Table | None
    purge: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable(Command):
    """`partition`: of the Hive partitions with these values alone."""

    table: Table
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class RenameTable(Command):
    table: Table
    database: str
    name: str


@dataclass(frozen=True, slots=True)
class SetTableProperties(Command):
    table: Table
    properties: Properties
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AddColumns(Command):
    table: Table
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class AddPartitions(Command):
    """ALTER TABLE ADD PARTITION: each with its folder, if given."""

    table: Table
    partitions: tuple[tuple[PartitionSpec, str | None], ...]
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropPartitions(Command):
    """ALTER TABLE DROP PARTITION: those that any of `filters` takes."""

    table: Table
    filters: tuple[PartitionFilter, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenamePartition(Command):
    table: Table
    old: PartitionSpec
    new: PartitionSpec


@dataclass(frozen=True, slots=True)
class SetPartitionLocation(Command):
    table: Table
    partition: PartitionSpec
    location: str


@dataclass(frozen=True, slots=True)
class RepairTable(Command):
    """MSCK REPAIR TABLE: register the folders that are there (`adds`), forget those that are not (`drops`)."""

    table: Table
    adds: bool
    drops: bool


@dataclass(frozen=True, slots=True)
class Insert(Command):
    """INSERT INTO | OVERWRITE table; `query` yields the table's columns in order, already cast.

    For a partitioned table `partition` has all its partition columns; the query does not yield those that have
    their value there.
    """

    table: Table
    query: LogicalPlan
    overwrite: bool
    partition: PartitionSpec = ()


@dataclass(frozen=True, slots=True)
class LoadData(Command):
    table: Table
    path: str
    is_local: bool
    overwrite: bool
    partition: PartitionSpec = ()


@dataclass(frozen=True, slots=True)
class ShowDatabases(Listing):
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowTables(Listing):
    database: str
    pattern: str | None = None
    views_only: bool = False


@dataclass(frozen=True, slots=True)
class ShowTableExtended(Listing):
    """Facts about the tables whose names `pattern` takes."""

    database: str
    pattern: str


@dataclass(frozen=True, slots=True)
class ShowColumns(Listing):
    table: Table


@dataclass(frozen=True, slots=True)
class ShowFunctions(Listing):
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Listing):
    table: Table


@dataclass(frozen=True, slots=True)
class ShowTableProperties(Listing):
    table: Table
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions(Listing):
    """`partition`: those with these values alone."""

    table: Table
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class DescribeTable(Listing):
    """DESCRIBE [FORMATTED | EXTENDED] t [column | PARTITION (…)]; `style` is "", "formatted" or "extended"."""

    table: Table
    style: str = ""
    column: str | None = None
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class DescribeDatabase(Listing):
    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeFunction(Listing):
    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class SetConf(Command):
    """SET key=value; SET key and SET alone list settings."""

    key: str | None = None
    value: str | None = None
    verbose: bool = False

    @property
    def yields_rows(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class ResetConf(Command):
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Explain(Listing):
    """EXPLAIN [EXTENDED | ANALYZE] of a query or of a command that runs one."""

    statement: LogicalPlan | Command
    analyze: bool = False
    extended: bool = False


@dataclass(frozen=True, slots=True)
class CacheTable(Command):
    """CACHE [LAZY] TABLE t; CACHE TABLE t AS SELECT is bound as a MEMORY_ONLY temporary CreateTable."""

    table: Table
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class UncacheTable(Command):
    """`table` None: it does not exist and IF EXISTS was given."""

    table: Table | None


@dataclass(frozen=True, slots=True)
class ClearCache(Command):
    pass


Statement = LogicalPlan | Command
