"""row_number() OVER () of streams: rows are counted as they arrive."""

from __future__ import annotations

from typing import TypeGuard

from sharkpy.base.records import dataclass
from sharkpy.plan.expr import AggregateCall, Call, Cast, Literal, WindowCall
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project, Window
from sharkpy.sql.incremental.state import NewColumn, StoredState
from sharkpy.values.types import BIGINT, Field, Schema


def is_numbering(node: LogicalPlan) -> TypeGuard[Window]:
    """Return whether `node` is a Window that numbers all rows, in the order of their arrival."""
    if not isinstance(node, Window) or len(node.windows) != 1:
        return False
    call = node.windows[0].expr
    if not isinstance(call, WindowCall) or call.function != "row_number":
        return False
    return not call.partition_by and not call.order_by


@dataclass(frozen=True, slots=True)
class NumRows:
    """State of the number of rows that have arrived."""

    rows: LogicalPlan
    new_column: NewColumn

    @property
    def schema(self) -> Schema:
        return Schema((Field("num_rows", BIGINT),))

    def delta(self, _kept: StoredState) -> LogicalPlan:
        call = AggregateCall("count", (), BIGINT)
        return Aggregate(self.rows, (), (self.new_column("num_rows", BIGINT).holding(call),))

    def read(self, rows: LogicalPlan, kept: StoredState) -> LogicalPlan:
        total = self.fold(rows, kept)
        number = Call("coalesce", (total.output[0], Literal(0, BIGINT)), BIGINT)
        return Project(total, (self.new_column("num_rows", BIGINT).holding(number),))

    def fold(self, rows: LogicalPlan, _kept: StoredState) -> LogicalPlan:
        call = AggregateCall("sum", rows.output[:1], BIGINT)
        return Aggregate(rows, (), (self.new_column("num_rows", BIGINT).holding(call),))

    @property
    def label(self) -> str:
        return "the number of rows that have come"

    @property
    def growth(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """Row numbers that continue from the number of earlier rows, which is a part of the state."""

    node: Window
    place: int

    def added(self, window: LogicalPlan, kept: StoredState, new_column: NewColumn) -> LogicalPlan:
        """Rows that an epoch adds. `window` is the Window over only the epoch's own rows."""
        (rows,), (item,) = window.children, self.node.windows
        own, before = new_column(item.name, BIGINT), kept(self.place)
        numbered = Window(rows, (own.holding(WindowCall("row_number", (), (), (), None, BIGINT)),))
        total = Call("add", (own, before.output[0]), BIGINT)
        number = total if item.expr.dtype == BIGINT else Cast(total, item.expr.dtype)
        return Project(Join(numbered, before, JoinKind.CROSS), (*rows.output, item.ref.holding(number)))
