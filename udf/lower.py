"""Rendering of registry rows to DuckDB SQL. Every caller uses these functions.

`bound_once` wraps a call whose arguments are computed once before it: long arguments that the call repeats, and
arguments that may raise an error or vary in a call that catches errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sharkpy.udf.duckdb_sql import string_value
from sharkpy.udf.function import AggregateFunction, Lowering, ScalarFunction, WindowFunction
from sharkpy.udf.macros import MACROS
from sharkpy.values.types import DataType

# Marks in the result of a lowering. They begin with NUL, which SQL text cannot hold, so no literal looks like one.
DISTINCT = "\x00distinct "
OVER = "\x00over"
NULLS = "\x00nulls"


def render(lowering: Lowering, args: Sequence[str], types: Sequence[DataType], result: DataType) -> str:
    """Return SQL of a lowering without the marks of aggregates."""
    if isinstance(lowering, str):
        return lowering.format(*args, args=", ".join(args))
    return lowering(args, types, result)


def lower_scalar(
    row: ScalarFunction, args: Sequence[str], types: Sequence[DataType], result: DataType, *, unchecked: bool = False
) -> str:
    """Return SQL of a scalar call whose arguments already have `types`. `unchecked` takes the cheap form if there is
    one.
    """
    lowering = row.unchecked if unchecked and row.unchecked is not None else row.lowering
    return bound_once(args, lambda given: render(lowering, given, types, result))


def render_aggregate(
    lowering: Lowering,
    args: Sequence[str],
    types: Sequence[DataType],
    result: DataType,
    *,
    distinct: bool = False,
    over: str = "",
) -> str:
    """Return SQL of an aggregate lowering. `over` is added after each DuckDB aggregate: ` FILTER (…)` and/or ` OVER
    (…)`.
    """
    word = "DISTINCT " if distinct else ""
    if isinstance(lowering, str):
        return lowering.format(*args, args=", ".join(args), distinct=word, over=over)
    return lowering(args, types, result).replace(DISTINCT, word).replace(OVER, over)


def lower_complete(
    row: AggregateFunction,
    args: Sequence[str],
    types: Sequence[DataType],
    result: DataType,
    *,
    distinct: bool = False,
    over: str = "",
) -> str:
    """Return SQL of the aggregate in one step, or as a window function with `over` = ` OVER (…)`."""
    lowering = row.window if row.window is not None and "OVER (" in over else row.complete
    return render_aggregate(lowering, args, types, result, distinct=distinct and not row.ignores_distinct, over=over)


def lower_partials(
    row: AggregateFunction,
    args: Sequence[str],
    types: Sequence[DataType],
    result: DataType,
    *,
    distinct: bool = False,
    over: str = "",
) -> tuple[str, ...]:
    """Return SQL of the aggregates that make each state column."""
    return tuple(
        render_aggregate(partial, args, types, result, distinct=distinct, over=over) for partial in row.partials
    )


def lower_merges(row: AggregateFunction, states: Sequence[str], types: Sequence[DataType]) -> tuple[str, ...]:
    """Return SQL of the aggregates that merge state columns, one for each. `types` are the types of the states."""
    return tuple(render_aggregate(merge, states, types, dtype) for merge, dtype in zip(row.merges, types, strict=True))


def lower_finish(row: AggregateFunction, states: Sequence[str], types: Sequence[DataType], result: DataType) -> str:
    """Return SQL of the result over merged state columns. `types` are the types of the aggregate's arguments."""
    return render(row.finish, states, types, result)


def lower_window(
    row: WindowFunction, args: Sequence[str], types: Sequence[DataType], result: DataType, *, over: str, nulls: str = ""
) -> str:
    """Return SQL of a pure window function. `over` = ` OVER (…)`, `nulls` = ` IGNORE NULLS` or empty."""
    text = render(row.lowering, args, types, result)
    return text.replace(NULLS, nulls).replace(OVER, over)


