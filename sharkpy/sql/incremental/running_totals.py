"""Window functions over all rows before a row, for streams.

The totals of each partition are kept. An epoch continues from a row with the totals, which sorts before its own rows.
`rank` and `avg` are computed from counts and sums, which can be resumed.
"""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

from sharkpy.base.records import dataclass
from sharkpy.plan.expr import (
    AggregateCall,
    Alias,
    Call,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    SortKey,
    WindowCall,
    WindowFrame,
)
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project, Union, Window
from sharkpy.sql.incremental.aggregate_state import AggregateState, aggregate_state
from sharkpy.sql.incremental.state import NewColumn
from sharkpy.sql.incremental.stream_join import with_new_ids
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, INT, MAX_PRECISION, DataType, DecimalType

_EARLIER = WindowFrame("ROWS", None, 0)
_ONE = Literal(1, BIGINT)
_MOST_DIGITS = 38
"""Maximum precision of a DECIMAL. A total with more digits is NULL, and a sum cannot continue from it."""
_Made: TypeAlias = tuple[Expr, AggregateCall, str, WindowFrame | None]


@dataclass(frozen=True, slots=True)
class RunningFunction:
    """A window function over all rows before its own, expressed as `function` over a value of each row.

    A row with the `total` of earlier rows may take the place of these rows.
    """

    item: Alias
    value: Expr
    total: AggregateCall
    function: str
    frame: WindowFrame | None

    @property
    def counts_times(self) -> bool:
        """True if rows with the same time count once."""
        return isinstance(self.item.expr, WindowCall) and self.item.expr.function == "dense_rank"

    def call(self, value: ColumnRef, partition_by: tuple[Expr, ...], order: tuple[ColumnRef, ColumnRef]) -> WindowCall:
        """The call over the rows of an epoch.

        `order` is the time and the position of a row. The position distinguishes rows with the same time only in ROWS
        frames.
        """
        is_by_rows = self.frame is not None and self.frame.unit == "ROWS"
        keys = tuple(map(SortKey, order if is_by_rows else order[:1]))
        return WindowCall(self.function, (value,), partition_by, keys, self.frame, self.total.dtype)


def running_function(item: Alias, first: ColumnRef) -> RunningFunction | None:
    """A window function over all rows before its own that can be resumed; None for any other one.

    `first` is the number of a row among the rows with its time, for functions that count times.
    """
    call = item.expr
    if not isinstance(call, WindowCall) or call.distinct or call.ignore_nulls or len(call.order_by) != 1:
        return None
    is_number = call.function in ("row_number", "dense_rank")
    if not is_number and not (call.frame is None or (call.frame.start is None and call.frame.end == 0)):
        return None
    made = _made(call, first)
    return None if made is None else RunningFunction(item, *made)


def _made(call: WindowCall, first: ColumnRef) -> _Made | None:
    match call.function, call.args:
        case "row_number", ():
            return _ONE, AggregateCall("count", (), BIGINT), "sum", _EARLIER
        case "dense_rank", ():
            is_first = Call("eq", (first, Literal(1, INT)), BOOLEAN)
            number = Call("case_when", (is_first, _ONE, Literal(0, BIGINT)), BIGINT)
            return number, AggregateCall("sum", (number,), BIGINT), "sum", None
        case "count", args:
            return _counted(args), AggregateCall("count", args, BIGINT), "sum", call.frame
        case "sum", (arg,) if not (isinstance(call.dtype, DecimalType) and call.dtype.precision == _MOST_DIGITS):
            value = arg if arg.dtype == call.dtype else Cast(arg, call.dtype)
            return value, AggregateCall("sum", (arg,), call.dtype), "sum", call.frame
        case ("min" | "max") as function, (arg,):
            return arg, AggregateCall(function, (arg,), call.dtype), function, call.frame
        case "first_value", (arg,):
            (key,) = call.order_by
            return arg, AggregateCall("min_by", (arg, key.expr), call.dtype), "first_value", _EARLIER
    return None


def _counted(args: tuple[Expr, ...]) -> Expr:
    """1 for a row without a NULL argument, else 0."""
    if not args:
        return _ONE
    known = [Call("is_not_null", (arg,), BOOLEAN) for arg in args]
    is_counted = reduce(lambda one, other: Call("and", (one, other), BOOLEAN), known)
    return Call("case_when", (is_counted, _ONE, Literal(0, BIGINT)), BIGINT)


def totals_state(
    rows: LogicalPlan, found: tuple[RunningFunction, ...], partition_by: tuple[Expr, ...], new_column: NewColumn
) -> AggregateState:
    """State of the totals of functions over `rows`, for each partition."""
    groups = tuple(new_column("partition", expr.dtype).holding(expr) for expr in partition_by)
    totals = tuple(new_column(one.item.name, one.total.dtype).holding(one.total) for one in found)
    if _counts_rows(found, partition_by):
        totals += (new_column("num_rows", BIGINT).holding(AggregateCall("count", (), BIGINT)),)
    return aggregate_state(Aggregate(rows, groups, totals), new_column)


def _counts_rows(found: tuple[RunningFunction, ...], partition_by: tuple[Expr, ...]) -> bool:
    """Return whether totals of no rows, which exist without partitions, have to be recognized."""
    return not partition_by and any(one.function == "first_value" for one in found)


