"""Sketches of frequent items and of counts, and functions of such sketches."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.frequency_sketches import DEFAULT_FREQUENT, ERROR_TYPES, part_problem, size_problem
from sharkpy.udf.function import ScalarFunction, TableFunction
from sharkpy.udf.literals import quote_string
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.udf.sketch_unions import merge_of, union_aggregate, union_function
from sharkpy.udf.state_aggregates import state_aggregate
from sharkpy.values.types import BIGINT, BINARY, DOUBLE, INT, STRING, DataType

_FREQUENT = "unhex('04010A030300000001000000000000000200000000000000000000000000000002000000000000000100000061')"
"""The sketch of 'a', twice."""
_COUNTS = (
    "unhex('02011200000000000400000001CC93000000000000000840000000000000F03F0000000000000040"
    "00000000000000000000000000000000')"
)
"""The sketch of 'a', twice, and 'b'."""
_DEFAULT_ERROR, _DEFAULT_CONFIDENCE = "0.01", "0.95"
_ITEM_COLUMNS = (("item", STRING), ("estimate", BIGINT), ("lower_bound", BIGINT), ("upper_bound", BIGINT))


def _frequent_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    size = args[1] if len(args) > 1 else str(DEFAULT_FREQUENT)
    return f"shark_freq(list({DISTINCT}{args[0]}){OVER}, {size})"


def _counts_state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    value, *given = args
    error, confidence = (*given, *(_DEFAULT_ERROR, _DEFAULT_CONFIDENCE)[len(given) :])
    return f"shark_countmin(list({DISTINCT}{value}){OVER}, {error}, {confidence})"


def _frequent_items(args: Sequence[str], _types: Types) -> Sequence[str]:
    error_type = args[1] if len(args) > 1 else quote_string(ERROR_TYPES[0])
    items = f"shark_freq_items({args[0]}, {error_type})"
    return [f"list_transform({items}, lambda row: struct_extract(row, '{name}'))" for name, _ in _ITEM_COLUMNS]


FREQUENCY_SKETCH_FUNCTIONS = (
    ScalarFunction(
        "ds_countmin_estimate",
        takes(BINARY, STRING),
        returns(BIGINT),
        "shark_countmin_estimate({0}, {1})",
        usage="ds_countmin_estimate(sketch, x)",
        doc="about how often a value has come, or more: that of its text",
        example=f"ds_countmin_estimate({_COUNTS}, 'a')",
        answer="2",
    ),
    ScalarFunction(
        "ds_countmin_n",
        takes(BINARY),
        returns(BIGINT),
        "shark_countmin_n({0})",
        usage="ds_countmin_n(sketch)",
        doc="how many values a countmin sketch has seen",
        example=f"ds_countmin_n({_COUNTS})",
        answer="3",
    ),
    union_function("countmin", example=f"ds_countmin_n(ds_countmin_union_f({_COUNTS}, {_COUNTS}))", answer="6"),
)
FREQUENCY_SKETCH_TABLES = (
    TableFunction(
        "ds_freq_frequent_items",
        takes(BINARY, STRING, optional=1),
        lambda _types: _ITEM_COLUMNS,
        _frequent_items,
        usage="ds_freq_frequent_items(sketch[, type of errors])",
        doc="a row for each frequent value, the most frequent first: about how often it comes, and bounds of that; the "
        "type is NO_FALSE_POSITIVES or NO_FALSE_NEGATIVES",
        example=f"ds_freq_frequent_items({_FREQUENT})",
        answer="a\t2\t2\t2",
    ),
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
        constants=((1, size_problem),),
        usage="ds_freq_sketch(x[, size])",
        doc="a freq sketch of the most frequent values, as texts, in a table of 4096 or the size, a power of 2",
        example="length(ds_freq_sketch(x))",
        answer="58",
    ),
    union_aggregate("freq", example=f"length(ds_freq_union({_FREQUENT}))", answer="45"),
    state_aggregate(
        "ds_countmin_sketch",
        takes(STRING, DOUBLE, DOUBLE, optional=2),
        returns(BINARY),
        (_counts_state,),
        lambda _types: (BINARY,),
        (merge_of("countmin"),),
        "{0}",
        constants=((1, part_problem), (2, part_problem)),
        usage="ds_countmin_sketch(x[, error[, confidence]])",
        doc="a countmin sketch of the values, as texts: counts are too large by no more than that part of all, 0.01, "
        "with that confidence, 0.95",
        example="ds_countmin_estimate(ds_countmin_sketch(x), 3)",
        answer="1",
    ),
    union_aggregate("countmin", example=f"ds_countmin_n(ds_countmin_union({_COUNTS}))", answer="6"),
)
