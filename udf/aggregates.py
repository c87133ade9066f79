"""Aggregates, in one step and as partial states that merge to the same result; sums of intervals among them.

NULL arguments are always ignored, so a FILTER may also be written as CASE WHEN … THEN argument END. Intervals are whole
numbers of months or microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.udf import decimals
from sharkpy.udf.collecting_aggregates import COLLECTING_AGGREGATES, least_or_greatest
from sharkpy.udf.column_statistics import COMPUTE_STATS
from sharkpy.udf.decimals import is_wide, wide_average, wide_sum
from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import AggregateFunction
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.moments import MOMENT_AGGREGATES
from sharkpy.udf.ngrams import NGRAM_AGGREGATES
from sharkpy.udf.page import Page
from sharkpy.udf.percentiles import PERCENTILE_AGGREGATES
from sharkpy.udf.signatures import (
    Types,
    anything,
    integer_or_double,
    numeric,
    same_as,
    with_timestamps,
)
from sharkpy.udf.sketch_functions import (
    DISTINCT_SKETCH_AGGREGATES,
    FREQUENCY_SKETCH_AGGREGATES,
    QUANTILE_SKETCH_AGGREGATES,
)
from sharkpy.values.common_types import bounded_decimal
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER_TYPES,
    ArrayType,
    DataType,
    DecimalType,
    has_map,
    is_interval,
)

_INTERVAL_STATE = DecimalType(38, 0)


def _interval_total(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"CAST(sum({DISTINCT}{args[0]}){OVER} AS DECIMAL(38,0))"


def _interval_count(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return f"count({DISTINCT}{args[0]}){OVER}"


def with_intervals(row: AggregateFunction, *, is_average: bool = False) -> AggregateFunction:
    """Extend sum or avg to intervals: the result is an interval of the same kind, or NULL if it exceeds the type."""

    def arguments(types: Types) -> Types | None:
        return types if len(types) == 1 and is_interval(types[0]) else row.arguments(types)

    def result(types: Types) -> DataType:
        return types[0] if is_interval(types[0]) else row.result(types)

    of_intervals = replace(
        _interval_average(row) if is_average else _interval_sum(row), arguments=arguments, result=result
    )

    def variant(types: Types) -> AggregateFunction | None:
        if is_interval(types[0]):
            return of_intervals
        return row.variant(types) if row.variant is not None else None

    return replace(row, arguments=arguments, result=result, variant=variant)


def _interval_sum(row: AggregateFunction) -> AggregateFunction:
    return replace(
        row,
        complete=lambda args, types, result: _interval_sum_finish(_interval_total(args, types, result), result),
        partials=(_interval_total,),
        partial_types=lambda _types: (_INTERVAL_STATE,),
        merges=("sum({0})",),
        finish=lambda args, _types, result: _interval_sum_finish(args[0], result),
        variant=None,
    )


def _interval_average(row: AggregateFunction) -> AggregateFunction:
    return replace(
        row,
        complete=_interval_average_in_one_step,
        partials=(_interval_total, _interval_count),
        partial_types=lambda _types: (_INTERVAL_STATE, BIGINT),
        merges=("sum({0})", "CAST(sum({1}) AS BIGINT)"),
        finish=lambda args, _types, result: _interval_average_finish(args[0], args[1], result),
        variant=None,
    )


def _interval_average_in_one_step(args: Sequence[str], types: Types, result: DataType) -> str:
    return _interval_average_finish(_interval_total(args, types, result), _interval_count(args, types, result), result)


def _interval_sum_finish(total: str, result: DataType) -> str:
    return f"TRY_CAST({total} AS {duckdb_type(result)})"


def _interval_average_finish(total: str, rows: str, result: DataType) -> str:
    """Return SQL of the average, rounded half away from zero."""
    mean = f"shark_divide_half_up(CAST({total} AS HUGEINT), CAST(nullif({rows}, 0) AS HUGEINT))"
    return f"TRY_CAST({mean} AS {duckdb_type(result)})"


_WIDE = DecimalType(38, 0)


def _count(args: Sequence[str], _types: Types, _result: DataType) -> str:
    if len(args) <= 1:
        return f"count({DISTINCT}{args[0]}){OVER}" if args else f"count(*){OVER}"
    known = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
    return f"count({DISTINCT}CASE WHEN {known} THEN ({', '.join(args)}) END){OVER}"


def _sum_state(types: Types) -> Sequence[DataType]:
    match types[0]:
        case DecimalType(_, scale):
            return (DecimalType(38, scale),)
    return (_WIDE,) if types[0] in INTEGER_TYPES else (DOUBLE,)


def _sum_partial(args: Sequence[str], types: Types, _result: DataType) -> str:
    if types[0] in INTEGER_TYPES:
        return f"CAST(sum({DISTINCT}{args[0]}){OVER} AS DECIMAL(38,0))"
    return f"sum({DISTINCT}{args[0]}){OVER}"


def _sum_finish(args: Sequence[str], _types: Types, result: DataType) -> str:
    if result == BIGINT:
        return f"shark_wrap_bigint({args[0]})"
    return f"TRY_CAST({args[0]} AS {duckdb_type(result)})" if isinstance(result, DecimalType) else args[0]


def _sum(args: Sequence[str], types: Types, result: DataType) -> str:
    return _sum_finish([f"sum({DISTINCT}{args[0]}){OVER}"], types, result)


def _average_type(types: Types) -> DataType:
    match types[0]:
        case DecimalType(precision, scale):
            return bounded_decimal(precision + 4, scale + 4)
    return DOUBLE


def _average_finish(args: Sequence[str], types: Types, result: DataType) -> str:
    total, rows = args
    if not isinstance(types[0], DecimalType) or not isinstance(result, DecimalType):
        return f"(CAST({total} AS DOUBLE) / nullif({rows}, 0))"
    state = DecimalType(min(38, types[0].precision + 10), types[0].scale)
    if state.precision + state.scale > 38 or state.precision + result.scale - state.scale > 37:
        return decimals.kernel("/", total, rows, result)
    digits = f"{decimals.unscaled(total, DecimalType(38, state.scale))} * 1{'0' * (result.scale - state.scale)}"
    return decimals.scaled(f"shark_divide_half_up({digits}, CAST({rows} AS HUGEINT))", result)


def _average(args: Sequence[str], types: Types, result: DataType) -> str:
    total, rows = f"sum({DISTINCT}{args[0]}){OVER}", f"count({DISTINCT}{args[0]}){OVER}"
    return _average_finish([total, rows], types, result)


def _extreme(name: str, *, doc: str, answer: str) -> AggregateFunction:
    def lower(args: Sequence[str], types: Types, _result: DataType) -> str:
        return least_or_greatest(name, args[0], types[0])

    return Page(f"{name}(x)", doc, f"{name}(x) -> {answer}").aggregate(
        lambda types: types if len(types) == 1 and not has_map(types[0]) else None,
        same_as(0),
        lower,
        partials=(lower,),
        partial_types=lambda types: types,
        merges=(lower,),
        ignores_distinct=True,
    )


def _boolean(name: str, function: str, *, doc: str, answer: str, aliases: tuple[str, ...]) -> AggregateFunction:
    return Page(f"{name}(x)", doc, f"{name}(x > 1) -> {answer}").aggregate(
        (BOOLEAN,),
        BOOLEAN,
        f"{function}({{0}}){{over}}",
        partials=(f"{function}({{0}}){{over}}",),
        partial_types=lambda _types: (BOOLEAN,),
        merges=(f"{function}({{0}})",),
        ignores_distinct=True,
        aliases=aliases,
    )


def _bits(name: str, *, answer: str) -> AggregateFunction:
    return Page(f"{name}(x)", f"{name} of all values", f"{name}(x) -> {answer}").aggregate(
        lambda types: types if len(types) == 1 and types[0] in INTEGER_TYPES else None,
        same_as(0),
        f"{name}({{distinct}}{{0}}){{over}}",
        partials=(f"{name}({{distinct}}{{0}}){{over}}",),
        partial_types=lambda types: types,
        merges=(f"{name}({{0}})",),
        is_listed=False,
    )


_SUM = Page(
    "sum(x)", "sum: BIGINT of integers (wraps), DECIMAL with ten more digits, else DOUBLE", "sum(x) -> 4"
).aggregate(
    with_timestamps(numeric),
    integer_or_double,
    _sum,
    partials=(_sum_partial,),
    partial_types=_sum_state,
    merges=("sum({0})",),
    finish=_sum_finish,
)
_AVERAGE = Page("avg(x)", "mean: DOUBLE, or DECIMAL with four more digits", "avg(x) -> 2.0").aggregate(
    with_timestamps(numeric),
    _average_type,
    _average,
    partials=(_sum_partial, "count({distinct}{0}){over}"),
    partial_types=lambda types: (*_sum_state(types), BIGINT),
    merges=("sum({0})", "CAST(sum({1}) AS BIGINT)"),
    finish=_average_finish,
    aliases=("mean", "try_avg"),
)


AGGREGATES = (
    Page(
        "count(*), count(x, …), count(DISTINCT x, …)",
        "number of rows, or of rows in which no argument is NULL",
        "count(x) -> 2",
    ).aggregate(
        anything(),
        BIGINT,
        _count,
        partials=(_count,),
        partial_types=lambda _types: (BIGINT,),
        merges=("CAST(sum({0}) AS BIGINT)",),
        finish="coalesce({0}, 0)",
    ),
    with_intervals(replace(_SUM, variant=lambda types: wide_sum(_SUM) if is_wide(types) else None)),
    replace(
        _SUM,
        name="try_sum",
        complete=lambda args, _types, result: f"TRY_CAST(sum({DISTINCT}{args[0]}){OVER} AS {duckdb_type(result)})",
        finish=lambda args, _types, result: f"TRY_CAST({args[0]} AS {duckdb_type(result)})",
        variant=lambda types: wide_sum(_SUM) if is_wide(types) else None,
        usage="try_sum(x)",
        doc="sum; NULL if it does not fit the type",
        example="try_sum(x)",
        answer="4",
    ),
    with_intervals(
        replace(_AVERAGE, variant=lambda types: wide_average(_AVERAGE) if is_wide(types) else None), is_average=True
    ),
    COMPUTE_STATS,
    _extreme("min", doc="the least value", answer="1"),
    _extreme("max", doc="the greatest value", answer="3"),
    Page(
        "approx_count_distinct(x[, deviation])", "estimated number of distinct values", "approx_count_distinct(x) -> 2"
    ).aggregate(
        lambda types: types[:1] if 1 <= len(types) <= 2 else None,
        BIGINT,
        "approx_count_distinct({0}){over}",
        ignores_distinct=True,
    ),
    _boolean("bool_and", "bool_and", doc="whether all are true", answer="false", aliases=("every",)),
    _boolean("bool_or", "bool_or", doc="whether some are true", answer="true", aliases=("any", "some")),
    _bits("bit_and", answer="1"),
    _bits("bit_or", answer="3"),
    _bits("bit_xor", answer="2"),
    Page("count_if(condition)", "number of rows for which the argument is true", "count_if(x > 1) -> 1").aggregate(
        (BOOLEAN,),
        BIGINT,
        "count({distinct}CASE WHEN {0} THEN 1 END){over}",
        partials=("count({distinct}CASE WHEN {0} THEN 1 END){over}",),
        partial_types=lambda _types: (BIGINT,),
        merges=("CAST(sum({0}) AS BIGINT)",),
        finish="coalesce({0}, 0)",
    ),
    Page("median(x)", "the value in the middle, or the mean of both", "median(x) -> 2.0").aggregate(
        (DOUBLE,),
        DOUBLE,
        "median({distinct}{0}){over}",
        partials=("list({distinct}{0}){over}",),
        partial_types=lambda _types: (ArrayType(DOUBLE),),
        merges=("flatten(list({0}))",),
        finish="list_aggregate({0}, 'median')",
    ),
    Page("mode(x)", "the most frequent value", "mode(x > 0) -> true").aggregate(
        lambda types: types if len(types) == 1 and not has_map(types[0]) else None,
        same_as(0),
        "mode({0}){over}",
        ignores_distinct=True,
    ),
    *COLLECTING_AGGREGATES,
    *MOMENT_AGGREGATES,
    *PERCENTILE_AGGREGATES,
    *NGRAM_AGGREGATES,
    *DISTINCT_SKETCH_AGGREGATES,
    *QUANTILE_SKETCH_AGGREGATES,
    *FREQUENCY_SKETCH_AGGREGATES,
)
