"""Parts of queries that compute an epoch's output from only the rows of that epoch.

For any other part there is an error that names the operator. There are also errors for queries whose rows may change or
disappear later, if the output mode does not allow that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.plan.expr import Call, Expr
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
from sharkpy.plan.row_steps import TableFunctionStep
from sharkpy.plan.subqueries import SUBQUERIES, QueryTable
from sharkpy.sql.incremental.row_numbers import is_numbering
from sharkpy.sql.incremental.time_windows import emits_closed_windows

RECOMPUTE = "EMIT COMPLETE WITH RECOMPUTE stores all rows, and computes the answer when the table is read"
WITH_TABLES = "UNION ALL of a stream and existing rows"
_ROW_WISE = (Project, Filter, Generate, Union, Distribute, Scan, Expand)
_LEFT_JOINS = (JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT, JoinKind.SINGLE, *LEFT_ONLY_JOINS, *LATERAL_JOINS)
_RIGHT_JOINS = (JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT)
"""Joins that allow a stream on that side."""
_WORDS: tuple[tuple[type[LogicalPlan], str], ...] = (
    (Aggregate, "GROUP BY, DISTINCT or an aggregate over a stream"),
    (Window, "a window function over a stream"),
    (Sort, "ORDER BY over a stream"),
    (Limit, "LIMIT over a stream"),
    (Step, "a script over a stream"),
    (Union, "UNION ALL of rows, and of groups, of a stream"),
)


class Streams:
    """Cache of which parts of a plan read streams. Each part is checked once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LogicalPlan, bool]] = {}
        """By the id of a node. The node is held, so that its id stays unique."""

    def below(self, plan: LogicalPlan) -> bool:
        """Return whether the plan reads a stream, also in subqueries of expressions or in queries of its tables."""
        if id(plan) not in self._known:
            for node in reversed(list(plan.walk())):
                self._known[id(node)] = (node, self._here(node))
        return self._known[id(plan)][1]

    def in_expressions(self, node: LogicalPlan) -> bool:
        return any(map(self.below, subqueries_in(node)))

    def _here(self, node: LogicalPlan) -> bool:
        if isinstance(node, Scan):
            return node.table.is_stream or (
                isinstance(node.table, QueryTable) and any(map(self.below, node.table.queries))
            )
        return self.in_expressions(node) or any(self.below(child) for child in node.children)


def row_wise_error(
    query: LogicalPlan, streams: Streams, *, with_joins: bool = False, with_tables: bool = False
) -> SharkError | None:
    """Error that names the first operator that needs rows of other epochs; None if there is none.

    `with_joins`: joins of streams and row numbers are allowed, because an epoch only adds to their output.
    `with_tables`: rows of tables are allowed, but not as input of joins of streams or row numbers.
    """
    waiting = [(query, with_tables)]
    while waiting:
        node, may_have_tables = waiting.pop()
        if not streams.below(node) or emits_closed_windows(node):
            continue
        if with_joins and (is_stream_join(node, streams) or is_counted(node)):
            fault, may_have_tables = reading_error(node, streams), False
        elif may_have_tables and is_union_with_tables(node, streams):
            fault = reading_error(node, streams)
        else:
            fault = node_error(node, streams)
        if fault is not None:
            return fault
        waiting += [(child, may_have_tables) for child in node.children]
    return None


def is_stream_join(node: LogicalPlan, streams: Streams) -> TypeGuard[Join]:
    """Return whether `node` is a join of streams whose rows never disappear."""
    is_inner = isinstance(node, Join) and node.kind in (JoinKind.INNER, JoinKind.CROSS)
    return is_inner and all(map(streams.below, node.children))


def is_union_with_tables(node: LogicalPlan, streams: Streams) -> TypeGuard[Union]:
    """Return whether `node` is a UNION ALL of rows of streams and of tables."""
    return isinstance(node, Union) and streams.below(node) and not all(map(streams.below, node.inputs))


def is_counted(node: LogicalPlan) -> TypeGuard[Window]:
    """Return whether `node` numbers rows across epochs. Its input has to be the same each time it is computed."""
    if not is_numbering(node) or has_subqueries(node):
        return False
    return varying_function(expressions_of(node)) is None


def has_subqueries(plan: LogicalPlan) -> bool:
    return any(isinstance(part, SUBQUERIES) for part in expressions_of(plan))


def expressions_of(plan: LogicalPlan) -> Iterator[Expr]:
    """Expressions of all nodes of a plan, and their parts."""
    return (part for one in plan.walk() for expr in one.expressions for part in expr.walk())