_SHORT_CALL = 64
_SHORT_ARGUMENT = 40
"""Length that cannot hold three nested calls: most arguments are too short to be analysed."""
_LONG_ARGUMENT = 1_000
_MOST_DOUBLED = 2


def _repeats(head: str, body: str) -> bool:
    """Return whether a macro's body uses a parameter more than once."""
    parameters = re.findall(r"\w+", head)[1:]
    return any(len(re.findall(rf"\b{name}\b", body)) > 1 for name in parameters)


# DuckDB copies the operand of each of these when it binds them: ten nested ones are a thousand copies.
_CALLS = "|".join(["nullif", *(head.partition("(")[0] for head, body in MACROS.items() if _repeats(head, body))])
_DOUBLING_CALL = re.compile(rf"\b(?:{_CALLS})\(", re.IGNORECASE)
_DOUBLING = re.compile(rf"\bBETWEEN\b|\bIN \(|\bCASE (?!WHEN\b)|{_DOUBLING_CALL.pattern}", re.IGNORECASE)
_RAISING = "|".join(head.partition("(")[0] for head, body in MACROS.items() if "error(" in body)
_VOLATILE = re.compile(rf"\b(?:error|random|setseed|uuid|{_RAISING})\(", re.IGNORECASE)
"""Occurs in SQL that DuckDB does not accept in TRY."""
_OPERAND = r"\bCASE \(*{0}\b|\b{0}\)* (?:BETWEEN\b|IN \()"


def bound_once(args: Sequence[str], call: Callable[[Sequence[str]], str]) -> str:
    """Return `call(args)`, with some arguments computed first as fields of a struct: arguments that nested calls would
    double at each level, and arguments that DuckDB does not accept in TRY.
    """
    sql = call(args)
    if "TRY(" in sql and (volatile := [place for place, arg in enumerate(args) if _VOLATILE.search(arg)]):
        given, whole = _fields(args, volatile)
        if "TRY(" in (over_fields := call(given)):
            return whole(over_fields)
    if len(sql) < _SHORT_CALL:
        return sql
    deep = [place for place, arg in enumerate(args) if _is_deep(arg)]
    if not deep:
        return sql
    given, whole = _fields(args, deep)
    over_fields = call(given)
    if not any(_is_doubled(over_fields, given[place]) for place in deep):
        return sql
    return whole(over_fields)


def _fields(args: Sequence[str], places: Sequence[int]) -> tuple[list[str], Callable[[str], str]]:
    """Replace the arguments at `places` by fields, and return them with a function that completes SQL over these
    fields.
    """
    # The name occurs in no argument, since it is longer than all of them together.
    name = f"args{sum(map(len, args))}"
    given = [f"{name}.a{place}" if place in places else arg for place, arg in enumerate(args)]
    struct = ", ".join(f"a{place} := {args[place]}" for place in places)
    return given, lambda sql: f"list_transform([struct_pack({struct})], lambda {name}: {sql})[1]"


def _is_deep(arg: str) -> bool:
    """Return whether copies of an argument are expensive. Constants, which some calls read, and functions are not
    moved.
    """
    if len(arg) < _SHORT_ARGUMENT:
        return False
    is_large = len(arg) >= _LONG_ARGUMENT or len(_DOUBLING.findall(arg)) > _MOST_DOUBLED
    return is_large and string_value(arg) is None and not arg.startswith("lambda ")


def _is_doubled(sql: str, field: str) -> bool:
    """Return whether `sql` contains a field several times, or at a place where DuckDB copies it."""
    if sql.count(field) > 1 or re.search(_OPERAND.format(re.escape(field)), sql, re.IGNORECASE):
        return True
    return any(
        field in sql[found.end() : _closing_parenthesis(sql, found.end())] for found in _DOUBLING_CALL.finditer(sql)
    )


def _closing_parenthesis(sql: str, place: int) -> int:
    depth = 1
    for found in re.finditer(r"[()]", sql[place:]):
        depth += 1 if found.group() == "(" else -1
        if not depth:
            return place + found.start()
    return len(sql)
