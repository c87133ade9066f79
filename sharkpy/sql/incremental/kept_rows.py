"""States that consist of rows: the first rows in some order, or all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, WindowCall, conjuncts
from sharkpy.plan.logical import Filter, Limit, LogicalPlan, Project, Sort, Window
from sharkpy.sql.incremental.row_wise import Streams, queries_in, row_wise_fault
from sharkpy.sql.incremental.state import EpochState, Kept, NewColumn, as_state, schema_of, under
from sharkpy.values.types import BIGINT, BOOLEAN, Schema

_RANKS = ("row_number", "rank")
"""Window functions that increase in their order: a row after the n-th is never among the first n again."""


@dataclass(frozen=True, slots=True)
class KeptRows:
    """State of an operator over `rows` of epochs: the rows that `first` selects.

    `answer` computes the operator's rows from rows with the columns of `rows`.
    """

    rows: LogicalPlan
    schema: Schema
    added: LogicalPlan
    first: Callable[[LogicalPlan], LogicalPlan]
    answer: Callable[[LogicalPlan], LogicalPlan]
    label: str
    growth: str | None
    new_column: NewColumn

    def over(self, rows: LogicalPlan) -> KeptRows:
        """The same state for other rows with these columns."""
        return replace(self, rows=rows, added=as_state(self.first(rows), rows.output, self.schema, self.new_column))

    def delta(self, _kept: Kept) -> LogicalPlan:
        return self.added

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return self.answer(under(self.rows.output, rows))

    def given(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The rows that an epoch adds, if all rows are kept."""
        return self.read(epoch.added(place), epoch.before)

    def fold(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return as_state(self.first(under(self.rows.output, rows)), self.rows.output, self.schema, self.new_column)


def kept_rows(node: LogicalPlan, streams: Streams, new_column: NewColumn) -> KeptRows | None:
    """State for the first rows in some order, of all rows or of each group.

    Return None for other operators, or if the input rows need other epochs.
    """
    match node:
        case Limit(child, int() as count, offset) if (sort := _sort_below(child)) is not None:
            rows, keys = sort.child, sort.keys
            if not _is_row_wise(rows, streams):
                return None

            def first(given: LogicalPlan) -> LogicalPlan:
                return Limit(Sort(given, keys), count + offset)

            def of_first(given: LogicalPlan) -> LogicalPlan:
                return with_rows(node, sort, replace(sort, child=given))

            label = f"the first {count + offset} rows by {', '.join(shown(key.expr) for key in keys)}"
            return _made(rows, first, of_first, label, None, new_column)
        case Filter(child, predicate) if (window := _window_below(child)) is not None:
            (item, *others), most = window.windows, _most(predicate, child, window)
            call = item.expr
            if others or most is None or not isinstance(call, WindowCall):
                return None
            if not _is_row_wise(window.child, streams):
                return None
            names = ", ".join(map(shown, call.partition_by))
            growth = f"the state of the first rows by {names} grows with the values of these" if names else None

            def of_each(given: LogicalPlan) -> LogicalPlan:
                kept = Call("le", (item.ref, Literal(most, BIGINT)), BOOLEAN)
                return Project(Filter(Window(given, (item,)), kept), given.output)

            def answer(given: LogicalPlan) -> LogicalPlan:
                return with_rows(node, window, replace(window, child=given))

            label = f"the first {most} rows" + (f" of each {names}" if names else "")
            return _made(window.child, of_each, answer, label, growth, new_column)
    return None


def all_rows(rows: LogicalPlan, label: str, growth: str | None, new_column: NewColumn) -> KeptRows:
    """State of all rows. `growth` is the text that says why they are kept."""
    return _made(rows, lambda given: given, lambda given: given, label, growth, new_column)


def _made(
    rows: LogicalPlan,
    first: Callable[[LogicalPlan], LogicalPlan],
    answer: Callable[[LogicalPlan], LogicalPlan],
    label: str,
    growth: str | None,
    new_column: NewColumn,
) -> KeptRows:
    schema = schema_of(rows.output)
    added = as_state(first(rows), rows.output, schema, new_column)
    return KeptRows(rows, schema, added, first, answer, label, growth, new_column)


def _is_row_wise(rows: LogicalPlan, streams: Streams) -> bool:
    return row_wise_fault(rows, streams, with_joins=True, beside_tables=True) is None


def _sort_below(plan: LogicalPlan) -> Sort | None:
    """The global Sort below projections, which may leave out its keys."""
    while isinstance(plan, Project) and not any(True for _ in queries_in(plan)):
        plan = plan.child
    return plan if isinstance(plan, Sort) and plan.is_global else None


def _window_below(plan: LogicalPlan) -> Window | None:
    """The Window below projections."""
    while isinstance(plan, Project):
        plan = plan.child
    return plan if isinstance(plan, Window) else None


def with_rows(node: LogicalPlan, old: LogicalPlan, new: LogicalPlan) -> LogicalPlan:
    """Replace the rows of `old`, a node at or below `node`, by `new`."""
    return new if node is old else node.map_children(lambda child: with_rows(child, old, new))


def _most(predicate: Expr, child: LogicalPlan, window: Window) -> int | None:
    """Largest rank that the predicate keeps; None if it sets no bound."""
    item = window.windows[0]
    if not isinstance(item.expr, WindowCall) or item.expr.function not in _RANKS:
        return None
    ids = _ids_of(item.column_id, child)
    found = [most for term in conjuncts(predicate) if (most := _bound(term, ids)) is not None]
    return min(found, default=None)


def _ids_of(column_id: int, plan: LogicalPlan) -> frozenset[int]:
    """Ids of a column, including the ids that projections above it give it."""
    if not isinstance(plan, Project):
        return frozenset((column_id,))
    below = _ids_of(column_id, plan.child)
    renamed = {
        item.column_id
        for item in plan.items
        if isinstance(item, Alias) and isinstance(item.expr, ColumnRef) and item.expr.column_id in below
    }
    return below | renamed


def _bound(term: Expr, ids: frozenset[int]) -> int | None:
    match term:
        case Call("le" | "eq", (rank, Literal(int() as number))) if _is_one(rank, ids):
            return number
        case Call("lt", (rank, Literal(int() as number))) if _is_one(rank, ids):
            return number - 1
        case Call("ge" | "eq", (Literal(int() as number), rank)) if _is_one(rank, ids):
            return number
        case Call("gt", (Literal(int() as number), rank)) if _is_one(rank, ids):
            return number - 1
    return None


def _is_one(expr: Expr, ids: frozenset[int]) -> bool:
    return isinstance(expr, ColumnRef) and expr.column_id in ids


def shown(expr: Expr) -> str:
    """Text of a key, for messages and labels."""
    return expr.name if isinstance(expr, ColumnRef) else str(expr)
