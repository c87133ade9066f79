"""Commands that create, change and drop tables and views."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.catalog.model import BucketSpec, Constraint, SkewSpec, StorageFormat, Table, TableKind
from sharkpy.plan.commands.command import Command, PartitionSpec, Properties
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Schema


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
    """DROP TABLE and DROP VIEW. `table` None: it does not exist, and IF EXISTS (or Hive's default) allows that."""

    table: Table | None


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
