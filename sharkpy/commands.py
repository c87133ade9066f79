"""Statements that are not queries, bound: names resolved, defaults filled in, types parsed."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.logical import LogicalPlan
from sharkpy.types import Field, Schema

Properties = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Command:
    """Base of commands. A SHOW or DESCRIBE yields rows; the others yield none."""


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
    table: Table


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
class Insert(Command):
    """INSERT INTO | OVERWRITE table; `query` yields the table's columns in order, already cast."""

    table: Table
    query: LogicalPlan
    overwrite: bool


@dataclass(frozen=True, slots=True)
class LoadData(Command):
    table: Table
    path: str
    is_local: bool
    overwrite: bool


@dataclass(frozen=True, slots=True)
class ShowDatabases(Command):
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowTables(Command):
    database: str
    pattern: str | None = None
    views_only: bool = False


@dataclass(frozen=True, slots=True)
class ShowColumns(Command):
    table: Table


@dataclass(frozen=True, slots=True)
class ShowFunctions(Command):
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Command):
    table: Table


@dataclass(frozen=True, slots=True)
class ShowTableProperties(Command):
    table: Table
    key: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeTable(Command):
    """DESCRIBE [FORMATTED | EXTENDED] t [column]; `style` is "", "formatted" or "extended"."""

    table: Table
    style: str = ""
    column: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeDatabase(Command):
    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeFunction(Command):
    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class SetConf(Command):
    """SET key=value; SET key and SET alone list settings."""

    key: str | None = None
    value: str | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class ResetConf(Command):
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Explain(Command):
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
