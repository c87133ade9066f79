"""Queries inside a plan: subqueries as expressions, shared queries as tables, and the tables that all of them read.

A correlated subquery refers to columns of the enclosing plan by the same ids. Columns that it uses but does not
produce are its outer references.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import Table
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.values.types import BOOLEAN, DataType


@dataclass(frozen=True, slots=True)
class ScalarSubquery(Expr):
    """The single value of a plan with one column. NULL without a row, an error with several rows."""

    plan: LogicalPlan

    @property
    def dtype(self) -> DataType:
        return self.plan.output[0].dtype

    def __str__(self) -> str:
        return f"scalar_subquery({self.plan.label})"


@dataclass(frozen=True, slots=True)
class Exists(Expr):
    """Whether a plan has a row."""

    plan: LogicalPlan

    @property
    def dtype(self) -> DataType:
        return BOOLEAN

    def __str__(self) -> str:
        return f"exists({self.plan.label})"


@dataclass(frozen=True, slots=True)
class InSubquery(Expr):
    """`values IN (plan)` under three-valued logic, with as many values as the plan has columns."""

    values: tuple[Expr, ...]
    plan: LogicalPlan

    @property
    def dtype(self) -> DataType:
        return BOOLEAN

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.values))}) IN ({self.plan.label})"


SUBQUERIES = (ScalarSubquery, Exists, InSubquery)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTable(Table):
    """A table computed when a snapshot of the statement first reads it. It lasts as long as the snapshot."""

    query: LogicalPlan = field(compare=False, repr=False)

    @property
    def qualified_name(self) -> str:
        return self.name

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return (self.query,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveTable(QueryTable):
    """WITH RECURSIVE: the rows of `query`, and the rows of `step`, which runs repeatedly until it adds no rows. `step`
    reads the newest rows as `last`. With `is_distinct`, only rows that did not exist before are new.
    """

    step: LogicalPlan = field(compare=False, repr=False)
    last: QueryTable = field(compare=False, repr=False)
    is_distinct: bool = field(compare=False, repr=False)

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return (self.query, self.step)


def read_tables(*plans: LogicalPlan) -> tuple[Table, ...]:
    """Return the tables with files that plans read, each once, including subqueries and shared queries."""
    found: dict[str, Table] = {}
    for plan in plans:
        _add_tables(plan, found)
    return tuple(table for table in found.values() if table.location is not None and not table.is_stream)


def _add_tables(plan: LogicalPlan, found: dict[str, Table]) -> None:
    waiting = [plan]
    while waiting:
        check_cancelled()
        for scan in _scans(waiting.pop(), waiting):
            if scan.table.table_id in found:
                continue
            found[scan.table.table_id] = scan.table
            # Shared queries may read one another, each several times.
            if isinstance(scan.table, QueryTable):
                waiting += scan.table.queries


def _scans(plan: LogicalPlan, waiting: list[LogicalPlan]) -> Iterator[Scan]:
    """Yield the scans of a plan, and add the plans of its subqueries to `waiting`."""
    for node in plan.walk():
        if isinstance(node, Scan):
            yield node
        for expr in node.computations:
            waiting += [part.plan for part in expr.walk() if isinstance(part, SUBQUERIES)]
