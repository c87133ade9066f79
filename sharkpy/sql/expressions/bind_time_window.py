"""Window functions of time, as in Spark: window(time, size[, slide[, offset]]), session_window(time, gap).

row_window(size[, slide]) makes windows of a number of rows, in the order of their arrival.
"""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from sharkpy.base.errors import BindError, SharkError, TypeMismatchError
from sharkpy.plan.expr import Call, Expr, Literal
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import literals
from sharkpy.sql.expressions.coercion import cast
from sharkpy.udf.time_window_functions import WINDOW, WINDOW_TYPE
from sharkpy.values.types import BIGINT, DATE, INTEGER_TYPES, INTERVAL_DAY_TIME, TIMESTAMP, StringType, StructType

SLIDING_WINDOW = "window"
SESSION_WINDOW = "session_window"
ROW_WINDOW = "row_window"
"""These calls are replaced before the plan is finished: by a Generate, by sessions, or by row numbers below
GROUP BY.
"""
ROW_WINDOW_TYPE = StructType(("start", "end"), (BIGINT, BIGINT))
_MOST_WINDOWS = 10_000
"""Maximum number of windows that contain a row: the row is repeated for each of them."""
_MOST_ROWS = 1 << 60
_CLAUSES = ("SELECT", "GROUP BY", "HAVING", "QUALIFY", "ORDER BY")


class _Clause(Protocol):
    @property
    def name(self) -> str: ...


class _Binder(Protocol):
    """The part of the binder of expressions that windows need. It avoids an import cycle."""

    @property
    def context(self) -> Context: ...

    @property
    def clause(self) -> _Clause: ...

    def bind(self, node: exp.Expr) -> Expr: ...


def bind_window(binder: _Binder, node: exp.Expr) -> Expr:
    """Bind window(…)."""
    if not 2 <= len(node.expressions) <= 4:
        raise _wrong(binder, node, "window takes a time, a size, and optionally a slide and an offset")
    time = _time(binder, node)
    size, *others = (_microseconds(binder, one) for one in node.expressions[1:])
    slide, offset = (*others, *(size, 0)[len(others) :])
    if size <= 0 or slide <= 0:
        raise _wrong(binder, node, "the size and the slide of a window must be longer than 0")
    if slide > size:
        raise _wrong(binder, node, "the slide of a window is longer than its size: some rows would be in no window")
    if abs(offset) >= slide:
        raise _wrong(binder, node, "the offset of a window must be shorter than its slide")
    if slide == size:
        return Call(WINDOW, (time, Literal(size, BIGINT), Literal(offset, BIGINT)), WINDOW_TYPE)
    _check_number(binder, node, size, slide)
    if binder.clause.name not in _CLAUSES:
        raise binder.context.unsupported(f"a window with a slide in {binder.clause.name}", node)
    lengths = (Literal(number, BIGINT) for number in (size, slide, offset))
    return Call(SLIDING_WINDOW, (time, *lengths), WINDOW_TYPE)


def bind_session_window(binder: _Binder, node: exp.Expr) -> Expr:
    """Bind session_window(…), which GROUP BY replaces by a session number."""
    if len(node.expressions) != 2:
        raise _wrong(binder, node, "session_window takes a time and a gap")
    if binder.clause.name not in _CLAUSES:
        raise binder.context.unsupported(f"session_window in {binder.clause.name}", node)
    time, gap = _time(binder, node), _microseconds(binder, node.expressions[1])
    if gap <= 0:
        raise _wrong(binder, node, "the gap of a session must be longer than 0")
    return Call(SESSION_WINDOW, (time, Literal(gap, BIGINT)), WINDOW_TYPE)


def bind_row_window(binder: _Binder, node: exp.Expr) -> Expr:
    """Bind row_window(…), which GROUP BY replaces by a window of row numbers."""
    if not 1 <= len(node.expressions) <= 2:
        raise _wrong(
            binder,
            node,
            "row_window takes a number of rows, and optionally the number of rows until the next window begins",
        )
    if binder.clause.name not in _CLAUSES:
        raise binder.context.unsupported(f"row_window in {binder.clause.name}", node)
    size, *others = (_num_rows(binder, one) for one in node.expressions)
    slide = others[0] if others else size
    if slide > size:
        raise _wrong(
            binder, node, "the slide of a window has more rows than the window: some rows would be in no window"
        )
    _check_number(binder, node, size, slide)
    return Call(ROW_WINDOW, (Literal(size, BIGINT), Literal(slide, BIGINT)), ROW_WINDOW_TYPE)


def _num_rows(binder: _Binder, node: exp.Expr) -> int:
    match binder.bind(node):
        case Literal(int() as number, dtype) if dtype in INTEGER_TYPES and 0 < number <= _MOST_ROWS:
            return number
        case other:
            raise _wrong(binder, node, f"{other} is not a number of rows for a window")


def _check_number(binder: _Binder, node: exp.Expr, size: int, slide: int) -> None:
    """Raise BindError 54000 if a row would be in too many windows."""
    if -(-size // slide) > _MOST_WINDOWS:
        message = f"a row would be in {-(-size // slide):,} windows; at most {_MOST_WINDOWS:,} are allowed"
        raise binder.context.error(message, node, hint="make the slide longer", sqlstate="54000")


def _time(binder: _Binder, node: exp.Expr) -> Expr:
    time = binder.bind(node.expressions[0])
    if time.dtype not in (TIMESTAMP, DATE) and not isinstance(time.dtype, StringType):
        message = f"a window needs a time, and {time} is {time.dtype}"
        raise binder.context.error(message, node.expressions[0], TypeMismatchError)
    return cast(time, TIMESTAMP)


def _microseconds(binder: _Binder, node: exp.Expr) -> int:
    """Length of a day-time interval in microseconds, given as an interval or its text."""
    length = binder.bind(node)
    match length:
        case Literal(str() as text):
            words = text.strip()
            words = words[len("interval") :] if words.lower().startswith("interval ") else words
            try:
                length = literals.interval_literal(words, "")
            except BindError as error:
                raise binder.context.error(error.message, node, hint=error.hint, sqlstate=error.sqlstate) from None
    if not isinstance(length, Literal) or length.dtype != INTERVAL_DAY_TIME or not isinstance(length.value, int):
        message = f"{length} is not a constant interval of days and times"
        raise binder.context.error(message, node, TypeMismatchError, "write '10 minutes'")
    return length.value


def _wrong(binder: _Binder, node: exp.Expr, message: str) -> SharkError:
    return binder.context.error(message, node, TypeMismatchError)
