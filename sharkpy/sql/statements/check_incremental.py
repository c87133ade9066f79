"""Check that a query over streams can be kept up to date epoch by epoch, without state."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base.errors import BindError, SharkError, UnsupportedError
from sharkpy.plan.logical import (
    LATERAL_JOINS,
    LEFT_ONLY_JOINS,
    Aggregate,
    Distribute,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Step,
    Union,
    Window,
)
from sharkpy.plan.query_table import QueryTable
from sharkpy.plan.subquery import SUBQUERIES

_ROW_WISE = (Project, Filter, Generate, Union, Distribute, Scan)
"""Nodes that make the rows of an epoch from rows of that epoch alone."""
_LEFT_JOINS = (JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT, JoinKind.SINGLE, *LEFT_ONLY_JOINS, *LATERAL_JOINS)
_RIGHT_JOINS = (JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT)
"""Joins of which the stream may be that side."""
_REFUSED: tuple[tuple[type[LogicalPlan], str], ...] = (
    (Aggregate, "GROUP BY, DISTINCT or an aggregate over a stream"),
    (Expand, "GROUPING SETS over a stream"),
    (Window, "a window function over a stream"),
    (Sort, "ORDER BY over a stream"),
    (Limit, "LIMIT over a stream"),
    (Step, "a script over a stream"),
)


class NoStreamError(BindError):
    """The query of a continuous query reads no stream."""


def check_incremental(query: LogicalPlan) -> None:
    """NoStreamError if the query reads no stream; UnsupportedError, naming the operator, if it needs rows of other
    epochs than the one that it computes.
    """
    streams = _Streams()
    if not streams.below(query):
        hint = "CREATE TABLE … AS SELECT, or INSERT"
        raise NoStreamError("the continuous query reads no stream", hint=hint, sqlstate="42809")
    waiting = [query]
    while waiting:
        node = waiting.pop()
        _check(node, streams)
        waiting += [child for child in node.children if streams.below(child)]


class _Streams:
    """Which parts of a plan read streams, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LogicalPlan, bool]] = {}
        """By the id of a node, which lives as long as this does."""

    def below(self, plan: LogicalPlan) -> bool:
        """True if a stream is read by the plan, by queries in its expressions, or by those behind its tables."""
        if id(plan) not in self._known:
            for node in reversed(list(plan.walk())):
                self._known[id(node)] = (node, self._here(node))
        return self._known[id(plan)][1]

    def in_expressions(self, node: LogicalPlan) -> bool:
        return any(self.below(plan) for plan in _plans_in_expressions(node))

    def _here(self, node: LogicalPlan) -> bool:
        if isinstance(node, Scan):
            return node.table.is_stream or (isinstance(node.table, QueryTable) and self.below(node.table.query))
        return self.in_expressions(node) or any(self.below(child) for child in node.children)


def _check(node: LogicalPlan, streams: _Streams) -> None:
    """Check a node that has a stream at or below it."""
    if streams.in_expressions(node):
        raise _refused("a stream in a subquery of an expression")
    if isinstance(node, Scan) and isinstance(node.table, QueryTable):
        raise _refused("a stream in a WITH query that is computed once for several uses")
    if isinstance(node, Union) and not all(streams.below(one) for one in node.inputs):
        # Each epoch would have them again.
        raise _refused("UNION ALL of a stream and rows that are there already", "START FROM TABLE … THEN STREAM …")
    if isinstance(node, Join):
        _check_join(node, streams)
    elif not isinstance(node, _ROW_WISE) and not (isinstance(node, Sort) and not node.is_global):
        raise _refused(next((what for kind, what in _REFUSED if isinstance(node, kind)), type(node).__name__))


def _check_join(join: Join, streams: _Streams) -> None:
    left, right = streams.below(join.left), streams.below(join.right)
    if left and right:
        raise _refused("a join of two streams")
    if join.kind not in (_LEFT_JOINS if left else _RIGHT_JOINS):
        raise _refused(f"a {join.kind.value} join that keeps the rows of the table beside the stream")


def _plans_in_expressions(node: LogicalPlan) -> Iterator[LogicalPlan]:
    for expr in node.expressions:
        for part in expr.walk():
            if isinstance(part, SUBQUERIES):
                yield part.plan


def _refused(what: str, hint: str | None = None) -> SharkError:
    return UnsupportedError(f"{what} in a continuous query is not supported", hint=hint)
