"""Tables that a plan reads."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.catalog.model import Table
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.plan.query_table import QueryTable
from sharkpy.plan.subquery import SUBQUERIES


def read_tables(*plans: LogicalPlan) -> tuple[Table, ...]:
    """Tables with files that plans read, in subqueries and in queries that are computed once too; each once."""
    found = {scan.table.table_id: scan.table for plan in plans for scan in _scans(plan)}
    return tuple(table for table in found.values() if table.location is not None and not table.is_stream)


def _scans(plan: LogicalPlan) -> Iterator[Scan]:
    for node in plan.walk():
        if isinstance(node, Scan):
            yield node
            if isinstance(node.table, QueryTable):
                yield from _scans(node.table.query)
        for expr in node.expressions:
            for part in expr.walk():
                if isinstance(part, SUBQUERIES):
                    yield from _scans(part.plan)
