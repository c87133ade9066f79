"""Outer, semi and anti joins of streams.

A row without a match may get one later. So each side stores for each row whether it has a match, and the result is
computed from that when it is read. Rows are grouped if they are equal in every bit: GROUP BY treats 0.0 and -0.0 as one
value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from sharkpy.base.records import dataclass
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, Generate, Join, JoinKind, LogicalPlan, Project, Union
from sharkpy.plan.session_windows import time_after
from sharkpy.sql.incremental.row_state import RowState
from sharkpy.sql.incremental.row_wise import Streams, row_wise_error
from sharkpy.sql.incremental.state import EpochState, Names, NewColumn, StoredState, with_ids_of
from sharkpy.sql.incremental.stream_join import JOIN_GROWTH, with_new_ids
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    ArrayType,
    DataType,
    Field,
    MapType,
    Schema,
    StructType,
)

OUTER_JOINS = {
    JoinKind.LEFT: (True, False),
    JoinKind.RIGHT: (False, True),
    JoinKind.FULL: (True, True),
    JoinKind.SEMI: (True, False),
    JoinKind.ANTI: (True, False),
}
"""Whether the left and the right side have rows in the result that depend on a match."""


def is_outer_stream_join(node: LogicalPlan, streams: Streams) -> TypeGuard[Join]:
    """Return whether `node` is a join of streams whose rows may appear or disappear when other rows arrive.

    Its sides are row-wise.
    """
    is_one = isinstance(node, Join) and node.kind in OUTER_JOINS and all(map(streams.below, node.children))
    return is_one and all(row_wise_error(side, streams) is None for side in node.children)


@dataclass(frozen=True, slots=True)
class MatchEnd:
    """Time after which a row of one side finds no match.

    The row's time is in the column at place `time`. It finds no match if its time is more than `reach` microseconds
    before the watermark, which is a part of the state.
    """

    time: int
    reach: int
    watermark: int

    def over(self, rows: LogicalPlan, kept: StoredState) -> tuple[LogicalPlan, Expr]:
        """Rows of a side with the watermark appended, and the condition that a row finds no match any more."""
        watermark = kept(self.watermark)
        mark, time = watermark.output[0], rows.output[self.time]
        is_behind = Call("lt", (time_after(time, self.reach), mark), BOOLEAN)
        # A time that is NULL matches nothing.
        is_over = Call("or", (Call("is_null", (time,), BOOLEAN), is_behind), BOOLEAN)
        is_known = Call("is_not_null", (mark,), BOOLEAN)
        return Join(rows, watermark, JoinKind.CROSS), Call("and", (is_known, is_over), BOOLEAN)


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """State of one side of a join: distinct rows, their number, and whether the other side has a match.

    If watermarks limit which rows are joined, rows are merged only if they arrived under the same watermarks. If both
    streams have a watermark, they must also be of the same epoch. Rows that find no match any more are forgotten,
    unless the result needs them.
    """

    side: LogicalPlan
    """Rows of the side. If watermarks limit which rows are joined, `arrived` adds the last columns."""
    inner: Join
    """The inner join of both sides."""
    columns: tuple[ColumnRef, ...]
    """The first columns of the side, which are in the result."""
    end: MatchEnd | None
    """When rows find no match any more; None if they always may."""
    wants_match: bool
    """True if the result has the rows with a match, False if it has the rows without one."""
    new_column: NewColumn
    is_given: bool = False
    """True if epochs emit the rows of the result. These rows are then forgotten, too."""

    @property
    def schema(self) -> Schema:
        names = Names({"num_rows", "is_matched"})
        fields = [Field(names.take(column.name), column.dtype) for column in self.side.output]
        return Schema((*fields, Field("num_rows", BIGINT), Field("is_matched", BOOLEAN)))

    def delta(self, _kept: StoredState) -> LogicalPlan:
        own = with_new_ids(self._marked(self.side, 1, is_matched=False), self.new_column)
        matched = self._marked(self.inner, 0, is_matched=True)
        columns = tuple(self.new_column(field.name, field.dtype) for field in self.schema)
        return self._folded(Union((own, matched), columns))

    def read(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        """The rows of the side, with a last column that says whether they have a match."""
        folded = self._folded(rows)
        *found, number, is_matched = folded.output
        return Project(self._each(folded, number), (*found[: len(self.columns)], is_matched))

    def emitted(self, place: int, epoch: EpochState, end: MatchEnd | None) -> LogicalPlan:
        """The rows of the side that an epoch emits.

        With `wants_match`, these are rows that get a match in the epoch. Otherwise, they are rows of which `end` says
        in this epoch that they will have none.
        """
        folded = self._with_earlier(epoch.before.rows(place), epoch.added(place))
        *found, number, is_matched, earlier, was_matched = folded.output
        rows: LogicalPlan = folded
        is_wanted: Expr = is_matched
        was_given: Expr = was_matched
        if not self.wants_match:
            assert end is not None  # else a match might still arrive
            rows, is_over = end.over(rows, epoch.after)
            rows, was_over = end.over(rows, epoch.before)
            is_wanted = Call("and", (_not(is_matched), is_over), BOOLEAN)
            was_given = Call("and", (_not(was_matched), was_over), BOOLEAN)
        columns, nothing = tuple(found[: len(self.columns)]), Literal(0, BIGINT)
        left, known = self.new_column("num_rows", BIGINT), Call("case_when", (was_given, earlier, nothing), BIGINT)
        new = left.holding(Call("subtract", (number, known), BIGINT))
        some = Filter(Project(Filter(rows, is_wanted), (*columns, new)), Call("gt", (left, nothing), BOOLEAN))
        return Project(self._each(some, left), columns)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        folded = self._folded(rows)
        # A match in these rows may be that of equal rows that are stored earlier.
        if self.end is None or not (self.wants_match or kept.is_first):
            return folded
        is_matched = folded.output[-1]
        beside, is_over = self.end.over(folded, kept)
        is_kept: Expr = _not(is_over)
        if not (self.is_given and kept.is_first):
            is_kept = Call("or", (is_matched if self.wants_match else _not(is_matched), is_kept), BOOLEAN)
        return Project(Filter(beside, is_kept), folded.output)

    def _each(self, rows: LogicalPlan, number: ColumnRef) -> LogicalPlan:
        """Each row, repeated by the number in a column."""
        times = Call("array_repeat", (Literal(True, BOOLEAN), Cast(number, INT)), ArrayType(BOOLEAN))
        return Generate(rows, Call("explode", (times,), BOOLEAN), (self.new_column("one", BOOLEAN),), False)

    def _with_earlier(self, before: LogicalPlan, added: LogicalPlan) -> LogicalPlan:
        """Rows of the state and of an epoch, folded. The last two columns have the values before the epoch."""
        names = [*(field.name for field in self.schema), "earlier", "was_matched"]
        types = [*(field.dtype for field in self.schema), BIGINT, BOOLEAN]
        pairs: list[tuple[LogicalPlan, Sequence[Expr]]] = [
            (before, before.output[-2:]),
            (added, (Literal(0, BIGINT), Literal(False, BOOLEAN))),
        ]
        inputs = (
            Project(rows, (*rows.output, *(self.new_column("", one.dtype).holding(one) for one in known)))
            for rows, known in pairs
        )
        both = Union(tuple(inputs), tuple(map(self.new_column, names, types)))
        *columns, number, is_matched, earlier, was_matched = both.output
        calls = [("sum", number), ("bool_or", is_matched), ("sum", earlier), ("bool_or", was_matched)]
        items = (
            self.new_column(column.name, column.dtype).holding(AggregateCall(function, (column,), column.dtype))
            for function, column in calls
        )
        return exact_groups(both, columns, tuple(items), self.new_column)

    def _folded(self, rows: LogicalPlan) -> LogicalPlan:
        *columns, number, is_matched = rows.output
        num_rows = self.new_column("num_rows", BIGINT).holding(AggregateCall("sum", (number,), BIGINT))
        matched = self.new_column("is_matched", BOOLEAN).holding(AggregateCall("bool_or", (is_matched,), BOOLEAN))
        return exact_groups(rows, columns, (num_rows, matched), self.new_column)

    @property
    def label(self) -> str:
        return "rows of a side of a join, with whether they have a match"

    @property
    def growth(self) -> str | None:
        # With watermarks, rows are in the result or are forgotten.
        return JOIN_GROWTH if self.end is None else None

    def _marked(self, rows: LogicalPlan, num_rows: int, *, is_matched: bool) -> LogicalPlan:
        number = self.new_column("num_rows", BIGINT).holding(Literal(num_rows, BIGINT))
        matched = self.new_column("is_matched", BOOLEAN).holding(Literal(is_matched, BOOLEAN))
        return Project(rows, (*self.side.output, number, matched))


@dataclass(frozen=True, slots=True)
class SemiJoinState:
    """State of a semi or anti join: the rows of its left side.

    `end` says when no match can arrive any more; None if rows without a match are emitted before that.
    """

    node: Join
    left: MatchedRows
    end: MatchEnd | None

    @property
    def schema(self) -> Schema:
        return self.left.schema

    def delta(self, kept: StoredState) -> LogicalPlan:
        return self.left.delta(kept)

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        found = self.left.read(rows, kept)
        *columns, is_matched = found.output
        if self.left.wants_match:
            wanted: LogicalPlan = Project(Filter(found, is_matched), tuple(columns))
        else:
            wanted = _without_match(found, self.end, kept)
        return with_ids_of(self.node.output, wanted)

    def emitted(self, place: int, epoch: EpochState) -> LogicalPlan:
        return with_ids_of(self.node.output, self.left.emitted(place, epoch, self.end))

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.left.fold(rows, kept)

    @property
    def label(self) -> str:
        return self.left.label

    @property
    def growth(self) -> str | None:
        return self.left.growth


@dataclass(frozen=True, slots=True)
class UnmatchedRows:
    """Rows of one side that have no match, from a part of the state.

    `end` says when no match can arrive any more; None if the rows are emitted before that, and disappear when a match
    arrives.
    """

    side: int
    rows: MatchedRows
    end: MatchEnd | None


@dataclass(frozen=True, slots=True)
class OuterJoinState:
    """State of an outer join: the rows with a match. Rows without one are in the parts of the sides."""

    node: Join
    joined: RowState
    left: UnmatchedRows | None
    right: UnmatchedRows | None
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return self.joined.schema

    def delta(self, kept: StoredState) -> LogicalPlan:
        return self.joined.delta(kept)

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        joined = self.joined.read(rows, kept)
        return self._together(joined, lambda alone: _without_match(kept(alone.side), alone.end, kept))

    def emitted(self, place: int, epoch: EpochState) -> LogicalPlan:
        """The rows that get a match in an epoch, and the rows that cannot get one after it."""
        joined = self.joined.emitted(place, epoch)
        return self._together(joined, lambda alone: alone.rows.emitted(alone.side, epoch, alone.end))

    def _together(self, joined: LogicalPlan, rows_of: Callable[[UnmatchedRows], LogicalPlan]) -> LogicalPlan:
        """Rows with a match, and rows of the sides without one."""
        inputs = [self._under(joined)]
        nothing = [[Literal(None, column.dtype) for column in side.output] for side in self.node.children]
        if self.left is not None:
            side = rows_of(self.left)
            inputs.append(self._with(side, (*side.output, *nothing[1])))
        if self.right is not None:
            side = rows_of(self.right)
            inputs.append(self._with(side, (*nothing[0], *side.output)))
        return Union(tuple(inputs), self.node.output)

    def fold(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        return self.joined.fold(rows, kept)

    @property
    def label(self) -> str:
        return self.joined.label

    @property
    def growth(self) -> str | None:
        return self.joined.growth

    def _under(self, rows: LogicalPlan) -> LogicalPlan:
        return with_ids_of([self.new_column(column.name, column.dtype) for column in self.node.output], rows)

    def _with(self, side: LogicalPlan, values: Sequence[Expr]) -> LogicalPlan:
        columns = [self.new_column(column.name, column.dtype) for column in self.node.output]
        return Project(side, tuple(column.holding(value) for column, value in zip(columns, values, strict=True)))


def _without_match(side: LogicalPlan, end: MatchEnd | None, kept: StoredState) -> LogicalPlan:
    """Rows of a side without a match. With `end`, only rows that will have none."""
    *columns, is_matched = side.output
    rows: LogicalPlan = Filter(side, _not(is_matched))
    if end is not None:
        beside, is_over = end.over(rows, kept)
        rows = Filter(beside, is_over)
    return Project(rows, tuple(columns))


def _not(condition: Expr) -> Expr:
    return Call("not", (condition,), BOOLEAN)


_REALS: tuple[DataType, ...] = (DOUBLE, FLOAT)


def exact_groups(
    rows: LogicalPlan, columns: Sequence[ColumnRef], items: tuple[Alias, ...], new_column: NewColumn
) -> LogicalPlan:
    """Aggregate rows by columns without changing the columns' values. The output has these columns, then `items`."""
    signs = {
        column.column_id: new_column("sign", sign.dtype).holding(sign)
        for column in columns
        if (sign := _sign(column)) is not None
    }
    if not signs:
        return Aggregate(rows, tuple(columns), items)
    beside = Project(rows, (*rows.output, *signs.values()))
    groups = Aggregate(beside, (*columns, *(sign.ref for sign in signs.values())), items)
    kept = (_restored(column, signs, new_column) for column in columns)
    return Project(groups, (*kept, *(item.ref for item in items)))


