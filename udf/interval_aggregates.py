"""Sums and averages of intervals, which are whole numbers of months or microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.udf.function import AggregateFunction
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import BIGINT, DataType, DecimalType, is_interval

_STATE = DecimalType(38, 0)


def _total(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"CAST(sum({DISTINCT}{args[0]}){OVER} AS DECIMAL(38,0))"


def _count(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"count({DISTINCT}{args[0]}){OVER}"


def with_intervals(row: AggregateFunction, *, is_average: bool = False) -> AggregateFunction:
    """Extend sum or avg to intervals: the result is an interval of the same kind, or NULL if it exceeds the type."""

    def arguments(types: Types) -> Types | None:
        return types if len(types) == 1 and is_interval(types[0]) else row.arguments(types)

    def result(types: Types) -> DataType:
        return types[0] if is_interval(types[0]) else row.result(types)

    of_intervals = replace(_average(row) if is_average else _sum(row), arguments=arguments, result=result)

    def variant(types: Types) -> AggregateFunction | None:
        if is_interval(types[0]):
            return of_intervals
        return row.variant(types) if row.variant is not None else None

    return replace(row, arguments=arguments, result=result, variant=variant)


def _sum(row: AggregateFunction) -> AggregateFunction:
    return replace(
        row,
        complete=lambda args, types, result: _sum_of(_total(args, types, result), result),
        partials=(_total,),
        partial_types=lambda _types: (_STATE,),
        merges=("sum({0})",),
        finish=lambda args, _types, result: _sum_of(args[0], result),
        variant=None,
    )


def _average(row: AggregateFunction) -> AggregateFunction:
    return replace(
        row,
        complete=_average_in_one_step,
        partials=(_total, _count),
        partial_types=lambda _types: (_STATE, BIGINT),
        merges=("sum({0})", "CAST(sum({1}) AS BIGINT)"),
        finish=lambda args, _types, result: _average_of(args[0], args[1], result),
        variant=None,
    )


def _average_in_one_step(args: Sequence[str], types: Types, result: DataType) -> str:
    return _average_of(_total(args, types, result), _count(args, types, result), result)


def _sum_of(total: str, result: DataType) -> str:
    return f"TRY_CAST({total} AS {duckdb_type(result)})"


def _average_of(total: str, rows: str, result: DataType) -> str:
    """Return SQL of the average, rounded half away from zero."""
    mean = f"shark_divide_half_up(CAST({total} AS HUGEINT), CAST(nullif({rows}, 0) AS HUGEINT))"
    return f"TRY_CAST({mean} AS {duckdb_type(result)})"
