"""A query over streams, divided into a state that epochs add to and a result computed when the state is read.

The rows of all parts of the state are in one table, whose columns are unique, after a column with the part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from sharkpy.base.errors import InternalError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.catalog.model import CacheMode
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, disjunction
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project, Scan, Union, Values
from sharkpy.plan.references import renumbered
from sharkpy.sql.incremental.aggregate_state import AggregateState
from sharkpy.sql.incremental.closed_windows import ClosingWatermark
from sharkpy.sql.incremental.expiring_rows import ExpiringRows, replace_arrival_marks
from sharkpy.sql.incremental.row_numbers import NumRows, RowNumbers
from sharkpy.sql.incremental.row_state import RowState
from sharkpy.sql.incremental.session_state import SessionState
from sharkpy.sql.incremental.state import Names, NewColumn, StatePart, StoredState
from sharkpy.sql.incremental.stream_join import StreamJoin, with_new_ids
from sharkpy.sql.incremental.watermarks import ActiveWatermark, StreamArrivals, StreamWatermark
from sharkpy.sql.incremental.window_state import NumLateRows, PassedRows
from sharkpy.values.types import BIGINT, BOOLEAN, INT, TIMESTAMP, Field, Schema

EXTREMES = (StreamWatermark, StreamArrivals, ActiveWatermark)
"""Parts that are read with min and max. Rows of other parts have NULL in their columns, and do not count."""
_PART = "part"
"""Column of a state with several parts: the part of a row."""


@dataclass(frozen=True, slots=True)
class StateColumns:
    """Columns of the parts of a state, each with a unique name, after the column with the part of a row.

    A state with one part has only the columns of that part.
    """

    parts: Sequence[StatePart]
    new_column: NewColumn

    def schema(self, places: Iterable[int]) -> Schema:
        """Columns of the parts at `places`."""
        if len(self.parts) == 1:
            return self.parts[0].schema
        fields = self._fields
        return Schema((Field(_PART, INT), *(field for place in places for field in fields[place])))

    def rows_of(self, place: int, rows: LogicalPlan) -> LogicalPlan:
        """Rows of one part, with only its columns.

        Rows of other parts are included if they change nothing: statistics of blocks can answer only without a filter
        on the part.
        """
        if len(self.parts) == 1:
            return rows
        columns = {column.name: column for column in rows.output}
        if not (isinstance(self.parts[place], EXTREMES) and _is_in_memory(rows)):
            rows = Filter(rows, _is_one_of(columns[_PART], (place,)))
        return Project(rows, tuple(columns[field.name] for field in self._fields[place]))

    def without(self, places: Iterable[int], rows: LogicalPlan) -> LogicalPlan:
        """Rows and columns of all parts except the parts at `places`."""
        others = [place for place in range(len(self.parts)) if place not in places]
        columns = {column.name: column for column in rows.output}
        own = Filter(rows, _is_one_of(columns[_PART], others))
        return Project(own, tuple(columns[name] for name in self.schema(others).names))

    def together(self, plans: Mapping[int, LogicalPlan], places: Sequence[int]) -> LogicalPlan:
        """Combine the rows of parts, by their places. Columns of other parts at `places` are NULL."""
        if len(self.parts) == 1:
            return plans[0]
        fields, schema, inputs = self._fields, self.schema(places), list[LogicalPlan]()
        for place, plan in plans.items():
            own: dict[str, Expr] = {_PART: Literal(place, INT)}
            own |= zip((field.name for field in fields[place]), plan.output, strict=True)
            items = (
                self.new_column(field.name, field.dtype).holding(own.get(field.name, Literal(None, field.dtype)))
                for field in schema
            )
            inputs.append(Project(plan, tuple(items)))
        if len(inputs) == 1:
            return inputs[0]
        return Union(tuple(inputs), tuple(self.new_column(field.name, field.dtype) for field in schema))

    @property
    def _fields(self) -> Sequence[Sequence[Field]]:
        names = Names({_PART})
        return [[Field(names.take(field.name), field.dtype) for field in part.schema] for part in self.parts]


def _is_in_memory(rows: LogicalPlan) -> bool:
    return isinstance(rows, Scan) and rows.table.cache_mode is not CacheMode.NONE


def _is_one_of(part: Expr, places: Sequence[int]) -> Expr:
    """Condition that a row belongs to one of the parts at `places`."""
    found = disjunction([Call("eq", (part, Literal(place, INT)), BOOLEAN) for place in places])
    assert found is not None  # there are places
    return found


NOT_IDLE = "streams that are not idle"
"""Column of `progress` with the watermark of streams that are not idle."""
IS_IDLE = "is idle: "
"""Beginning of the names of columns of `progress` that say whether a stream is idle."""
LATE_ROWS = "late rows"
"""Column of `progress` with the number of late rows."""
_CLOSED_PARTS = (AggregateState, SessionState)
"""Parts whose windows or sessions may be closed."""
_WATERMARKS = (*EXTREMES, NumRows)
_ONE_ROW = (*_WATERMARKS, NumLateRows)
"""Parts that fold to one row."""
_APPENDED_PARTS = (RowState, PassedRows)
"""Parts to which epochs add rows of the result."""


@dataclass(frozen=True, slots=True)
class DividedQuery:
    """Query over streams with its state.

    1. Epochs add the rows of `delta` to a table with the columns of `schema`. `delta` may read the table's earlier
       rows.
    2. `read` returns the query's rows, under the query's own column ids. It gets a new scan of that table for each part
       of the state.
    3. `folds` return fewer rows that are equivalent to all rows of the table, or to the rows of some epochs.
    """

    query: LogicalPlan
    parts: Sequence[tuple[LogicalPlan, StatePart]]
    """Parts of the state, each with the operator that it replaces."""
    joins: Sequence[StreamJoin]
    numbers: Sequence[RowNumbers]
    new_column: NewColumn
    unstored: frozenset[int] = frozenset()
    """Places of parts whose rows an epoch emits and the state does not store."""

    @property
    def schema(self) -> Schema:
        return self.columns.schema(self._stored_places)

    @property
    def added_schema(self) -> Schema:
        """Columns of `delta`: the columns of the state, and of parts that are emitted and not stored."""
        return self.columns.schema(range(len(self.parts)))

    @property
    def columns(self) -> StateColumns:
        return StateColumns([part for _, part in self.parts], self.new_column)

    @property
    def _stored_places(self) -> Sequence[int]:
        return [place for place in range(len(self.parts)) if place not in self.unstored]

    def delta(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan:
        return self._delta(scan, range(len(self.parts)))

    def _delta(self, scan: Callable[[], LogicalPlan], places: Sequence[int]) -> LogicalPlan:
        kept = self.kept(scan)
        if len(self.parts) == 1:
            return self.parts[0][1].delta(kept)
        made = [self._of_epoch(self.parts[place][1].delta(kept), kept) for place in places]
        # Sides of joins and numbered rows occur in the plans of several parts.
        is_shared = bool(self.joins or self.numbers)
        added = [with_new_ids(one, self.new_column) for one in made] if is_shared else made
        return self.columns.together(dict(zip(places, added, strict=True)), places)

    def kept_of(self, added: LogicalPlan) -> LogicalPlan:
        """Rows of the state among the rows that `delta` returned."""
        return self.columns.without(self.unstored, added) if self.unstored else added

    def late_rows(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan | None:
        """Rows of an epoch whose windows are all closed; None if no row can be late.

        Raise UnsupportedError if several parts have late rows.
        """
        kept = self.kept(scan)
        states = (part for _, part in self.parts if isinstance(part, (*_CLOSED_PARTS, NumLateRows)))
        found = [rows for part in states if (rows := part.late_rows(kept)) is not None]
        if len(found) > 1:
            raise UnsupportedError(
                "LATE ROWS TO a table of several aggregates by windows, or of several UNION ALL, is not supported"
            )
        return self._of_epoch(found[0], kept) if found else None

    def _of_epoch(self, plan: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """Replace joins of streams and row numbers in a plan by the rows that an epoch adds to them."""
        found: list[StreamJoin | RowNumbers] = [*self.joins, *self.numbers]
        known = {id(one.node): one for one in found}

        def added(one: StreamJoin | RowNumbers, node: LogicalPlan) -> LogicalPlan:
            rows = self._live(one, node, kept) if isinstance(one, StreamJoin) else node
            return one.added(rows, kept, self.new_column)

        return replace_arrival_marks(_with_added(plan, known, added), kept)

    def _live(self, one: StreamJoin, join: LogicalPlan, kept: StoredState) -> LogicalPlan:
        """The join of an epoch's rows, without rows that no other row can match any more."""
        parts = [self.parts[place][1] for place in (one.left, one.right)]
        sides = zip(join.children, parts, strict=True)
        return join.with_children(
            *(part.live_new(side, kept) if isinstance(part, ExpiringRows) else side for side, part in sides)
        )

    @property
    def shown_delta(self) -> LogicalPlan:
        """Rows that an epoch adds to the first part that is not a watermark, over a placeholder state."""

        def rows(place: int) -> LogicalPlan:
            return self._unknown(self.parts[place][1].schema)

        def read(place: int) -> LogicalPlan:
            return self._unknown(self.parts[place][1].read(rows(place), kept).output)

        kept = StoredState(read, rows)
        shown = next(part.delta(kept) for _, part in self.parts if not isinstance(part, _WATERMARKS))
        return replace_arrival_marks(shown, kept)

    def _unknown(self, columns: Iterable[Field | ColumnRef]) -> LogicalPlan:
        """A placeholder row of NULLs."""
        made = tuple(self.new_column(column.name, column.dtype) for column in columns)
        return Values(made, (tuple(Literal(None, column.dtype) for column in made),))

    def kept(self, scan: Callable[[], LogicalPlan]) -> StoredState:
        """The state that `scan` reads. Each call of `scan` returns a new scan."""

        def rows(place: int) -> LogicalPlan:
            return self.columns.rows_of(place, scan())

        def read(place: int) -> LogicalPlan:
            return self.parts[place][1].read(rows(place), StoredState(read, rows))

        return StoredState(read, rows)

    def read(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan:
        return replace_parts(self.query, self.places, self.kept(scan).read)

    @property
    def places(self) -> Mapping[int, int]:
        """Places of the parts, by the id of the operator that each part replaces."""
        return {id(node): place for place, (node, _) in enumerate(self.parts)}

    @property
    def closing(self) -> ClosingWatermark | None:
        """How the windows of all rows are closed; None if some have no windows, or are closed in another way."""
        parts = [self.parts[place][1] for place in self._read_places()]
        found = [part.closing if isinstance(part, _CLOSED_PARTS) else None for part in parts]
        is_one = len({None if one is None else one.marks.places for one in found}) == 1
        return found[0] if is_one else None

    @property
    def appends_rows(self) -> bool:
        """True if epochs only append rows of the result to the state."""
        return all(isinstance(self.parts[place][1], _APPENDED_PARTS) for place in self._read_places())

    def watermark(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan:
        """A row with the watermark that closes the windows; NULL if there is none yet."""
        if self.closing is None:
            raise InternalError("nothing closes the windows of the query")
        mark = self.new_column("watermark", TIMESTAMP)
        return self.closing.with_watermark(Values((), ((),)), self.kept(scan), mark)

    def progress(self, scan: Callable[[], LogicalPlan]) -> LogicalPlan:
        """A row with the stored watermarks, each in a column named after its stream, or `NOT_IDLE`.

        A stream with IDLE AFTER has another column, whose name begins with `IS_IDLE`. If rows can be late, the last
        column, `LATE_ROWS`, has their number.
        """
        kept = self.kept(scan)
        rows: LogicalPlan = Values((), ((),))
        items, late = list[Alias](), list[Expr]()
        for place, (_, part) in enumerate(self.parts):
            if isinstance(part, (StreamWatermark, ActiveWatermark)):
                one = kept(place)
                name = part.stream if isinstance(part, StreamWatermark) else NOT_IDLE
                items.append(self.new_column(name, TIMESTAMP).holding(one.output[0]))
                if isinstance(part, ActiveWatermark):
                    idle = part.idle_streams(kept)
                    rows = Join(rows, idle, JoinKind.CROSS)
                    items += (
                        self.new_column(f"{IS_IDLE}{is_idle.name}", BOOLEAN).holding(is_idle) for is_idle in idle.output
                    )
            elif isinstance(part, NumLateRows) or (isinstance(part, _CLOSED_PARTS) and _leaves_out(part.closing)):
                one = part.num_late(kept.rows(place))
                late.append(one.output[0])
            else:
                continue
            rows = Join(rows, one, JoinKind.CROSS)
        if late:
            total = functools.reduce(lambda one, other: Call("add", (one, other), BIGINT), late)
            items.append(self.new_column(LATE_ROWS, BIGINT).holding(total))
        return Project(rows, tuple(items))

    def closed_within(self, scan: Callable[[], LogicalPlan], spans: Callable[[], Scan]) -> LogicalPlan:
        """Rows of the query for windows that were closed within one of the spans; see `read`.

        Each call of `spans` returns a new scan of the spans.
        """
        if self.closing is None:
            raise InternalError("nothing closes the windows of the query")

        def read(place: int) -> LogicalPlan:
            part = self.parts[place][1]
            assert isinstance(part, _CLOSED_PARTS)  # other parts have no closing
            return part.closed_within(self.columns.rows_of(place, scan()), spans(), self.kept(scan))

        return replace_parts(self.query, self.places, read)

    def _read_places(self) -> list[int]:
        """Places of the parts that replace operators of the query. Only these parts read the remaining ones."""
        places, waiting = self.places, [self.query]
        found = list[int]()
        while waiting:
            node = waiting.pop()
            if id(node) in places:
                found.append(places[id(node)])
            else:
                waiting += node.children
        return found

    def folds(self, scan: Callable[[], LogicalPlan], *, is_first: bool) -> tuple[LogicalPlan, ...]:
        """Folded rows, one plan for each file.

        Each part has a file of its own, so that it can be read separately. Parts of one row share a file. `is_first`:
        see `Kept`.
        """
        kept, places = replace(self.kept(scan), is_first=is_first), self._stored_places
        folded = {place: self.parts[place][1].fold(self.columns.rows_of(place, scan()), kept) for place in places}
        short = {place: plan for place, plan in folded.items() if isinstance(self.parts[place][1], _ONE_ROW)}
        if len(short) == 1:
            short.clear()
        files = [{place: plan} for place, plan in folded.items() if place not in short]
        return tuple(self.columns.together(plans, places) for plans in (*files, short) if plans)

    @property
    def labels(self) -> tuple[str, ...]:
        """Text that describes each stored part."""
        return tuple(self.parts[place][1].label for place in self._stored_places)

    @property
    def expires(self) -> bool:
        """True if rows are kept only while the watermark allows a match or an update."""
        return any(isinstance(part, ExpiringRows) or _is_forgotten(part) for _, part in self.parts)

    @property
    def growth(self) -> str | None:
        """Text that says why the state grows with the streams; None if it is bounded."""
        return next((growth for _, part in self.parts if (growth := part.growth) is not None), None)

    def has_state_of(self, other: DividedQuery) -> bool:
        """Return whether both queries can use the same state.

        Their epochs add the same rows, their folds forget the same rows, and rows that wait are emitted at the same
        time.
        """
        return self.schema == other.schema and self._uses_of_state == other._uses_of_state

    @property
    def _uses_of_state(self) -> list[LogicalPlan]:
        added, folds = self.stored_delta, self.folds(self.nothing, is_first=True)
        return list(map(_numbered, (added, *folds, *self._emitted_of_waiting)))

    @property
    def stored_delta(self) -> LogicalPlan:
        """Rows that an epoch adds to the stored parts if the state is empty."""
        return self._delta(self.nothing, self._stored_places)

    @property
    def _emitted_of_waiting(self) -> list[LogicalPlan]:
        """Rows that wait in the state until an epoch emits them, for parts that are not stored."""
        given = (self.parts[place][1] for place in sorted(self.unstored))
        return [one.window.passing(self.kept(self.nothing)) for one in given if isinstance(one, PassedRows)]

    def nothing(self) -> LogicalPlan:
        """An empty state."""
        return Values(tuple(self.new_column(field.name, field.dtype) for field in self.schema), ())


def _is_forgotten(part: StatePart) -> bool:
    """Return whether windows are emitted before they are closed, and forgotten when they are closed."""
    closing = part.closing if isinstance(part, _CLOSED_PARTS) else None
    return closing is not None and closing.sink_mode is EmitMode.UPDATE


def _leaves_out(closing: ClosingWatermark | None) -> bool:
    return closing is not None and closing.leaves_out


def _with_added(
    plan: LogicalPlan,
    known: Mapping[int, StreamJoin | RowNumbers],
    added: Callable[[StreamJoin | RowNumbers, LogicalPlan], LogicalPlan],
) -> LogicalPlan:
    """Replace nodes of a plan, by their ids, by the rows that an epoch adds to them."""
    made = plan.map_children(lambda child: _with_added(child, known, added))
    one = known.get(id(plan))
    return made if one is None else added(one, made)


def _numbered(plan: LogicalPlan) -> LogicalPlan:
    """The plan with its column ids numbered from 0."""
    known: dict[int, int] = {}
    return renumbered(plan, lambda column_id: known.setdefault(column_id, len(known)))


def replace_parts(plan: LogicalPlan, places: Mapping[int, int], read: Callable[[int], LogicalPlan]) -> LogicalPlan:
    """Replace nodes of a plan by the result of reading parts of the state.

    `places` has the place of each part, by the id of its node.
    """
    place = places.get(id(plan))
    return plan.map_children(lambda child: replace_parts(child, places, read)) if place is None else read(place)