def with_running(
    rows: LogicalPlan,
    order: tuple[ColumnRef, ColumnRef],
    totals: LogicalPlan,
    found: tuple[RunningFunction, ...],
    partition_by: tuple[Expr, ...],
    new_column: NewColumn,
) -> tuple[LogicalPlan, dict[int, Expr]]:
    """Compute running functions over the rows of an epoch, continued from `totals`.

    All rows have a time. `totals` are the partition and the totals of earlier epochs. `order` is the time and the
    position of each row. Return the rows, and the values of the functions by the ids of their columns.
    """
    if _counts_rows(found, partition_by):
        *of_functions, num_rows = totals.output
        has_rows = Call("gt", (num_rows, Literal(0, BIGINT)), BOOLEAN)
        totals = Project(Filter(totals, has_rows), tuple(of_functions))
    columns = rows.output
    keys = tuple(new_column("partition", expr.dtype) for expr in partition_by)
    values = tuple(new_column("value", one.total.dtype) for one in found)
    computed = zip((*keys, *values), (*partition_by, *(one.value for one in found)), strict=True)
    own = Project(rows, (*columns, *(column.holding(expr) for column, expr in computed)))
    nothing = [new_column(column.name, column.dtype).holding(Literal(None, column.dtype)) for column in columns]
    before = Project(totals, (*nothing, *totals.output))
    both = Union((with_new_ids(own, new_column), before), (*columns, *keys, *values))
    made = [new_column(one.item.name, one.total.dtype) for one in found]
    calls = [one.call(value, keys, order) for one, value in zip(found, values, strict=True)]
    windowed = Window(both, tuple(column.holding(call) for column, call in zip(made, calls, strict=True)))
    # Totals have no time, and so sort first.
    of_epoch = Filter(windowed, Call("is_not_null", (order[0],), BOOLEAN))
    pairs = zip(found, made, strict=True)
    return of_epoch, {one.item.column_id: _as(column, one.item) for one, column in pairs}


def _as(column: ColumnRef, item: Alias) -> Expr:
    return column if column.dtype == item.expr.dtype else Cast(column, item.expr.dtype)


_TOTAL_DIGITS, _NUMBER_DIGITS = 10, 19
"""Digits that the total of DECIMALs has more than its values, and digits of a number of rows."""
_UP_TO, _PEERS = WindowFrame("RANGE", None, 0), WindowFrame("RANGE", 0, 0)


def with_resumable_functions(query: LogicalPlan, new_column: NewColumn) -> LogicalPlan:
    """Rewrite `rank`, and `avg` over all rows before, as expressions over counts and sums.

    This applies to functions in the order of a time with a WATERMARK.
    """
    return query.transform_up(lambda node: _divided(node, new_column) if isinstance(node, Window) else node)


def _divided(window: Window, new_column: NewColumn) -> LogicalPlan:
    items, values = list[Alias](), dict[int, Expr]()
    for item in window.windows:
        call = item.expr
        found = _parts(call, window, new_column) if isinstance(call, WindowCall) else None
        if found is None:
            items.append(item)
        else:
            parts, values[item.column_id] = found
            items += parts
    if not values:
        return window
    own = (
        Alias(values[item.column_id], item.column_id, item.name) if item.column_id in values else item.ref
        for item in window.windows
    )
    return Project(Window(window.child, tuple(items)), (*window.child.output, *own))


def _parts(call: WindowCall, window: Window, new_column: NewColumn) -> tuple[list[Alias], Expr] | None:
    """The functions from which a function is computed, and the expression; None if it stays unchanged."""
    match call.order_by:
        case (SortKey(ColumnRef() as time, ascending=True),) if has_watermark(time, window.child):
            pass
        case _:
            return None
    is_running = call.frame is None or (call.frame.start is None and call.frame.end == 0)
    match call.function, call.args:
        case "rank", ():
            up_to, peers = (_count_over(call, (), frame, new_column) for frame in (_UP_TO, _PEERS))
            before = Call("subtract", (up_to.ref, peers.ref), BIGINT)
            return [up_to, peers], Cast(Call("add", (before, Literal(1, BIGINT)), BIGINT), INT)
        case "avg", (arg,) if is_running and not (call.distinct or call.ignore_nulls):
            return _average(call, arg, new_column)
    return None


def _average(call: WindowCall, arg: Expr, new_column: NewColumn) -> tuple[list[Alias], Expr] | None:
    """A total divided by a number of values; None if the total of DECIMALs may be too long to resume from it."""
    of_total: DataType = DOUBLE
    of_number: DataType = DOUBLE
    match arg.dtype:
        case DecimalType(precision, scale) if precision + _TOTAL_DIGITS < MAX_PRECISION:
            of_total, of_number = DecimalType(precision + _TOTAL_DIGITS, scale), DecimalType(_NUMBER_DIGITS, 0)
        case _ if call.dtype != DOUBLE:
            return None
    value = Cast(arg, DOUBLE) if of_total == DOUBLE != arg.dtype else arg
    total = WindowCall("sum", (value,), call.partition_by, call.order_by, call.frame, of_total)
    both = new_column("total", of_total).holding(total), _count_over(call, (arg,), call.frame, new_column)
    return list(both), Call("divide", (both[0].ref, Cast(both[1].ref, of_number)), call.dtype)


def _count_over(call: WindowCall, args: tuple[Expr, ...], frame: WindowFrame | None, new_column: NewColumn) -> Alias:
    """The count over a frame of the same window."""
    counted = WindowCall("count", args, call.partition_by, call.order_by, frame, BIGINT)
    return new_column("number", BIGINT).holding(counted)
