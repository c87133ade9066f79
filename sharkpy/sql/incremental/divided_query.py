"""A query over streams as its state, which epochs add to, and what is computed of the state when it is read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sharkpy.base.errors import InternalError, SharkError, UnsupportedError
from sharkpy.plan.expr import Call, ColumnRef, Literal
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project, Union
from sharkpy.plan.references import renumbered
from sharkpy.sql.incremental.aggregate_state import aggregate_state, rows_of
from sharkpy.sql.incremental.kept_rows import all_rows, kept_rows
from sharkpy.sql.incremental.row_wise import (
    RECOMPUTE,
    Streams,
    node_fault,
    reading_fault,
    refused,
    row_wise_fault,
    words_for,
)
from sharkpy.sql.incremental.session_state import session_state, sessions_below
from sharkpy.sql.incremental.state import Names, NewColumn, StatePart
from sharkpy.sql.incremental.stream_join import StreamJoin, apart, stream_joins
from sharkpy.values.types import BOOLEAN, INT, Field, Schema

_OF_READERS = "all rows of the streams are kept, and looked at by whoever reads the table"
_OF_JOINS = "the rows of both sides of a join of streams are kept"
_PART = "part"
"""Column of a state of several parts: whose row it is."""


@dataclass(frozen=True, slots=True)
class DividedQuery:
    """Query over streams with its state.

    1. Epochs add the rows of `delta` to a table with the columns of `schema`, of which it may read what is there.
    2. `read` gives the query's rows, under the ids of its own columns; it is given a new scan of that table for each
       of the state's parts.
    3. `fold` gives fewer rows that mean the same as all rows of the table, or of some epochs.
    """

    query: LogicalPlan
    parts: Sequence[tuple[LogicalPlan, StatePart]]
    """With the operators in whose place they are."""
    joins: Sequence[StreamJoin]
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        if len(self.parts) == 1:
            return self._only.schema
        names = Names({_PART})
        fields = [Field(names.take(field.name), field.dtype) for _, part in self.parts for field in part.schema]
        return Schema((Field(_PART, INT), *fields))

    def delta(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan:
        if len(self.parts) == 1:
            return self._only.delta
        known = {id(one.node): one for one in self.joins}

        def added(one: StreamJoin, join: LogicalPlan) -> LogicalPlan:
            return one.added(join, lambda place: self._kept(place, scan()), self.new_column)

        made = [_with_joins(part.delta, known, added) for _, part in self.parts]
        # Sides of joins are in the plans of several parts.
        return self._together([apart(one, self.new_column) for one in made] if known else made)

    def _kept(self, place: int, rows: LogicalPlan) -> LogicalPlan:
        """What is read of one part."""
        return self.parts[place][1].read(self._rows_of(place, rows))

    def read(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan:
        places = {id(node): place for place, (node, _) in enumerate(self.parts)}
        return _replaced(self.query, places, lambda place: self._kept(place, scan()))

    def fold(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan:
        folded = [part.fold(self._rows_of(place, scan())) for place, (_, part) in enumerate(self.parts)]
        return folded[0] if len(folded) == 1 else self._together(folded)

    @property
    def growth(self) -> str | None:
        """What lets the state grow with the streams, in words; None where something bounds it."""
        return next((growth for _, part in self.parts if (growth := part.growth) is not None), None)

    def has_state_of(self, other: DividedQuery) -> bool:
        """True if epochs of both add the same rows to the same state."""
        if self.schema != other.schema or len(self.parts) != len(other.parts):
            return False
        deltas = ([_numbered(part.delta) for _, part in one.parts] for one in (self, other))
        return all(map(operator.eq, *deltas))

    @property
    def _only(self) -> StatePart:
        return self.parts[0][1]

    def _rows_of(self, place: int, rows: LogicalPlan) -> LogicalPlan:
        """Rows of one part, with its columns alone."""
        if len(self.parts) == 1:
            return rows
        first = 1 + sum(len(part.schema) for _, part in self.parts[:place])
        columns = rows.output
        own = Filter(rows, Call("eq", (columns[0], Literal(place, INT)), BOOLEAN))
        return Project(own, columns[first : first + len(self.parts[place][1].schema)])

    def _together(self, plans: Sequence[LogicalPlan]) -> LogicalPlan:
        """Rows of all parts, each with NULL in the columns of the others."""
        columns = tuple(self.new_column(field.name, field.dtype) for field in self.schema)
        inputs, first = list[LogicalPlan](), 1
        for place, plan in enumerate(plans):
            given = (Literal(place, INT), *self._padded(plan.output, first))
            names = [self.new_column(column.name, column.dtype) for column in columns]
            items = [name.holding(expr) for expr, name in zip(given, names, strict=True)]
            inputs.append(Project(plan, tuple(items)))
            first += len(plan.output)
        return Union(tuple(inputs), columns)

    def _padded(self, own: Sequence[ColumnRef], first: int) -> Sequence[ColumnRef | Literal]:
        fields = self.schema.fields
        before = [Literal(None, field.dtype) for field in fields[1:first]]
        return [*before, *own, *(Literal(None, field.dtype) for field in fields[first + len(own) :])]


def divided(query: LogicalPlan, streams: Streams, new_column: NewColumn, *, recomputes: bool) -> DividedQuery:
    """Divide a query that reads streams and is not row-wise. UnsupportedError, naming the operator, where what it needs
    of earlier epochs cannot be kept; with `recomputes` all rows are kept for such an operator.
    """
    parts, joins = list[tuple[LogicalPlan, StatePart]](), list[StreamJoin]()

    def add(node: LogicalPlan, part: StatePart, rows: LogicalPlan) -> None:
        parts.append((node, part))
        for join in stream_joins(rows, streams):
            places = len(parts), len(parts) + 1
            parts.extend((side, all_rows(side, _OF_JOINS, new_column)) for side in (join.left, join.right))
            joins.append(StreamJoin(join, *places))

    waiting: list[tuple[LogicalPlan, LogicalPlan | None]] = [(query, None)]
    while waiting:
        node, above = waiting.pop()
        if not streams.below(node):
            continue
        if (fault := reading_fault(node, streams)) is not None:
            raise fault
        if isinstance(node, Aggregate) and (rows := _rows_of(node, streams)) is not None:
            add(*_of_aggregate(node, rows, new_column, recomputes=recomputes), rows)
        elif (kept := kept_rows(node, streams, new_column)) is not None:
            add(node, kept, kept.rows)
        elif row_wise_fault(node, streams, with_joins=True) is None:
            # Without an operator above, the rows are the answer.
            if above is not None and not recomputes:
                raise _fault_of(above, streams)
            add(node, all_rows(node, None if above is None else _OF_READERS, new_column), node)
        else:
            waiting += [(child, node) for child in reversed(node.children)]
    if not parts:
        raise InternalError("a query that needs state has no part with state")
    return DividedQuery(query, parts, joins, new_column)


def _with_joins(
    plan: LogicalPlan, known: dict[int, StreamJoin], added: Callable[[StreamJoin, LogicalPlan], LogicalPlan]
) -> LogicalPlan:
    """The plan with joins of streams, by their ids, as what an epoch adds to them."""
    made = plan.map_children(lambda child: _with_joins(child, known, added))
    one = known.get(id(plan))
    return made if one is None else added(one, made)


def _numbered(plan: LogicalPlan) -> LogicalPlan:
    """The plan with the ids of columns counted from its own first one."""
    known: dict[int, int] = {}
    return renumbered(plan, lambda column_id: known.setdefault(column_id, len(known)))


def _fault_of(node: LogicalPlan, streams: Streams) -> SharkError:
    """What keeps an operator from being computed of rows of one epoch."""
    fault = node_fault(node, streams) or refused(words_for(node))
    fault.hint = fault.hint or RECOMPUTE
    return fault


def _rows_of(node: Aggregate, streams: Streams) -> LogicalPlan | None:
    """Rows that an Aggregate is of, in no sessions yet; None where they need other epochs."""
    sessions = sessions_below(node)
    rows = rows_of(node) if sessions is None else sessions.rows
    return rows if row_wise_fault(rows, streams, with_joins=True) is None else None


def _of_aggregate(
    node: Aggregate, rows: LogicalPlan, new_column: NewColumn, *, recomputes: bool
) -> tuple[LogicalPlan, StatePart]:
    """State of an Aggregate, or of all rows that it is of."""
    try:
        sessions = sessions_below(node)
        if sessions is not None:
            return node, session_state(node, sessions, new_column)
        return node, aggregate_state(node, new_column)
    except UnsupportedError:
        if not recomputes:
            raise
        return rows, all_rows(rows, _OF_READERS, new_column)


def _replaced(plan: LogicalPlan, places: dict[int, int], read: Callable[[int], LogicalPlan]) -> LogicalPlan:
    place = places.get(id(plan))
    return plan.map_children(lambda child: _replaced(child, places, read)) if place is None else read(place)
