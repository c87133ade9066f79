"""Aggregates of whole distributions, by states that merge: percentiles, histograms, n-grams, distinct values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.distinct_sketches import FAMILIES
from sharkpy.udf.function import AggregateFunction, Lowering, ScalarFunction
from sharkpy.udf.lower import DISTINCT, OVER, render
from sharkpy.udf.signatures import Types, converts, returns, takes
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    NULL,
    STRING,
    ArrayType,
    DataType,
    StructType,
    is_nested,
    is_string,
)

_DOUBLES = ArrayType(DOUBLE)
_BINS = ArrayType(StructType(("x", "y"), (DOUBLE, DOUBLE)))
_NGRAMS = ArrayType(StructType(("ngram", "estfrequency"), (ArrayType(STRING), DOUBLE)))
_DEFAULT_BINS = 10_000
"""Bins of percentile_approx: with fewer different values it is exact but for the interpolation."""

StateTypes = Callable[[Types], Sequence[DataType]]


def _row(
    name: str,
    arguments: Callable[[Types], Types | None],
    result: Callable[[Types], DataType],
    partials: tuple[Lowering, ...],
    state_types: StateTypes,
    merges: tuple[str, ...],
    finish: Lowering,
    *,
    ignores_distinct: bool = False,
    constants: tuple[tuple[int, Callable[[object], str | None]], ...] = (),
    usage: str = "",
    doc: str = "",
    example: str = "",
    answer: str = "",
    aliases: tuple[str, ...] = (),
) -> AggregateFunction:
    """A row that is computed from its states in one step too, so that its answer is the same everywhere."""

    def complete(args: Sequence[str], types: Types, dtype: DataType) -> str:
        states = [
            partial.format(*args, distinct=DISTINCT, over=OVER)
            if isinstance(partial, str)
            else partial(args, types, dtype)
            for partial in partials
        ]
        return render(finish, states, types, dtype)

    return AggregateFunction(
        name,
        arguments,
        result,
        complete,
        partials,
        state_types,
        merges,
        finish,
        ignores_distinct,
        constants=constants,
        usage=usage,
        doc=doc,
        example=example,
        answer=answer,
        aliases=aliases,
    )


# Percentiles: the values and the fractions asked for.


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
    """`sql` gives a DOUBLE[], an item for each fraction."""

    def finish(states: Sequence[str], types: Types, _result: DataType) -> str:
        found = sql.format(*states)
        return found if isinstance(types[1], ArrayType) else f"({found})[1]"

    return finish


def _percentile(
    name: str, macro: str, *, usage: str, doc: str, example: str, answer: str, is_listed: bool = True
) -> AggregateFunction:
    row = _row(
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
    """Arguments of percentile; the third one, a frequency, is an integer as it is given."""
    if len(types) == 3 and types[2] not in INTEGER_TYPES:
        return None
    return _percentile_arguments(BIGINT)(types)


def _pairs_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Values with their frequencies, without those that do not count."""
    value, frequency = args[0], args[2]
    checked = f"CASE WHEN {frequency} < 0 THEN error('percentile: a frequency is negative') ELSE {frequency} END"
    pair = f"[{value}, CAST({frequency} AS DOUBLE)]"
    return f"list({DISTINCT}CASE WHEN {value} IS NOT NULL AND {checked} > 0 THEN {pair} END){OVER}"


