"""Statements that are not queries, bound: names resolved, defaults filled in, types parsed."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.functions import Macro
from sharkpy.catalog.model import BucketSpec, Constraint, Database, SkewSpec, StorageFormat, Table, TableKind
from sharkpy.logical import LogicalPlan, with_source
from sharkpy.types import Schema

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
    properties: Properties = ()


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
    skew: SkewSpec | None = None
    constraints: tuple[Constraint, ...] = ()


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
    partition_columns: tuple[str, ...] = ()
    """Those of `schema`, its last ones, that are told to be the partition columns: it means nothing to queries."""


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
class AlterTable(Command):
    """Other facts about a table whose data stays as it is: columns, format, location, buckets, constraints, owner.

    `is_cascading`: Hive partitions that have columns of their own take the table's again.
    """

    table: Table
    altered: Table
    is_cascading: bool = False


@dataclass(frozen=True, slots=True)
class AlterPartition(Command):
    """Where a Hive partition lies, how its files are read, which columns they have; None: as it is."""

    table: Table
    partition: PartitionSpec
    location: str | None = None
    storage: StorageFormat | None = None
    serde_properties: Properties = ()
    columns: Schema | None = None


@dataclass(frozen=True, slots=True)
class TouchTable(Command):
    """ALTER TABLE TOUCH: an error where the table's Hive partition is missing."""

    table: Table
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class AlterDatabase(Command):
    database: Database
    altered: Database


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
class ExchangePartition(Command):
    """Hive partitions of `source` with these values, and their data, become the table's."""

    table: Table
    source: Table
    partition: PartitionSpec


@dataclass(frozen=True, slots=True)
class RepairTable(Command):
    """MSCK REPAIR TABLE: register the folders that are there (`adds`), forget those that are not (`drops`).

    `is_dry`: MSCK TABLE, which only tells of them. The answer has a line for each change, and for what is left alone.
    """

    table: Table
    adds: bool
    drops: bool
    is_dry: bool = False

    @property
    def yields_rows(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Insert(Command):
    """INSERT INTO | OVERWRITE table; `query` yields the table's columns in order, already cast.

    For a partitioned table `partition` has all its partition columns; the query does not yield those that have
    their value there. `if_not_exists`: a Hive partition that is there stays as it is.
    """

    table: Table
    query: LogicalPlan
    overwrite: bool
    partition: PartitionSpec = ()
    if_not_exists: bool = False


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
class ChangeRows(Command):
    """UPDATE, DELETE or MERGE.

    1. `rows` are all rows of the table that were there and stay, as they are afterwards; None: they are not touched.
    2. `changed`, of a partitioned table: the partition columns of the changed rows, as texts.
    3. `added` are rows that the table has besides.
    4. The queries have MERGE's `source` in them as SharedRows.
    """

    verb: str
    table: Table
    rows: LogicalPlan | None
    changed: LogicalPlan | None = None
    added: LogicalPlan | None = None
    source: LogicalPlan | None = None


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
class AddResources(Command):
    """ADD JAR | FILE | ARCHIVE with paths as they are written."""

    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListResources(Listing):
    """Of `paths` alone, where there are any."""

    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeleteResources(Command):
    """All of the kind where there are no `paths`."""

    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreateFunction(Command):
    """`target` is module.name or a Java class; `database` None: a temporary function."""

    database: str | None
    name: str
    target: str
    resources: tuple[tuple[str, str], ...]
    is_temporary: bool
    if_not_exists: bool
    or_replace: bool


@dataclass(frozen=True, slots=True)
class DropFunction(Command):
    """`database` None: a temporary function."""

    database: str | None
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class ReloadFunctions(Command):
    pass


@dataclass(frozen=True, slots=True)
class CreateMacro(Command):
    macro: Macro


@dataclass(frozen=True, slots=True)
class DropMacro(Command):
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class AnalyzeTable(Command):
    """ANALYZE TABLE: `query` counts the rows and figures of `columns`, for each Hive partition with these values.

    It yields the partition columns, the count, and `columns` times the figures of
    `sharkpy.sql.statements.bind_analyze`; None: NOSCAN, files alone are looked at.
    """

    table: Table
    partition: PartitionSpec = ()
    columns: tuple[str, ...] = ()
    query: LogicalPlan | None = None


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


@dataclass(frozen=True, slots=True)
class UpdateStatistics(Command):
    """ALTER TABLE UPDATE STATISTICS [FOR COLUMN c] SET (…): `figures` under Hive's names."""

    table: Table
    partition: PartitionSpec
    column: str | None
    figures: Properties


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
    """Facts about the tables whose names `pattern` takes; `partition`: about one Hive partition of a table."""

    database: str
    pattern: str
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns(Listing):
    table: Table
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowFunctions(Listing):
    """`is_regex`: the pattern, written without LIKE, is a regular expression."""

    pattern: str | None = None
    is_regex: bool = False


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Listing):
    table: Table


@dataclass(frozen=True, slots=True)
class ShowCreateDatabase(Listing):
    name: str


@dataclass(frozen=True, slots=True)
class ShowConf(Listing):
    """What a setting is for, and its default."""

    key: str


@dataclass(frozen=True, slots=True)
class ShowEmpty(Listing):
    """A listing of what there is none of here: locks, roles, privileges, transactions, indexes."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowTableProperties(Listing):
    table: Table
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions(Listing):
    """`partition`: those with these values alone.

    `query`, with WHERE, ORDER BY and LIMIT, is over the rows that `names` stands for: the values of the partition
    columns and the name; it yields names.
    """

    table: Table
    partition: PartitionSpec | None = None
    query: LogicalPlan | None = None
    names: LogicalPlan | None = None


@dataclass(frozen=True, slots=True)
class DescribeTable(Listing):
    """DESCRIBE [FORMATTED | EXTENDED] t [PARTITION (…)] [column.field…]; `style` is "", "formatted" or "extended"."""

    table: Table
    style: str = ""
    column: tuple[str, ...] = ()
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class DescribeQuery(Listing):
    query: LogicalPlan


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
    """EXPLAIN of a query or command; `form` is the word behind EXPLAIN, in lower case.

    `tree`: the parsed query as text, for AST. `views`: those that the statement names, and those in these.
    """

    statement: LogicalPlan | Command
    analyze: bool = False
    extended: bool = False
    form: str = ""
    tree: str = ""
    views: tuple[Table, ...] = ()


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


def queries_of(command: Command) -> tuple[LogicalPlan, ...]:
    """The queries that a command runs, each with the source that they may share."""
    found: tuple[LogicalPlan | None, ...]
    match command:
        case MultiInsert(_, inserts):
            found = tuple(one.query for one in inserts)
        case ChangeRows():
            found = (command.changed, command.rows, command.added)
        case _:
            found = (getattr(command, "query", None),)
    source = getattr(command, "source", None)
    return tuple(with_source(query, source) for query in found if query is not None)
