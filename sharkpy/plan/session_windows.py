"""Session windows: consecutive rows without a larger gap between them."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.base.records import dataclass
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, SortKey, WindowCall, WindowFrame
from sharkpy.plan.logical import LogicalPlan, Project, Window
from sharkpy.values.types import BIGINT, BOOLEAN, INT, INTERVAL_DAY_TIME, TIMESTAMP, DataType

_EARLIER = WindowFrame("ROWS", None, -1)


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Rows with the numbers of their sessions, counted in each group from 1."""

    rows: LogicalPlan
    first: ColumnRef
    last: ColumnRef
    """The time of a row is from `first` to `last`. Both are one column if a row has a single time."""
    groups: tuple[ColumnRef, ...]
    gap: int
    """Largest distance between rows of one session, inclusive, in microseconds."""
    before: ColumnRef
    begins: ColumnRef
    number: ColumnRef

    @property
    def plan(self) -> Window:
        """A window with the columns of `rows`, then `before`, `begins` and `number`."""
        order = (SortKey(self.first),)
        if self.first == self.last:
            before = WindowCall("lag", (self.last,), self.groups, order, None, TIMESTAMP)
        else:
            before = WindowCall("max", (self.last,), self.groups, order, _EARLIER, TIMESTAMP)
        rows: LogicalPlan = Window(self.rows, (self.before.holding(before),))
        is_late = Call("gt", (self.first, time_after(self.before, self.gap)), BOOLEAN)
        is_first = Call("or", (Call("is_null", (self.before,), BOOLEAN), is_late), BOOLEAN)
        begins = Call("case_when", (is_first, Literal(1, INT), Literal(0, INT)), INT)
        rows = Project(rows, (*rows.output, self.begins.holding(begins)))
        number = WindowCall("sum", (self.begins,), self.groups, order, None, BIGINT)
        return Window(rows, (self.number.holding(number),))


def in_session_windows(
    rows: LogicalPlan,
    times: tuple[ColumnRef, ColumnRef],
    groups: tuple[ColumnRef, ...],
    gap: int,
    new_column: Callable[[str, DataType], ColumnRef],
) -> SessionWindows:
    """Return the sessions of rows in each group, by the first and last time of each row."""
    made = new_column("before", TIMESTAMP), new_column("begins", INT), new_column("session", BIGINT)
    return SessionWindows(rows, *times, groups, gap, *made)


def session_windows_of(plan: LogicalPlan) -> SessionWindows | None:
    """Return the sessions that the plan numbers, for rows with a single time, or None for another plan."""
    match plan:
        case Window(Project(Window(rows, (Alias() as before,)), (*_, Alias() as begins)), (Alias() as number,)):
            match before.expr:
                case WindowCall("lag", (ColumnRef() as time,), groups) if (gap := _gap(begins.expr)) is not None:
                    columns = tuple(group for group in groups if isinstance(group, ColumnRef))
                    found = SessionWindows(rows, time, time, columns, gap, before.ref, begins.ref, number.ref)
                    return found if found.plan == plan else None
    return None


def _gap(begins: Expr) -> int | None:
    match begins:
        case Call("case_when", (Call("or", (_, Call("gt", (_, Call("add", (_, Literal(int() as gap))))))), *_)):
            return gap
    return None


def time_after(time: Expr, gap: int) -> Expr:
    """Return the time `gap` microseconds after another one."""
    return Call("add", (time, Literal(gap, INTERVAL_DAY_TIME)), TIMESTAMP)
