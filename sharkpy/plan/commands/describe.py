"""DESCRIBE and EXPLAIN."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import Table
from sharkpy.plan.commands.command import Command, Listing, PartitionSpec
from sharkpy.plan.logical import LogicalPlan


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
