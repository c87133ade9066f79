"""Percentiles and histograms, exact or from bins, by states that merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types, converts, returns, with_timestamps
from sharkpy.udf.state_aggregates import state_aggregate
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    NULL,
    ArrayType,
    DataType,
    StructType,
)

_DOUBLES = ArrayType(DOUBLE)
_BINS = ArrayType(StructType(("x", "y"), (DOUBLE, DOUBLE)))
_DEFAULT_BINS = 10_000
"""Bins of percentile_approx. With fewer distinct values, only the interpolation is inexact."""


def _fractions(dtype: DataType) -> DataType | None:
    if isinstance(dtype, ArrayType):
        return _DOUBLES if converts(dtype.element, DOUBLE) else None
    return DOUBLE if converts(dtype, DOUBLE) and dtype != NULL else None


def _percentile_arguments(*more: DataType) -> Callable[[Types], Types | None]:
    def rule(types: Types) -> Types | None:
        if not 2 <= len(types) <= 2 + len(more) or not converts(types[0], DOUBLE):
            return None
        fractions = _fractions(types[1])
        if fractions is None or not all(map(converts, types[2:], more)):
            return None
        return (DOUBLE, fractions, *more[: len(types) - 2])

    return rule


def _histogram_arguments(types: Types) -> Types | None:
    fits = len(types) == 2 and converts(types[0], DOUBLE) and types[1] in INTEGER_TYPES
    return (DOUBLE, INT) if fits else None


def _fraction_problem(value: object) -> str | None:
    number = float(value) if isinstance(value, (int, float, Decimal)) else None
    return None if number is None or 0 <= number <= 1 else f"the fraction {value} is not within 0 and 1"


def _bins_problem(value: object) -> str | None:
    return f"a histogram needs at least 2 bins, not {value}" if isinstance(value, int) and value < 2 else None


def _percentile_type(types: Types) -> DataType:
    return types[1]


def _fraction_state(args: Sequence[str], types: Types, _result: DataType) -> str:
    fractions = args[1] if isinstance(types[1], ArrayType) else f"[{args[1]}]"
    return f"any_value(CAST({fractions} AS DOUBLE[])){OVER}"


def _of_fractions(sql: str) -> Lowering:
    """`sql` returns a DOUBLE[], with an item for each fraction."""

    def finish(states: Sequence[str], types: Types, _result: DataType) -> str:
        found = sql.format(*states)
        return found if isinstance(types[1], ArrayType) else f"({found})[1]"

    return finish


def _percentile(
    name: str, macro: str, *, usage: str, doc: str, example: str, answer: str, is_listed: bool = True
) -> AggregateFunction:
    row = state_aggregate(
        name,
        _percentile_arguments(),
        _percentile_type,
        ("list({distinct}{0}){over}", _fraction_state),
        lambda _types: (_DOUBLES, _DOUBLES),
        ("flatten(list({0}))", "any_value({1})"),
        _of_fractions(f"{macro}({{0}}, {{1}})"),
        constants=((1, _fraction_problem),),
        usage=usage,
        doc=doc,
        example=example,
        answer=answer,
    )
    return replace(row, is_listed=is_listed)


def _with_frequency(types: Types) -> Types | None:
    """Arguments of percentile. The third one, a frequency, must be an integer and is not cast."""
    if len(types) == 3 and types[2] not in INTEGER_TYPES:
        return None
    return _percentile_arguments(BIGINT)(types)


def _pairs_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Values with their frequencies, without NULLs and zero frequencies."""
    value, frequency = args[0], args[2]
    checked = f"CASE WHEN {frequency} < 0 THEN error('percentile: a frequency is negative') ELSE {frequency} END"
    pair = f"[{value}, CAST({frequency} AS DOUBLE)]"
    return f"list({DISTINCT}CASE WHEN {value} IS NOT NULL AND {checked} > 0 THEN {pair} END){OVER}"


_WEIGHTED = state_aggregate(
    "percentile",
    _with_frequency,
    _percentile_type,
    (_pairs_state, _fraction_state),
    lambda _types: (ArrayType(_DOUBLES), _DOUBLES),
    ("flatten(list({0}))", "any_value({1})"),
    _of_fractions("shark_weighted_percentiles(flatten(list_filter({0}, lambda pair: pair IS NOT NULL)), {1})"),
    constants=((1, _fraction_problem),),
)


def _approximate_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    bins = args[2] if len(args) > 2 else str(_DEFAULT_BINS)
    return f"shark_histogram(list({DISTINCT}{args[0]}){OVER}, CAST({bins} AS INTEGER))"


PERCENTILE_AGGREGATES = (
    replace(
        _percentile(
            "percentile",
            "shark_percentiles",
            usage="percentile(x, fraction[, frequency]), percentile(x, array of fractions[, frequency])",
            doc="exact percentile, interpolated between neighbouring values; a frequency says how often "
            "each value counts",
            example="percentile(x, 0.5)",
            answer="2.0",
        ),
        arguments=_with_frequency,
        variant=lambda types: _WEIGHTED if len(types) == 3 else None,
    ),
    _percentile(
        "percentile_cont",
        "shark_percentiles",
        usage="percentile_cont(fraction) WITHIN GROUP (ORDER BY x)",
        doc="as percentile",
        example="percentile_cont(x, 0.5)",
        answer="2.0",
    ),
    _percentile(
        "percentile_disc",
        "shark_discrete_percentiles",
        usage="percentile_disc(fraction) WITHIN GROUP (ORDER BY x)",
        doc="percentile as one of the values",
        example="percentile_disc(x, 0.5)",
        answer="1.0",
    ),
    _percentile(
        "percentile_disc_desc",
        "shark_discrete_percentiles_desc",
        usage="percentile_disc_desc(x, fraction)",
        doc="as percentile_disc, counted from the greatest value: WITHIN GROUP (ORDER BY x DESC)",
        example="percentile_disc_desc(x, 0.5)",
        answer="3.0",
        is_listed=False,
    ),
    state_aggregate(
        "percentile_approx",
        with_timestamps(_percentile_arguments(INT)),
        _percentile_type,
        (_approximate_state, _fraction_state),
        lambda _types: (BINARY, _DOUBLES),
        ("shark_histogram_merge(list({0}))", "any_value({1})"),
        _of_fractions("shark_histogram_quantiles({0}, {1})"),
        constants=((1, _fraction_problem), (2, _bins_problem)),
        usage="percentile_approx(x, fraction[, accuracy]), percentile_approx(x, array of fractions[, accuracy])",
        doc="percentile from a histogram of at most so many bins (10000), interpolated",
        example="percentile_approx(x, 0.5)",
        answer="1.0",
        aliases=("approx_percentile",),
    ),
    state_aggregate(
        "histogram_numeric",
        with_timestamps(_histogram_arguments),
        returns(_BINS),
        ("shark_histogram(list({distinct}{0}){over}, {1})",),
        lambda _types: (BINARY,),
        ("shark_histogram_merge(list({0}))",),
        "shark_histogram_bins({0})",
        constants=((1, _bins_problem),),
        usage="histogram_numeric(x, bins)",
        doc="histogram of so many bins: their centres x and heights y",
        example="histogram_numeric(x, 3)",
        answer='[{"x":1.0,"y":1.0},{"x":3.0,"y":1.0}]',
    ),
)