def _sign(column: ColumnRef) -> Expr | None:
    """Expression that distinguishes -0.0 from 0.0; None if the type has no such values."""
    if column.dtype in _REALS:
        # The angle of a point to the left of the origin is pi above the axis, and -pi below it.
        angle = Call("atan2", (Cast(column, DOUBLE), Literal(-1.0, DOUBLE)), DOUBLE)
        return Call("lt", (angle, Literal(0.0, DOUBLE)), BOOLEAN)
    return Call("to_json", (column,), STRING) if _holds_reals(column.dtype) else None


def _restored(column: ColumnRef, signs: dict[int, Alias], new_column: NewColumn) -> ColumnRef | Alias:
    """The column of a group with the sign that its rows have. GROUP BY returns a zero of either sign."""
    if column.dtype not in _REALS:
        return column
    is_zero = Call("eq", (column, Literal(0.0, column.dtype)), BOOLEAN)
    is_negative = Call("and", (is_zero, signs[column.column_id].ref), BOOLEAN)
    value = Call("case_when", (is_negative, Literal(-0.0, column.dtype), column), column.dtype)
    return new_column(column.name, column.dtype).holding(value)


def _holds_reals(dtype: DataType) -> bool:
    match dtype:
        case ArrayType(element):
            return _holds_reals(element)
        case MapType(key, value):
            return _holds_reals(key) or _holds_reals(value)
        case StructType(_, types):
            return any(map(_holds_reals, types))
    return dtype in _REALS
