"""Values of constant expressions, computed by the same SQL that a task would run."""

from __future__ import annotations

import contextlib
import datetime
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.base.cancellation import check_cancelled, current_cancellation
from sharkpy.base.errors import SharkError
from sharkpy.optimizer.function_traits import is_strict_function
from sharkpy.plan.expr import Call, Cast, Expr, InSet, Literal
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    StringType,
    VarcharType,
    is_nested,
    is_string,
)

if TYPE_CHECKING:
    import duckdb

    from sharkpy.udf.connection import CallingConnection
    from sharkpy.udf.value_size import Sized

    _Opened = tuple[duckdb.DuckDBPyConnection, CallingConnection, set[str]]
    """A connection, and the names of the functions in its database."""

_CACHE_ENTRIES = 10_000
_CACHE: dict[tuple[str | None, DataType], Literal | None] = {}
_UNKNOWN = object()
_IDLE: list[_Opened] = []
"""Connections that are not in use. With several, a long computation does not block other statements."""
_LIMITS = {TINYINT: 1 << 7, SMALLINT: 1 << 15, INT: 1 << 31, BIGINT: 1 << 63}
_SIMPLE_DATE_LENGTH = 10
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_COMPUTE: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}
_COMPARABLE = (TINYINT, SMALLINT, INT, BIGINT, STRING, DATE)


def evaluate_quickly(expr: Expr) -> Literal | None:
    """Return the value of a call or cast of literals if plain Python certainly gives Hive's result, else None."""
    match expr:
        case Cast(Literal(value, source), target):
            return _quick_cast(value, source, target)
        case InSet(Literal(value), constants):
            return Literal(constants.contains(value), BOOLEAN)
        case Call(function, args) if is_strict_function(function):
            if any(isinstance(arg, Literal) and arg.value is None for arg in args):
                return Literal(None, expr.dtype)
    match expr:
        case Call("date_add" | "date_sub" as name, (Literal(datetime.date() as day, source), Literal(int() as days))):
            if source == DATE and expr.dtype == DATE:
                return _shifted(day, days if name == "date_add" else -days)
        case Call(function, (Literal(one, source), Literal(other, target))) if function in _COMPARE:
            if source == target and source in _COMPARABLE:
                return Literal(_COMPARE[function](one, other), BOOLEAN)
        case Call(function, (Literal(int() as one, source), Literal(int() as other, target))) if function in _COMPUTE:
            if source == target == expr.dtype and source in _LIMITS:
                return _quick_cast(_COMPUTE[function](one, other), source, source)
    return None


def _shifted(day: datetime.date, days: int) -> Literal | None:
    try:
        return Literal(day + datetime.timedelta(days), DATE)
    except OverflowError:
        return None


def _quick_cast(value: Any, source: DataType, target: DataType) -> Literal | None:
    if value is None:
        return Literal(None, target)
    if isinstance(source, (StringType, VarcharType)) and target == STRING:
        return Literal(value, target)
    if source in _LIMITS and target in _LIMITS:
        return Literal(value, target) if -_LIMITS[target] <= value < _LIMITS[target] else None
    if source in (TINYINT, SMALLINT, INT) and target == DOUBLE:
        return Literal(float(value), DOUBLE)
    if source == DATE and target == TIMESTAMP:
        return Literal(datetime.datetime(value.year, value.month, value.day), TIMESTAMP)
    if is_string(source) and target == DATE and len(value) == _SIMPLE_DATE_LENGTH and value.isascii():
        try:
            return Literal(datetime.date.fromisoformat(value), DATE)
        except ValueError:
            return None
    return None


def evaluate(exprs: Sequence[Expr]) -> list[Literal | None]:
    """Evaluate deterministic expressions over literals. The result is None for one without a plain value."""
    sql = [_lowered_or_none(expr) for expr in exprs]
    keys = [(text, expr.dtype) for text, expr in zip(sql, exprs, strict=True)]
    known: dict[tuple[str | None, DataType], Any] = {key: _CACHE.get(key, _UNKNOWN) for key in keys}
    missing = [key for key, value in known.items() if value is _UNKNOWN and key[0] is not None]
    if missing:
        known.update(zip(missing, _run(missing), strict=True))
        if len(_CACHE) > _CACHE_ENTRIES:
            _CACHE.clear()
        _CACHE.update((key, known[key]) for key in missing)
    return [known[key] if key[0] is not None else None for key in keys]


