"""Commands on databases, tables, views, Hive partitions, cached tables and statistics."""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.catalog.model import BucketSpec, Constraint, Database, SkewSpec, StorageFormat, Table, TableKind
from sharkpy.plan.commands.command import Command, PartitionFilter, PartitionSpec, Properties
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Schema


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
class AlterDatabase(Command):
    database: Database
    altered: Database


@dataclass(frozen=True, slots=True)
class CreateTable(Command):
    """CREATE TABLE, its LIKE form (with the schema already copied) and, with `query`, CREATE TABLE AS SELECT.

    `storage` None: the default format. `keeps_location`: a table with LOCATION is external, as in Spark's form with
    USING.
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
    keeps_location: bool = False
    divided_by: tuple[PartitionField, ...] = ()
    """Partition fields of a lake table."""
    clone: Table | None = None
    """The table whose rows the new one gets, perhaps at an earlier version."""


@dataclass(frozen=True, slots=True)
class CreateView(Command):
    """CREATE VIEW. `text` is the view's query, `written` its original source. Names are resolved in the view's
    `database`.
    """

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
    """Last columns of `schema` that are declared as partition columns. Queries ignore the declaration."""
    written: str | None = None


@dataclass(frozen=True, slots=True)
class DropTable(Command):
    """DROP TABLE and DROP VIEW. `table` None: it does not exist, and IF EXISTS (or Hive's default) allows that.

    `is_purged`: PURGE, so that it cannot be restored.
    """

    table: Table | None
    is_purged: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable(Command):
    """TRUNCATE. `partition`: only the Hive partitions with these values."""

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
    """A change of a table that leaves its data unchanged: columns, format, location, buckets, constraints, owner.

    `is_cascading`: Hive partitions with columns of their own get the table's. `renamed`: the old and new name of a
    column.
    """

    table: Table
    altered: Table
    is_cascading: bool = False
    renamed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TouchTable(Command):
    """ALTER TABLE TOUCH: an error if the table's Hive partition is missing."""

    table: Table
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class AddPartitions(Command):
    """ALTER TABLE ADD PARTITION: each partition with its folder, if given."""

    table: Table
    partitions: tuple[tuple[PartitionSpec, str | None], ...]
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class AlterPartition(Command):
    """New location, storage format or columns of a Hive partition. None: unchanged."""

    table: Table
    partition: PartitionSpec
    location: str | None = None
    storage: StorageFormat | None = None
    serde_properties: Properties = ()
    columns: Schema | None = None


@dataclass(frozen=True, slots=True)
class DropPartitions(Command):
    """ALTER TABLE DROP PARTITION: the partitions that match any of `filters`."""

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
    """Move the Hive partitions of `source` with these values, and their data, to the table."""

    table: Table
    source: Table
    partition: PartitionSpec


@dataclass(frozen=True, slots=True)
class RepairTable(Command):
    """MSCK REPAIR TABLE: register folders without a partition (`adds`), drop partitions without a folder (`drops`).

    `is_dry`: MSCK TABLE, which only reports them. The result has a line for each change, and for each skipped folder.
    """

    table: Table
    adds: bool
    drops: bool
    is_dry: bool = False

    @property
    def yields_rows(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class CacheTable(Command):
    """CACHE [LAZY] TABLE t. CACHE TABLE t AS SELECT is bound as a MEMORY_ONLY temporary CreateTable."""

    table: Table
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class UncacheTable(Command):
    """UNCACHE TABLE. `table` None: it does not exist and IF EXISTS is given."""

    table: Table | None


@dataclass(frozen=True, slots=True)
class ClearCache(Command):
    pass


@dataclass(frozen=True, slots=True)
class AnalyzeTable(Command):
    """ANALYZE TABLE. `query` computes row counts and figures of `columns`, per Hive partition with these values.

    It yields the partition columns, the count, and for each of `columns` the figures of
    `sharkpy.sql.statements.bind_statistics`. None: NOSCAN, which only reads the sizes of files.
    """

    table: Table
    partition: PartitionSpec = ()
    columns: tuple[str, ...] = ()
    query: LogicalPlan | None = None


@dataclass(frozen=True, slots=True)
class UpdateStatistics(Command):
    """ALTER TABLE UPDATE STATISTICS [FOR COLUMN c] SET (…). `figures` have Hive's names."""

    table: Table
    partition: PartitionSpec
    column: str | None
    figures: Properties
