"""States that consist of rows: the first rows in some order, or all rows.

In a UNION ALL of streams and tables, epochs add only the rows of streams to the state. A reader computes the rows of
tables again, from their current versions. So the result is always the one of the query over both, even if tables
change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, WindowCall, conjuncts
from sharkpy.plan.logical import Filter, Limit, LogicalPlan, Project, Sort, Union, Window
from sharkpy.sql.incremental.row_wise import Streams, row_wise_error, subqueries_in
from sharkpy.sql.incremental.state import (
    EpochState,
    NewColumn,
    StatePart,
    StoredState,
    schema_of,
    to_state_columns,
    with_ids_of,
)
from sharkpy.values.types import BIGINT, BOOLEAN, Schema

_RANKS = ("row_number", "rank")
"""Window functions that increase in their order: a row after the n-th is never among the first n again."""


@dataclass(frozen=True, slots=True)
class RowState:
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

    def over(self, rows: LogicalPlan) -> RowState:
        """The same state for other rows with these columns."""
        return replace(
            self, rows=rows, added=to_state_columns(self.first(rows), rows.output, self.schema, self.new_column)
        )

    def delta(self, _kept: StoredState) -> LogicalPlan:
        return self.added

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return self.answer(with_ids_of(self.rows.output, rows))

    def emitted(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The rows that an epoch adds, if all rows are kept."""
        return self.read(epoch.added(place), epoch.before)

    def fold(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        return to_state_columns(
            self.first(with_ids_of(self.rows.output, rows)), self.rows.output, self.schema, self.new_column
        )


def row_state(node: LogicalPlan, streams: Streams, new_column: NewColumn) -> RowState | None:
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
                return replace_rows(node, sort, replace(sort, child=given))

            label = f"the first {count + offset} rows by {', '.join(key_text(key.expr) for key in keys)}"
            return _made(rows, first, of_first, label, None, new_column)
        case Filter(child, predicate) if (window := _window_below(child)) is not None:
            (item, *others), most = window.windows, _most(predicate, child, window)
            call = item.expr
            if others or most is None or not isinstance(call, WindowCall):
                return None
            if not _is_row_wise(window.child, streams):
                return None
            names = ", ".join(map(key_text, call.partition_by))
            growth = f"the state of the first rows by {names} grows with the values of these" if names else None

            def of_each(given: LogicalPlan) -> LogicalPlan:
                kept = Call("le", (item.ref, Literal(most, BIGINT)), BOOLEAN)
                return Project(Filter(Window(given, (item,)), kept), given.output)

            def answer(given: LogicalPlan) -> LogicalPlan:
                return replace_rows(node, window, replace(window, child=given))

            label = f"the first {most} rows" + (f" of each {names}" if names else "")
            return _made(window.child, of_each, answer, label, growth, new_column)
    return None


def all_rows_state(rows: LogicalPlan, label: str, growth: str | None, new_column: NewColumn) -> RowState:
    """State of all rows. `growth` is the text that says why they are kept."""
    return _made(rows, lambda given: given, lambda given: given, label, growth, new_column)


def _made(
    rows: LogicalPlan,
    first: Callable[[LogicalPlan], LogicalPlan],
    answer: Callable[[LogicalPlan], LogicalPlan],
    label: str,
    growth: str | None,
    new_column: NewColumn,
) -> RowState:
    schema = schema_of(rows.output)
    added = to_state_columns(first(rows), rows.output, schema, new_column)
    return RowState(rows, schema, added, first, answer, label, growth, new_column)


def _is_row_wise(rows: LogicalPlan, streams: Streams) -> bool:
    return row_wise_error(rows, streams, with_joins=True, with_tables=True) is None


def _sort_below(plan: LogicalPlan) -> Sort | None:
    """The global Sort below projections, which may leave out its keys."""
    while isinstance(plan, Project) and not any(True for _ in subqueries_in(plan)):
        plan = plan.child
    return plan if isinstance(plan, Sort) and plan.is_global else None


def _window_below(plan: LogicalPlan) -> Window | None:
    """The Window below projections."""
    while isinstance(plan, Project):
        plan = plan.child
    return plan if isinstance(plan, Window) else None


def replace_rows(node: LogicalPlan, old: LogicalPlan, new: LogicalPlan) -> LogicalPlan:
    """Replace the rows of `old`, a node at or below `node`, by `new`."""
    return new if node is old else node.map_children(lambda child: replace_rows(child, old, new))


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


def key_text(expr: Expr) -> str:
    """Text of a key, for messages and labels."""
    return expr.name if isinstance(expr, ColumnRef) else str(expr)


@dataclass(frozen=True, slots=True)
class UnionWithTables:
    """State of an operator over rows of streams and of tables. The rows of tables are not in the state."""

    kept: StatePart
    """State of the rows of streams."""
    tables: StatePart
    """State of the rows of tables."""
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return self.kept.schema

    def delta(self, kept: StoredState) -> LogicalPlan:
        return self.kept.delta(kept)

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        both = tuple(self.new_column(column.name, column.dtype) for column in rows.output)
        return self.kept.read(Union((rows, self.tables.delta(kept)), both), kept)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.kept.fold(rows, kept)

    @property
    def label(self) -> str:
        return f"{self.kept.label}, of the streams; who reads the table adds the rows of tables as they are then"

    @property
    def growth(self) -> str | None:
        return self.kept.growth


def split_tables(rows: LogicalPlan, streams: Streams) -> tuple[LogicalPlan, LogicalPlan | None]:
    """Split row-wise rows into rows from streams, and rows that come only from tables, or None.

    Both have the columns of `rows`.
    """
    of_streams = _of_streams(rows, streams)
    return of_streams, None if of_streams is rows else _of_tables(rows, streams)


def _of_streams(plan: LogicalPlan, streams: Streams) -> LogicalPlan:
    if not streams.below(plan):
        return plan
    if not isinstance(plan, Union) or all(map(streams.below, plan.inputs)):
        return plan.map_children(lambda child: _of_streams(child, streams))
    return _united(plan, [_of_streams(one, streams) for one in plan.inputs if streams.below(one)])


def _of_tables(plan: LogicalPlan, streams: Streams) -> LogicalPlan | None:
    if not streams.below(plan):
        return plan
    if isinstance(plan, Union):
        found = [rows for one in plan.inputs if (rows := _of_tables(one, streams)) is not None]
        return _united(plan, found) if found else None
    # A row-wise node can be applied to parts of its input. Empty input has empty output.
    children = [_of_tables(child, streams) for child in plan.children]
    known = [child for child in children if child is not None]
    return plan.with_children(*known) if known and len(known) == len(children) else None


def _united(union: Union, inputs: list[LogicalPlan]) -> LogicalPlan:
    return with_ids_of(union.columns, inputs[0]) if len(inputs) == 1 else Union(tuple(inputs), union.columns)
