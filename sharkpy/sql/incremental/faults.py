"""Errors that name the operator for which a query cannot be divided, or its rows cannot be emitted."""

from __future__ import annotations

from sharkpy.base.errors import SharkError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.plan.logical import Join, LogicalPlan, Union, Window
from sharkpy.sql.incremental.changing import changing, changing_tables
from sharkpy.sql.incremental.look_back import APPENDED
from sharkpy.sql.incremental.row_numbers import is_numbering
from sharkpy.sql.incremental.row_wise import (
    RECOMPUTE,
    WITH_TABLES,
    Streams,
    is_beside_tables,
    node_fault,
    refused,
    row_wise_fault,
    words_for,
)


def fault_of(node: LogicalPlan, rows: LogicalPlan, streams: Streams) -> SharkError:
    """Error for an operator that cannot be computed from `rows`, its input in one epoch."""
    if isinstance(node, Join) and _has_tables(rows, streams):
        return refused(f"{WITH_TABLES}, in a side of a join of streams,", RECOMPUTE)
    if is_numbering(node) and _has_tables(rows, streams):
        return refused(f"{WITH_TABLES}, below row_number() OVER (),", RECOMPUTE)
    if isinstance(node, Union):
        return refused(words_for(node), RECOMPUTE)
    fault = node_fault(node, streams) or refused(words_for(node))
    fault.hint = fault.hint or (f"{APPENDED}; {RECOMPUTE}" if isinstance(node, Window) else RECOMPUTE)
    return fault


def _has_tables(rows: LogicalPlan, streams: Streams) -> bool:
    """Return whether rows come from streams and, by UNION ALL, from tables."""
    if row_wise_fault(rows, streams, with_joins=True) is None:
        return False
    return row_wise_fault(rows, streams, with_joins=True, beside_tables=True) is None


def changing_fault(node: LogicalPlan, streams: Streams, gives: EmitMode | None) -> SharkError:
    """Error for a node whose rows may change although the output mode does not allow it. `gives`: see `changing`."""
    below = (child for child in node.children if streams.below(child))
    is_of_tables = is_beside_tables(node, streams) or any(_has_tables(child, streams) for child in below)
    return changing_tables(gives) if is_of_tables else changing(gives)
