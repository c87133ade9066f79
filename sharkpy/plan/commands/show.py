"""SHOW, DESCRIBE, EXPLAIN, SET and RESET."""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.catalog.model import Table
from sharkpy.plan.commands.command import Command, Listing, PartitionSpec
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
    """Facts about the tables that match `pattern`. With `partition`, about one Hive partition of a table."""

    database: str
    pattern: str
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns(Listing):
    table: Table
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowFunctions(Listing):
    """SHOW FUNCTIONS. `is_regex`: the pattern, written without LIKE, is a regular expression."""

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
    """Description and default of a setting."""

    key: str


@dataclass(frozen=True, slots=True)
class ShowSettings(Listing):
    """Known settings, with the session's values; `pattern` is for their names and synonyms."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowEmpty(Listing):
    """A listing that is always empty: locks, roles, privileges, transactions, indexes."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowQueries(Listing):
    """Running and ended statements, newest first. `pattern` must match their whole text."""

    pattern: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ShowQuery(Listing):
    """One statement with its plan and its error."""

    query_id: str


@dataclass(frozen=True, slots=True)
class KillQuery(Command):
    """Cancel running statements of any session."""

    query_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowTableProperties(Listing):
    table: Table
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions(Listing):
    """SHOW PARTITIONS. `partition`: only partitions with these values.

    `query`, with WHERE, ORDER BY and LIMIT, reads the rows that `names` represents: the values of the partition columns
    and the name. It returns names.
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
class Explain(Listing):
    """EXPLAIN of a query or command. `form` is the word after EXPLAIN, in lower case.

    `tree`: the parsed query as text, for AST. `views`: the views in the statement, and the views that they read.
    """

    statement: LogicalPlan | Command
    analyze: bool = False
    extended: bool = False
    form: str = ""
    tree: str = ""
    views: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class SetConf(Command):
    """SET key=value. SET key and SET without a key list settings."""

    key: str | None = None
    value: str | None = None
    verbose: bool = False

    @property
    def yields_rows(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class ResetConf(Command):
    key: str | None = None
