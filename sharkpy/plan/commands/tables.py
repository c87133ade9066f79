"""Tables and views are made, changed and dropped."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.catalog.model import BucketSpec, Constraint, SkewSpec, StorageFormat, Table, TableKind
from sharkpy.plan.commands.command import Command, PartitionSpec, Properties
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class CreateTable(Command):
    """CREATE TABLE, its LIKE form (schema already copied) and, with `query`, CREATE TABLE AS SELECT.

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
    """Of a lake table."""


@dataclass(frozen=True, slots=True)
class CreateView(Command):
    """`text` is the view's query, `written` as it was written; `database` that it was written in resolves its names."""

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
    """Last columns of `schema` that are declared as partition columns, which means nothing to queries."""
    written: str | None = None


@dataclass(frozen=True, slots=True)
class DropTable(Command):
    """DROP TABLE and DROP VIEW; `table` None: it does not exist and IF EXISTS (or Hive's default) allows that."""

    table: Table | None


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

    `is_cascading`: Hive partitions that have columns of their own take the table's again. `renamed`: names of a column,
    before and after.
    """

    table: Table
    altered: Table
    is_cascading: bool = False
    renamed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TouchTable(Command):
    """ALTER TABLE TOUCH: an error where the table's Hive partition is missing."""

    table: Table
    partition: PartitionSpec | None = None
