"""Rendering of registry rows to DuckDB SQL. Every caller uses these functions."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.bound_once import bound_once
from sharkpy.udf.function import AggregateFunction, Lowering, ScalarFunction, WindowFunction
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
    return render_aggregate(
        row.complete, args, types, result, distinct=distinct and not row.ignores_distinct, over=over
    )


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