def varying_function(expressions: Iterable[Expr]) -> str | None:
    """Name of a function that is not deterministic, such as rand; None if there is none."""
    calls = (part.function for part in expressions if isinstance(part, Call))
    return next((one for one in calls if not is_deterministic_function(one)), None)


def node_error(node: LogicalPlan, streams: Streams) -> SharkError | None:
    """Error for one node with a stream at or below it, or None; see `row_wise_error`."""
    if (fault := reading_error(node, streams)) is not None:
        return fault
    if is_union_with_tables(node, streams):
        # Each epoch would add the rows of tables again.
        hint = "START FROM TABLE … THEN STREAM …"
        return unsupported(WITH_TABLES, hint)
    if isinstance(node, Join):
        return _join_error(node, streams)
    if is_table_function(node):
        return None
    if isinstance(node, Step) and isinstance(node.step, TableFunctionStep):
        return unsupported("a table function that may give rows at the end of a task, over a stream")
    if not isinstance(node, _ROW_WISE) and not (isinstance(node, Sort) and not node.is_global):
        return unsupported(operator_name(node))
    return None


def is_table_function(node: LogicalPlan) -> bool:
    """Return whether `node` is a user's table function that makes its rows from one row each."""
    match node:
        case Step(step=TableFunctionStep() as step):
            return not step.function.has_last_rows
    return False


def reading_error(node: LogicalPlan, streams: Streams) -> SharkError | None:
    """UnsupportedError if the node reads a stream in a place to which epochs cannot give rows; else None."""
    if streams.in_expressions(node):
        return unsupported("a stream in a subquery of an expression")
    if isinstance(node, Scan) and isinstance(node.table, QueryTable):
        return unsupported("a stream in a WITH query that is computed once for several uses")
    return None


def operator_name(node: LogicalPlan) -> str:
    """Name of an operator over a stream, for messages."""
    return next((what for kind, what in _WORDS if isinstance(node, kind)), type(node).__name__)


def unsupported(what: str, hint: str | None = None) -> SharkError:
    return UnsupportedError(f"{what} in a continuous query is not supported", hint=hint)


def _join_error(join: Join, streams: Streams) -> SharkError | None:
    left, right = streams.below(join.left), streams.below(join.right)
    if left and right:
        return unsupported("a join of two streams")
    if join.kind not in (_LEFT_JOINS if left else _RIGHT_JOINS):
        return unsupported(f"a {join.kind.value} join that keeps unmatched rows of the table joined with the stream")
    return None


def subqueries_in(node: LogicalPlan) -> Iterator[LogicalPlan]:
    """Subqueries in the expressions of a node."""
    for expr in node.expressions:
        for part in expr.walk():
            if isinstance(part, SUBQUERIES):
                yield part.plan


_OF_TABLES = "CREATE CONTINUOUS TABLE has the current rows"
_APPENDED = (
    "GROUP BY windows or sessions of a time with a WATERMARK, which are given when it closes them; outer joins of "
    "streams that bound such times on both sides; or"
)
_TABLES_FIRST = "START FROM TABLE … THEN STREAM … reads the rows of a table once, before the rows of the stream"
_UPDATED = "EMIT UPDATE, which gives changed groups to a sink TO KAFKA with a __key, TO PROGRAM or TO CONSOLE"


def changing_rows(sink_mode: EmitMode | None) -> SharkError:
    """Error for a query whose rows change with later input.

    `sink_mode` is the output mode of an insert or sink; None for a continuous table with EMIT APPEND.
    """
    hint = f"{_APPENDED} {'EMIT UPDATE' if sink_mode is None else f'{_UPDATED}; {_OF_TABLES}'}"
    if sink_mode is EmitMode.UPDATE:
        hint = f"EMIT UPDATE gives groups of GROUP BY, but not sessions, with expressions over each group; {_OF_TABLES}"
    return _not_emitted(sink_mode, "a query whose rows change with each epoch", hint)


def changing_tables(sink_mode: EmitMode | None) -> SharkError:
    """Error for rows of tables that are combined with rows of a stream. `sink_mode`: see `changing_rows`."""
    hint = f"{_TABLES_FIRST}; {'or EMIT UPDATE' if sink_mode is None else _OF_TABLES}"
    return _not_emitted(sink_mode, f"{WITH_TABLES}, which may change,", hint)


def _not_emitted(sink_mode: EmitMode | None, what: str, hint: str) -> SharkError:
    emit = "EMIT UPDATE" if sink_mode is EmitMode.UPDATE else "EMIT APPEND"
    return UnsupportedError(f"{emit} of {what} is not supported", hint=hint)
