"""Outer, semi and anti joins of streams: rows of a side that have no match go when one comes. So each side keeps its
rows with whether they have one, and who reads the table looks at that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from sharkpy.plan.expr import AggregateCall, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, Generate, Join, JoinKind, LogicalPlan, Project, Union
from sharkpy.sql.incremental.kept_rows import KeptRows
from sharkpy.sql.incremental.row_wise import Streams, row_wise_fault
from sharkpy.sql.incremental.state import Kept, Names, NewColumn, under
from sharkpy.sql.incremental.stream_join import OF_JOINS, apart
from sharkpy.values.types import BIGINT, BOOLEAN, INT, ArrayType, Field, Schema

OUTER_JOINS = {
    JoinKind.LEFT: (True, False),
    JoinKind.RIGHT: (False, True),
    JoinKind.FULL: (True, True),
    JoinKind.SEMI: (True, False),
    JoinKind.ANTI: (True, False),
}
"""Whether the left and the right side have rows in the answer that depend on whether they have a match."""


def is_outer_stream_join(node: LogicalPlan, streams: Streams) -> TypeGuard[Join]:
    """True for a join of streams of which rows go, or come, when others come; its sides are row-wise."""
    is_one = isinstance(node, Join) and node.kind in OUTER_JOINS and all(map(streams.below, node.children))
    return is_one and all(row_wise_fault(side, streams) is None for side in node.children)


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """State of one side of a join: rows that are alike, how many they are, and whether the other side has a match."""

    side: LogicalPlan
    inner: Join
    """The inner join of both sides."""
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        names = Names({"num_rows", "is_matched"})
        fields = [Field(names.take(column.name), column.dtype) for column in self.side.output]
        return Schema((*fields, Field("num_rows", BIGINT), Field("is_matched", BOOLEAN)))

    def delta(self, _kept: Kept) -> LogicalPlan:
        own = apart(self._marked(self.side, 1, is_matched=False), self.new_column)
        matched = self._marked(self.inner, 0, is_matched=True)
        columns = tuple(self.new_column(field.name, field.dtype) for field in self.schema)
        return self._folded(Union((own, matched), columns))

    def read(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        """The rows of the side, each with whether it has a match."""
        folded = self._folded(rows)
        *columns, number, is_matched = folded.output
        times = Call("array_repeat", (Literal(True, BOOLEAN), Cast(number, INT)), ArrayType(BOOLEAN))
        each = Generate(folded, Call("explode", (times,), BOOLEAN), (self.new_column("one", BOOLEAN),), False)
        return Project(each, (*columns, is_matched))

    def fold(self, rows: LogicalPlan, _kept: Kept) -> LogicalPlan:
        return self._folded(rows)

    def _folded(self, rows: LogicalPlan) -> LogicalPlan:
        *columns, number, is_matched = rows.output
        num_rows = self.new_column("num_rows", BIGINT).holding(AggregateCall("sum", (number,), BIGINT))
        matched = self.new_column("is_matched", BOOLEAN).holding(AggregateCall("bool_or", (is_matched,), BOOLEAN))
        return Aggregate(rows, tuple(columns), (num_rows, matched))

    @property
    def label(self) -> str:
        return "rows of a side of a join, with whether they have a match"

    @property
    def growth(self) -> str | None:
        return OF_JOINS

    def _marked(self, rows: LogicalPlan, num_rows: int, *, is_matched: bool) -> LogicalPlan:
        number = self.new_column("num_rows", BIGINT).holding(Literal(num_rows, BIGINT))
        matched = self.new_column("is_matched", BOOLEAN).holding(Literal(is_matched, BOOLEAN))
        return Project(rows, (*self.side.output, number, matched))


@dataclass(frozen=True, slots=True)
class SemiJoinState:
    """State of a semi or an anti join: the rows of its left side."""

    node: Join
    left: MatchedRows

    @property
    def schema(self) -> Schema:
        return self.left.schema

    def delta(self, kept: Kept) -> LogicalPlan:
        return self.left.delta(kept)

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        found = self.left.read(rows, kept)
        *columns, is_matched = found.output
        wanted = is_matched if self.node.kind is JoinKind.SEMI else _not(is_matched)
        return under(self.node.output, Project(Filter(found, wanted), tuple(columns)))

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.left.fold(rows, kept)

    @property
    def label(self) -> str:
        return self.left.label

    @property
    def growth(self) -> str | None:
        return self.left.growth


@dataclass(frozen=True, slots=True)
class OuterJoinState:
    """State of an outer join: the rows of both sides that match. Those that do not are in the parts of the sides."""

    node: Join
    joined: KeptRows
    left: int | None
    """Part of the left side, if its rows without a match are in the answer."""
    right: int | None
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return self.joined.schema

    def delta(self, kept: Kept) -> LogicalPlan:
        return self.joined.delta(kept)

    def read(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        inputs = [self._under(self.joined.read(rows, kept))]
        nothing = [[Literal(None, column.dtype) for column in side.output] for side in self.node.children]
        if self.left is not None:
            side = kept(self.left)
            inputs.append(self._unmatched(side, (*side.output[:-1], *nothing[1])))
        if self.right is not None:
            side = kept(self.right)
            inputs.append(self._unmatched(side, (*nothing[0], *side.output[:-1])))
        return Union(tuple(inputs), self.node.output)

    def fold(self, rows: LogicalPlan, kept: Kept) -> LogicalPlan:
        return self.joined.fold(rows, kept)

    @property
    def label(self) -> str:
        return self.joined.label

    @property
    def growth(self) -> str | None:
        return self.joined.growth

    def _under(self, rows: LogicalPlan) -> LogicalPlan:
        return under([self.new_column(column.name, column.dtype) for column in self.node.output], rows)

    def _unmatched(self, side: LogicalPlan, values: Sequence[Expr]) -> LogicalPlan:
        columns = [self.new_column(column.name, column.dtype) for column in self.node.output]
        items = tuple(column.holding(value) for column, value in zip(columns, values, strict=True))
        return Project(Filter(side, _not(side.output[-1])), items)


def _not(condition: ColumnRef) -> Expr:
    return Call("not", (condition,), BOOLEAN)
