"""Percentiles and histograms, exact or from bins, by states that merge.

A histogram of a stream of numbers has bins (centre, count) of which the closest are merged (Ben-Haim and Tom-Tov, "A
Streaming Parallel Decision Tree Algorithm", JMLR 2010), with the choices of Hive's NumericHistogram. A state is the
bytes of doubles: the maximum number of bins, then centre and count of each bin, by centre. Ties between closest pairs
are broken by Java's generator, seeded as in Hive, so that the rows of one task give Hive's bins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from sharkpy.columnar.compiled import compiled
from sharkpy.udf.aggregate_states import state_aggregate
from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types, converts, returns, with_timestamps
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

Doubles = np.ndarray[Any, np.dtype[np.float64]]

_SEED = (31183 ^ 0x5DEECE66D) & ((1 << 48) - 1)
_FEW_BINS = 1000
"""Number of bins up to which each value is added individually, as in Hive. With more bins, values are merged in
batches.
"""
_BATCH = 1 << 17
_MIXED = 100_000
"""Number of values of a task from which threads may have reordered them: they are sorted first, for a stable result."""


def histogram_state(values: Doubles, bins: int) -> bytes | None:
    """Return the state of the values, or None if there are none."""
    if bins < 2:
        raise ValueError(f"a histogram needs at least 2 bins, not {bins}")
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    if len(values) > _MIXED:
        values = np.sort(values)
    if bins <= _FEW_BINS:
        centres, counts = np.empty(bins + 1), np.empty(bins + 1)
        used = int(_add_all(values, centres, counts, 0, bins, np.uint64(_SEED)))
        return _packed(bins, centres[:used], counts[:used])
    centres, counts = np.empty(0), np.empty(0)
    for start in range(0, len(values), _BATCH):
        found, repeats = np.unique(values[start : start + _BATCH], return_counts=True)
        centres, counts = _together([centres, found], [counts, repeats.astype(np.float64)])
        centres, counts = _trimmed(centres, counts, bins)
    return _packed(bins, centres, counts)


def merge_histograms(states: list[bytes]) -> bytes | None:
    """Merge the states. The result does not depend on their order."""
    if len(states) < 2:
        return states[0] if states else None
    parts = [np.frombuffer(state) for state in sorted(states)]
    bins = int(parts[0][0])
    centres = np.concatenate([part[1::2] for part in parts])
    counts = np.concatenate([part[2::2] for part in parts])
    if bins > _FEW_BINS:
        return _packed(bins, *_trimmed(*_together([centres], [counts]), bins))
    order = np.argsort(centres, kind="stable")
    return _packed(bins, *_trimmed(centres[order], counts[order], bins))


def histogram_bins(state: bytes) -> list[dict[str, float]]:
    part = np.frombuffer(state)
    return [{"x": float(x), "y": float(y)} for x, y in zip(part[1::2], part[2::2], strict=True)]


def histogram_quantiles(state: bytes, fractions: Doubles) -> list[float]:
    """Return the values at the given fractions, interpolated between centres."""
    part = np.frombuffer(state)
    centres, counts = part[1::2], part[2::2]
    sums = np.cumsum(counts)
    found = []
    for fraction in fractions:
        at = min(int(np.searchsorted(sums / sums[-1], fraction)), len(centres) - 1)
        if at == 0:
            found.append(float(centres[0]))
            continue
        share = (fraction * sums[-1] - sums[at - 1]) / counts[at]
        found.append(float(centres[at - 1] + share * (centres[at] - centres[at - 1])))
    return found


def _packed(bins: int, centres: Doubles, counts: Doubles) -> bytes:
    packed = np.empty(1 + 2 * len(centres))
    packed[0], packed[1::2], packed[2::2] = bins, centres, counts
    return packed.tobytes()


def _together(centres: list[Doubles], counts: list[Doubles]) -> tuple[Doubles, Doubles]:
    """Merge bins of several lists by centre."""
    found, places = np.unique(np.concatenate(centres), return_inverse=True)
    totals = np.zeros(len(found))
    np.add.at(totals, places, np.concatenate(counts))
    return found, totals


def _trimmed(centres: Doubles, counts: Doubles, bins: int) -> tuple[Doubles, Doubles]:
    """Merge the closest bins until there are at most `bins`."""
    if bins <= _FEW_BINS:
        centres, counts = centres.copy(), counts.copy()
        used = int(_add_all(np.empty(0), centres, counts, len(centres), bins, np.uint64(_SEED)))
        return centres[:used], counts[:used]
    while (excess := len(centres) - bins) > 0:
        gaps = np.concatenate([[np.inf], np.diff(centres), [np.inf]])
        # A gap no greater than its neighbours stays so whichever gaps are closed. Of adjacent equal ones, every other
        # is taken.
        closest = np.flatnonzero((gaps[1:-1] <= gaps[:-2]) & (gaps[1:-1] <= gaps[2:]))
        runs = np.cumsum(np.diff(closest, prepend=-2) > 1)
        starts = closest[np.searchsorted(runs, runs)]
        closest = closest[(closest - starts) % 2 == 0]
        # Of equal gaps, take the ones with few values first; of these, some from all over the range.
        scattered = (closest * 0x9E3779B1) & 0xFFFFFFFF
        order = np.lexsort((scattered, counts[closest] + counts[closest + 1], gaps[closest + 1]))
        closest = closest[order[:excess]]
        total = counts[closest] + counts[closest + 1]
        moved = centres[closest] + (centres[closest + 1] - centres[closest]) * (counts[closest + 1] / total)
        centres, counts = centres.copy(), counts.copy()
        centres[closest], counts[closest] = moved, total
        centres, counts = np.delete(centres, closest + 1), np.delete(counts, closest + 1)
    return centres, counts


@compiled
def _add_all(values: Doubles, centres: Doubles, counts: Doubles, used: int, bins: int, seed: np.uint64) -> int:
    """Add the values to the first `used` bins, keeping at most `bins`. The arrays have room for one more. Return the
    number of used bins.
    """
    mask = np.uint64(0xFFFFFFFFFFFF)
    position = 0
    while True:
        while used > bins:
            least, place, ties = centres[1] - centres[0], 0, 1
            for i in range(1, used - 1):
                gap = centres[i + 1] - centres[i]
                if gap < least:
                    least, place, ties = gap, i, 1
                elif gap == least:
                    # java.util.Random.nextDouble
                    seed = (seed * np.uint64(0x5DEECE66D) + np.uint64(0xB)) & mask
                    high = seed >> np.uint64(22)
                    seed = (seed * np.uint64(0x5DEECE66D) + np.uint64(0xB)) & mask
                    drawn = float((high << np.uint64(27)) + (seed >> np.uint64(21))) * 1.1102230246251565e-16
                    ties += 1
                    if drawn <= 1.0 / ties:
                        place = i
            total = counts[place] + counts[place + 1]
            centres[place] = centres[place] * (counts[place] / total) + centres[place + 1] / total * counts[place + 1]
            counts[place] = total
            used -= 1
            for i in range(place + 1, used):
                centres[i], counts[i] = centres[i + 1], counts[i + 1]
        if position == len(values):
            return used
        value = values[position]
        position += 1
        low, high_end = 0, used
        while low < high_end:
            middle = (low + high_end) // 2
            if centres[middle] < value:
                low = middle + 1
            else:
                high_end = middle
        if low < used and centres[low] == value:
            counts[low] += 1
            continue
        for i in range(used, low, -1):
            centres[i], counts[i] = centres[i - 1], counts[i - 1]
        centres[low], counts[low] = value, 1.0
        used += 1


def weighted_percentiles(pairs: np.ndarray[Any, np.dtype[np.float64]], fractions: list[float]) -> list[float] | None:
    """Return exact percentiles, interpolated. `pairs` alternates between a value and its frequency."""
    values, frequencies = pairs[::2], pairs[1::2]
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(frequencies[order])
    if not len(ends):
        return None
    places = np.asarray(fractions) * (ends[-1] - 1)
    low, high = (
        values[order][np.searchsorted(ends, whole, side="right")] for whole in (np.floor(places), np.ceil(places))
    )
    share = places - np.floor(places)
    mixed = (1 - share) * low + share * high
    return np.where(low == high, low, mixed).tolist()  # type: ignore[no-any-return]


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
    name: str,
    macro: str,
    window: str | None = None,
    *,
    usage: str,
    doc: str,
    example: str,
    answer: str,
    is_listed: bool = True,
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
    # Lists of the rows of each window would take memory that grows with the square of their number.
    return replace(row, is_listed=is_listed, window=f"{window}({{distinct}}{{0}}, {{1}}){{over}}" if window else None)


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
            "quantile_cont",
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
        "quantile_cont",
        usage="percentile_cont(fraction) WITHIN GROUP (ORDER BY x)",
        doc="as percentile",
        example="percentile_cont(x, 0.5)",
        answer="2.0",
    ),
    _percentile(
        "percentile_disc",
        "shark_discrete_percentiles",
        "quantile_disc",
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