def _run(items: Sequence[tuple[str | None, DataType]]) -> list[Literal | None]:
    import duckdb

    text = "SELECT " + ", ".join(text for text, _ in items if text)
    statement = current_cancellation()
    try:
        with _connection(text) as (connection, calling), calling.working_for(statement):
            forget = statement.on_cancel(connection.interrupt) if statement is not None else _nothing
            try:
                (row,) = connection.execute(text).fetchall()
            finally:
                forget()
    except duckdb.Error:
        check_cancelled()
        if len(items) == 1:
            return [None]
        return [_run([item])[0] for item in items]
    return [_as_literal(value, dtype) for value, (_, dtype) in zip(row, items, strict=True)]


def _as_literal(value: Any, dtype: DataType) -> Literal | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if dtype == BOOLEAN and value is not None:
        value = bool(value)
    if isinstance(value, datetime.timedelta):
        return None
    if isinstance(value, str) and dtype in (DATE, TIMESTAMP):
        return None  # outside the years that Python supports
    return Literal(value, dtype)


def _nothing() -> None:
    """There is nothing to undo."""


@contextlib.contextmanager
def _connection(text: str) -> Iterator[tuple[duckdb.DuckDBPyConnection, CallingConnection]]:
    """Lend a connection with the functions that `text` calls."""
    import duckdb

    from sharkpy.udf.connection import define_functions, functions_of

    try:
        found = _IDLE.pop()
    except IndexError:
        found = _opened()
    connection, calling, known = found
    try:
        if missing := functions_of(text) - known:
            define_functions(connection, missing)
            known |= missing
        yield connection, calling
    except (duckdb.InternalException, duckdb.FatalException):
        # Its database may be invalid.
        connection.close()
        raise
    except BaseException:
        _IDLE.append(found)
        raise
    _IDLE.append(found)


def _opened() -> _Opened:
    """Return a connection for small values: larger values stay expressions in the query, not literals in its text."""
    import duckdb

    from sharkpy.udf.connection import prepare_cursor
    from sharkpy.udf.value_limit import SMALL_BYTES

    connection = duckdb.connect(config={"threads": 1})
    calling = prepare_cursor(connection, SMALL_BYTES)
    # Its optimizer would recompute a failing constant after each of its rules.
    connection.execute("PRAGMA disable_optimizer")
    return connection, calling, set()


def _lowered_or_none(expr: Expr) -> str | None:
    if is_nested(expr.dtype):
        return None
    try:
        return lower_constant(expr)
    except (SharkError, LookupError):
        return None


def lower_constant(expr: Expr) -> str:
    """Return DuckDB SQL of an expression without columns. Raise LookupError for a function that is not in the
    registry.
    """
    return _sized_constant(expr).sql


def _sized_constant(expr: Expr) -> Sized:
    from sharkpy.udf import registry
    from sharkpy.udf.casts import lower_cast
    from sharkpy.udf.checked_call import lower_checked
    from sharkpy.udf.duckdb_sql import lower_literal
    from sharkpy.udf.value_size import Sized, cast_extent, leaf_extent

    match expr:
        case Literal(value, dtype):
            sql = lower_literal(value, dtype)
            return Sized(sql, dtype, leaf_extent(sql, dtype))
        case Cast(inner, dtype):
            made = _sized_constant(inner)
            sql = lower_cast(made.sql, inner.dtype, dtype)
            return Sized(sql, dtype, cast_extent(made.extent, inner.dtype, dtype))
        case Call(function, args, dtype):
            row = registry.scalar(function)
            if row is None:
                raise LookupError(function)
            return lower_checked(row, [_sized_constant(arg) for arg in args], dtype)
    raise LookupError(type(expr).__name__)
