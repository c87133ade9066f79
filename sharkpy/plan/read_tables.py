"""Tables that a plan reads."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base.cancellation import check_cancelled
from sharkpy.catalog.model import Table
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.plan.query_table import QueryTable
from sharkpy.plan.subquery import SUBQUERIES


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
        for expr in node.expressions:
            waiting += [part.plan for part in expr.walk() if isinstance(part, SUBQUERIES)]
