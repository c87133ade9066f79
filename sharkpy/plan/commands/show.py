"""SHOW."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import Table
from sharkpy.plan.commands.command import Listing, PartitionSpec
from sharkpy.plan.logical import LogicalPlan


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
    """Purpose and default of a setting."""

    key: str


@dataclass(frozen=True, slots=True)
class ShowEmpty(Listing):
    """Listing that is always empty: locks, roles, privileges, transactions, indexes."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowQueries(Listing):
    """Statements that run or have ended, newest first; `pattern` is for their whole text."""

    pattern: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ShowQuery(Listing):
    """One statement with its plan and its error."""

    query_id: str


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