_WEIGHTED = _row(
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


# N-grams: rows are arrays of words, or arrays of sentences, which are such arrays.


def _word_lists(dtype: DataType) -> bool:
    if isinstance(dtype, ArrayType) and isinstance(dtype.element, ArrayType):
        dtype = dtype.element
    return isinstance(dtype, ArrayType) and is_string(dtype.element)


def _ngram_arguments(second: DataType) -> Callable[[Types], Types | None]:
    def rule(types: Types) -> Types | None:
        if not 3 <= len(types) <= 4 or not _word_lists(types[0]):
            return None
        rest = (second, INT, INT)[: len(types) - 1]
        fits = isinstance(types[1], ArrayType) if isinstance(second, ArrayType) else types[1] in INTEGER_TYPES
        return (types[0], *rest) if fits and all(one in INTEGER_TYPES for one in types[2:]) else None

    return rule


def _ngram_state(kernel: str) -> Lowering:
    def partial(args: Sequence[str], types: Types, _result: DataType) -> str:
        rows = f"list({DISTINCT}{args[0]}){OVER}"
        is_nested_list = isinstance(types[0], ArrayType) and isinstance(types[0].element, ArrayType)
        return f"{kernel}({f'flatten({rows})' if is_nested_list else rows}, {args[1]}, {args[2]}, {(*args, '1')[3]})"

    return partial


def _ngrams(
    name: str, second: DataType, kernel: str, *, usage: str, doc: str, example: str, answer: str
) -> AggregateFunction:
    return _row(
        name,
        _ngram_arguments(second),
        returns(_NGRAMS),
        (_ngram_state(kernel),),
        lambda _types: (BINARY,),
        ("shark_ngrams_merge(list({0}))",),
        "shark_ngrams_top({0})",
        usage=usage,
        doc=doc,
        example=example,
        answer=answer,
    )


# Sketches of distinct values.


@dataclass(frozen=True, slots=True)
class _Example:
    """SQL of a sketch of 1 and 2, and the answers: its estimate and bounds, and the estimate of sketches united."""

    sketch: str
    estimate: str
    bounds: str
    united: str


_EXAMPLES = {
    "hll": _Example(
        "unhex('0201070C030802082BF2FB06862FF90D')",
        "2.000000004967054",
        "[2.000000004967054,2.0,2.0001997319422404]",
        "2.000000004967054",
    ),
    "cpc": _Example(
        "unhex('0801100B000ECC9302000000010000000000000080FD9F400880000880000040AE38B702')",
        "2.0002442002442002",
        "[2.0002442002442002,2.0,3.0]",
        "2.0001627772335926",
    ),
    "theta": _Example(
        "unhex('02030300001ACC93020000000000000015F97DCBBD86A105C397FC1281709D1E')", "2.0", "[2.0,2.0,2.0]", "2.0"
    ),
}


def _sketch_arguments(types: Types) -> Types | None:
    if not 1 <= len(types) <= 2 or is_nested(types[0]) or (len(types) == 2 and types[1] not in INTEGER_TYPES):
        return None
    return (types[0], INT)[: len(types)]


def sketch_state(family: str, value: str, dtype: DataType, size: str = "0") -> str:
    """SQL of the sketch of a column's values: integers and floating numbers as they are, all else as its text."""
    if dtype in INTEGER_TYPES:
        kind, item = "BIGINT", f"CAST({value} AS BIGINT)"
    elif dtype in (FLOAT, DOUBLE):
        kind, item = "DOUBLE", f"CAST({value} AS DOUBLE)"
    else:
        kind, item = "VARCHAR", lower_cast(value, dtype, STRING)
    return f"shark_{family}_{kind.lower()}(list(DISTINCT {item}){OVER}, {size})"


def _family_rows(family: str) -> tuple[AggregateFunction, ...]:
    def state(args: Sequence[str], types: Types, _result: DataType) -> str:
        return sketch_state(family, args[0], types[0], args[1] if len(args) > 1 else "0")

    merge = f"shark_{family}_union(list({{0}}))"
    example = _EXAMPLES[family]
    return (
        _row(
            f"ds_{family}_sketch",
            _sketch_arguments,
            returns(BINARY),
            (state,),
            lambda _types: (BINARY,),
            (merge,),
            f"shark_{family}_union([{{0}}])",
            ignores_distinct=True,
            usage=f"ds_{family}_sketch(x[, size])",
            doc=f"a {family} sketch of the distinct values; the second argument is the binary logarithm of its size",
            example=f"ds_{family}_estimate(ds_{family}_sketch(x))",
            answer=example.united,
        ),
        _row(
            f"ds_{family}_union",
            takes(BINARY),
            returns(BINARY),
            (f"shark_{family}_union(list({{0}}){{over}})",),
            lambda _types: (BINARY,),
            (merge,),
            f"shark_{family}_union([{{0}}])",
            ignores_distinct=True,
            usage=f"ds_{family}_union(sketch)",
            doc=f"one {family} sketch of the values of all",
            example=f"ds_{family}_estimate(ds_{family}_union({example.sketch}))",
            answer=example.united,
        ),
    )


def _family_functions(family: str) -> tuple[ScalarFunction, ...]:
    example = _EXAMPLES[family]
    return (
        ScalarFunction(
            f"ds_{family}_estimate",
            takes(BINARY),
            returns(DOUBLE),
            f"shark_{family}_estimate({{0}})",
            usage=f"ds_{family}_estimate(sketch)",
            doc=f"about how many distinct values a {family} sketch has seen",
            example=f"ds_{family}_estimate({example.sketch})",
            answer=example.estimate,
        ),
        ScalarFunction(
            f"ds_{family}_estimate_bounds",
            takes(BINARY, INT, optional=1),
            returns(_DOUBLES),
            lambda args, _types, _result: f"shark_{family}_bounds({args[0]}, {(*args, '2')[1]})",
            usage=f"ds_{family}_estimate_bounds(sketch[, deviations])",
            doc="the estimate, and bounds 1, 2 (the default) or 3 standard deviations away",
            example=f"ds_{family}_estimate_bounds({example.sketch})",
            answer=example.bounds,
        ),
        ScalarFunction(
            f"ds_{family}_union_f",
            takes(BINARY, BINARY),
            returns(BINARY),
            f"shark_{family}_union([{{0}}, {{1}}])",
            usage=f"ds_{family}_union_f(a, b)",
            doc=f"one {family} sketch of the values of two",
            example=f"ds_{family}_estimate(ds_{family}_union_f({example.sketch}, {example.sketch}))",
            answer=example.united,
        ),
    )


def _theta_function(name: str, kernel: str, *, doc: str, answer: str) -> ScalarFunction:
    one = _EXAMPLES["theta"].sketch
    return ScalarFunction(
        name,
        takes(BINARY, BINARY),
        returns(BINARY),
        f"{kernel}({{0}}, {{1}})",
        usage=f"{name}(a, b)",
        doc=doc,
        example=f"ds_theta_estimate({name}({one}, {one}))",
        answer=answer,
    )


SKETCH_FUNCTIONS = (
    *(row for family in FAMILIES for row in _family_functions(family)),
    _theta_function(
        "ds_theta_intersect_f",
        "shark_theta_intersect",
        doc="the sketch of the values in both",
        answer="2.0",
    ),
    _theta_function(
        "ds_theta_exclude",
        "shark_theta_exclude",
        doc="the sketch of the first one's values not in the second",
        answer="0.0",
    ),
)

SKETCH_AGGREGATES = (
    replace(
        _percentile(
            "percentile",
            "shark_percentiles",
            usage="percentile(x, fraction[, frequency]), percentile(x, array of fractions[, frequency])",
            doc="exact percentile, interpolated between the values beside it; with a frequency, each counts so many "
            "times",
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
    _row(
        "percentile_approx",
        _percentile_arguments(INT),
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
    _row(
        "histogram_numeric",
        lambda types: (
            (DOUBLE, INT) if len(types) == 2 and converts(types[0], DOUBLE) and types[1] in INTEGER_TYPES else None
        ),
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
    _ngrams(
        "ngrams",
        INT,
        "shark_ngrams",
        usage="ngrams(sentences, n, k[, precision])",
        doc="the k most frequent sequences of n words, with their frequencies",
        example="ngrams(array('a', 'b'), 2, 5)",
        answer='[{"ngram":["a","b"],"estfrequency":2.0}]',
    ),
    _ngrams(
        "context_ngrams",
        ArrayType(STRING),
        "shark_context_ngrams",
        usage="context_ngrams(sentences, context, k[, precision])",
        doc="the k most frequent words in the places of a context that are NULL",
        example="context_ngrams(array('a', 'b'), array('a', NULL), 5)",
        answer='[{"ngram":["b"],"estfrequency":2.0}]',
    ),
    *(row for family in FAMILIES for row in _family_rows(family)),
)
