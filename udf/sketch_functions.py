"""Functions and aggregates of sketches: distinct values, frequent items and counts, quantiles (KLL)."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.records import dataclass
from sharkpy.udf.aggregate_states import state_aggregate
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.distinct_sketches import FAMILIES
from sharkpy.udf.duckdb_sql import quote_string
from sharkpy.udf.frequency_sketches import (
    DEFAULT_FREQUENT,
    ERROR_TYPES,
    countmin_fraction_problem,
    frequent_size_problem,
)
from sharkpy.udf.function import AggregateFunction, Lowering, ScalarFunction
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.page import Page
from sharkpy.udf.quantile_sketches import DEFAULT_SIZE, kll_size_problem
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    STRING,
    ArrayType,
    DataType,
    is_nested,
)


def merge_of(family: str) -> str:
    """Return SQL of one sketch of the values of several sketches."""
    return f"shark_{family}_union(list({{0}}))"


def union_aggregate(family: str, *, example: str, answer: str) -> AggregateFunction:
    return state_aggregate(
        f"ds_{family}_union",
        takes(BINARY),
        returns(BINARY),
        (f"shark_{family}_union(list({{distinct}}{{0}}){{over}})",),
        lambda _types: (BINARY,),
        (merge_of(family),),
        "{0}",
        usage=f"ds_{family}_union(sketch)",
        doc=f"one {family} sketch of the values of all",
        example=example,
        answer=answer,
    )


def union_function(family: str, *, example: str, answer: str) -> ScalarFunction:
    return Page(
        f"ds_{family}_union_f(a, b)", f"one {family} sketch of the values of two", f"{example} -> {answer}"
    ).scalar((BINARY, BINARY), BINARY, f"shark_{family}_union([{{0}}, {{1}}])")


@dataclass(frozen=True, slots=True)
class _DistinctExample:
    """SQL of a sketch of 1 and 2, with the answers: its estimate and bounds, and the estimate of a union."""

    sketch: str
    estimate: str
    bounds: str
    united: str


_DISTINCT_EXAMPLES = {
    "hll": _DistinctExample(
        "unhex('0201070C030802082BF2FB06862FF90D')",
        "2.000000004967054",
        "[2.000000004967054,2.0,2.0001997319422404]",
        "2.000000004967054",
    ),
    "cpc": _DistinctExample(
        "unhex('0801100B000ECC9302000000010000000000000080FD9F400880000880000040AE38B702')",
        "2.0002442002442002",
        "[2.0002442002442002,2.0,3.0]",
        "2.0001627772335926",
    ),
    "theta": _DistinctExample(
        "unhex('02030300001ACC93020000000000000015F97DCBBD86A105C397FC1281709D1E')", "2.0", "[2.0,2.0,2.0]", "2.0"
    ),
}


def _distinct_sketch_arguments(types: Types) -> Types | None:
    if not 1 <= len(types) <= 2 or is_nested(types[0]) or (len(types) == 2 and types[1] not in INTEGER_TYPES):
        return None
    return (types[0], INT)[: len(types)]


def distinct_sketch_state(family: str, value: str, dtype: DataType, size: str = "0") -> str:
    """Return SQL of the sketch of a column's values. Integers and floating numbers are used directly, other types as
    text.
    """
    if dtype in INTEGER_TYPES:
        kind, item = "BIGINT", f"CAST({value} AS BIGINT)"
    elif dtype in (FLOAT, DOUBLE):
        kind, item = "DOUBLE", f"CAST({value} AS DOUBLE)"
    else:
        kind, item = "VARCHAR", lower_cast(value, dtype, STRING)
    return f"shark_{family}_{kind.lower()}(list(DISTINCT {item}){OVER}, {size})"


def _distinct_aggregates(family: str) -> tuple[AggregateFunction, ...]:
    def state(args: Sequence[str], types: Types, _result: DataType) -> str:
        return distinct_sketch_state(family, args[0], types[0], args[1] if len(args) > 1 else "0")

    merge = merge_of(family)
    example = _DISTINCT_EXAMPLES[family]
    return (
        state_aggregate(
            f"ds_{family}_sketch",
            _distinct_sketch_arguments,
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
        state_aggregate(
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


def _distinct_functions(family: str) -> tuple[ScalarFunction, ...]:
    example = _DISTINCT_EXAMPLES[family]
    return (
        Page(
            f"ds_{family}_estimate(sketch)",
            f"about how many distinct values a {family} sketch has seen",
            f"ds_{family}_estimate({example.sketch}) -> {example.estimate}",
        ).scalar((BINARY,), DOUBLE, f"shark_{family}_estimate({{0}})"),
        Page(
            f"ds_{family}_estimate_bounds(sketch[, deviations])",
            "the estimate, and bounds 1, 2 (the default) or 3 standard deviations away",
            f"ds_{family}_estimate_bounds({example.sketch}) -> {example.bounds}",
        ).scalar(
            takes(BINARY, INT, optional=1),
            ArrayType(DOUBLE),
            lambda args, _types, _result: f"shark_{family}_bounds({args[0]}, {(*args, '2')[1]})",
        ),
        union_function(
            family,
            example=f"ds_{family}_estimate(ds_{family}_union_f({example.sketch}, {example.sketch}))",
            answer=example.united,
        ),
    )


def _theta_function(name: str, kernel: str, *, doc: str, answer: str) -> ScalarFunction:
    one = _DISTINCT_EXAMPLES["theta"].sketch
    return Page(f"{name}(a, b)", doc, f"ds_theta_estimate({name}({one}, {one})) -> {answer}").scalar(
        (BINARY, BINARY), BINARY, f"{kernel}({{0}}, {{1}})"
    )


DISTINCT_SKETCH_FUNCTIONS = (
    *(row for family in FAMILIES for row in _distinct_functions(family)),
    _theta_function(
        "ds_theta_intersect_f", "shark_theta_intersect", doc="the sketch of the values in both", answer="2.0"
    ),
    _theta_function(
        "ds_theta_exclude",
        "shark_theta_exclude",
        doc="the sketch of the first one's values not in the second",
        answer="0.0",
    ),
)
DISTINCT_SKETCH_AGGREGATES = (*(row for family in FAMILIES for row in _distinct_aggregates(family)),)


_FREQUENT_EXAMPLE = (
    "unhex('04010A030300000001000000000000000200000000000000000000000000000002000000000000000100000061')"
)
"""The sketch of 'a', twice."""
_COUNTMIN_EXAMPLE = (
    "unhex('02011200000000000400000001CC93000000000000000840000000000000F03F0000000000000040"
    "00000000000000000000000000000000')"
)
"""The sketch of 'a', twice, and 'b'."""
_DEFAULT_ERROR, _DEFAULT_CONFIDENCE = "0.01", "0.95"
_ITEM_COLUMNS = (("item", STRING), ("estimate", BIGINT), ("lower_bound", BIGINT), ("upper_bound", BIGINT))


def _frequent_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    size = args[1] if len(args) > 1 else str(DEFAULT_FREQUENT)
    return f"shark_freq(list({DISTINCT}{args[0]}){OVER}, {size})"


def _countmin_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    value, *given = args
    error, confidence = (*given, *(_DEFAULT_ERROR, _DEFAULT_CONFIDENCE)[len(given) :])
    return f"shark_countmin(list({DISTINCT}{value}){OVER}, {error}, {confidence})"


def _frequent_items(args: Sequence[str], _types: Types) -> Sequence[str]:
    error_type = args[1] if len(args) > 1 else quote_string(ERROR_TYPES[0])
    items = f"shark_freq_items({args[0]}, {error_type})"
    return [f"list_transform({items}, lambda row: struct_extract(row, '{name}'))" for name, _ in _ITEM_COLUMNS]


FREQUENCY_SKETCH_FUNCTIONS = (
    Page(
        "ds_countmin_estimate(sketch, x)",
        "about how often a value has come, or more: that of its text",
        f"ds_countmin_estimate({_COUNTMIN_EXAMPLE}, 'a') -> 2",
    ).scalar((BINARY, STRING), BIGINT, "shark_countmin_estimate({0}, {1})"),
    Page(
        "ds_countmin_n(sketch)",
        "how many values a countmin sketch has seen",
        f"ds_countmin_n({_COUNTMIN_EXAMPLE}) -> 3",
    ).scalar((BINARY,), BIGINT, "shark_countmin_n({0})"),
    union_function(
        "countmin", example=f"ds_countmin_n(ds_countmin_union_f({_COUNTMIN_EXAMPLE}, {_COUNTMIN_EXAMPLE}))", answer="6"
    ),
)
FREQUENCY_SKETCH_TABLES = (
    Page(
        "ds_freq_frequent_items(sketch[, type of errors])",
        "a row for each frequent value, the most frequent first: about how often it comes, and bounds of that; the "
        "type is NO_FALSE_POSITIVES or NO_FALSE_NEGATIVES",
        f"ds_freq_frequent_items({_FREQUENT_EXAMPLE}) -> a\t2\t2\t2",
    ).table(takes(BINARY, STRING, optional=1), lambda _types: _ITEM_COLUMNS, _frequent_items),
)
FREQUENCY_SKETCH_AGGREGATES = (
    state_aggregate(
        "ds_freq_sketch",
        takes(STRING, INT, optional=1),
        returns(BINARY),
        (_frequent_state,),
        lambda _types: (BINARY,),
        (merge_of("freq"),),
        "{0}",
        constants=((1, frequent_size_problem),),
        usage="ds_freq_sketch(x[, size])",
        doc="a freq sketch of the most frequent values, as texts, in a table of 4096 or the size, a power of 2",
        example="length(ds_freq_sketch(x))",
        answer="58",
    ),
    union_aggregate("freq", example=f"length(ds_freq_union({_FREQUENT_EXAMPLE}))", answer="45"),
    state_aggregate(
        "ds_countmin_sketch",
        takes(STRING, DOUBLE, DOUBLE, optional=2),
        returns(BINARY),
        (_countmin_state,),
        lambda _types: (BINARY,),
        (merge_of("countmin"),),
        "{0}",
        constants=((1, countmin_fraction_problem), (2, countmin_fraction_problem)),
        usage="ds_countmin_sketch(x[, error[, confidence]])",
        doc="a countmin sketch of the values, as texts: counts are too large by no more than that part of all, 0.01, "
        "with that confidence, 0.95",
        example="ds_countmin_estimate(ds_countmin_sketch(x), 3)",
        answer="1",
    ),
    union_aggregate("countmin", example=f"ds_countmin_n(ds_countmin_union({_COUNTMIN_EXAMPLE}))", answer="6"),
)


_KLL_EXAMPLE = "unhex('05010F02C80008000200000000000000C8000100C60000000000803F000000400000803F00000040')"
"""The sketch of 1 and 2."""


def _kll_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    size = args[1] if len(args) > 1 else str(DEFAULT_SIZE)
    return f"shark_kll(list({DISTINCT}{args[0]}){OVER}, {size})"


def _of_sketch_and_numbers(call: str) -> Lowering:
    """Lower to `call` of a sketch and a list of the following numbers. The result is NULL if a number is NULL."""

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        sketch, *numbers = args
        is_null = " OR ".join(f"{one} IS NULL" for one in numbers)
        listed = ", ".join(numbers)
        return f"CASE WHEN {is_null} THEN NULL ELSE {call.format(sketch, f'[{listed}]')} END"

    return lower


QUANTILE_SKETCH_FUNCTIONS = (
    Page("ds_kll_n(sketch)", "how many values a kll sketch has seen", f"ds_kll_n({_KLL_EXAMPLE}) -> 2").scalar(
        (BINARY,), BIGINT, "shark_kll_n({0})"
    ),
    Page(
        "ds_kll_quantile(sketch, fraction)",
        "about the least value that is greater than that fraction of all",
        f"ds_kll_quantile({_KLL_EXAMPLE}, 0.5) -> 2.0",
    ).scalar((BINARY, DOUBLE), FLOAT, _of_sketch_and_numbers("CAST(shark_kll_quantiles({0}, {1})[1] AS FLOAT)")),
    Page(
        "ds_kll_quantiles(sketch, fraction, …)",
        "as ds_kll_quantile, for each of the fractions",
        f"ds_kll_quantiles({_KLL_EXAMPLE}, 0.1, 0.9) -> [1.0,2.0]",
    ).scalar(
        takes(BINARY, DOUBLE, repeat=True),
        ArrayType(FLOAT),
        _of_sketch_and_numbers("CAST(shark_kll_quantiles({0}, {1}) AS FLOAT[])"),
    ),
    Page(
        "ds_kll_rank(sketch, value)",
        "about which part of the values is less than one",
        f"ds_kll_rank({_KLL_EXAMPLE}, 2) -> 0.5",
    ).scalar((BINARY, DOUBLE), DOUBLE, "shark_kll_rank({0}, {1})"),
    Page(
        "ds_kll_cdf(sketch, split, …)",
        "about which part of the values is below each of the increasing splits, and 1 for all",
        f"ds_kll_cdf({_KLL_EXAMPLE}, 2) -> [0.5,1.0]",
    ).scalar(takes(BINARY, DOUBLE, repeat=True), ArrayType(DOUBLE), _of_sketch_and_numbers("shark_kll_cdf({0}, {1})")),
    Page(
        "ds_kll_pmf(sketch, split, …)",
        "about which part of the values is below the first of the increasing splits, between each two, and above",
        f"ds_kll_pmf({_KLL_EXAMPLE}, 1.5, 3) -> [0.5,0.5,0.0]",
    ).scalar(takes(BINARY, DOUBLE, repeat=True), ArrayType(DOUBLE), _of_sketch_and_numbers("shark_kll_pmf({0}, {1})")),
    union_function("kll", example=f"ds_kll_n(ds_kll_union_f({_KLL_EXAMPLE}, {_KLL_EXAMPLE}))", answer="4"),
)
QUANTILE_SKETCH_AGGREGATES = (
    state_aggregate(
        "ds_kll_sketch",
        takes(DOUBLE, INT, optional=1),
        returns(BINARY),
        (_kll_state,),
        lambda _types: (BINARY,),
        (merge_of("kll"),),
        "{0}",
        constants=((1, kll_size_problem),),
        usage="ds_kll_sketch(x[, size])",
        doc="a kll sketch of the numbers, as floats; it keeps as many as its size, 200 or from 8 to 65535, of each "
        "weight",
        example="ds_kll_quantile(ds_kll_sketch(x), 0.5)",
        answer="3.0",
    ),
    union_aggregate("kll", example=f"ds_kll_n(ds_kll_union({_KLL_EXAMPLE}))", answer="4"),
)
