"""KLL sketches of numbers, and functions of such sketches."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import Lowering, ScalarFunction
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.quantile_sketches import DEFAULT_SIZE, size_problem
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.udf.sketch_unions import merge_of, union_aggregate, union_function
from sharkpy.udf.state_aggregates import state_aggregate
from sharkpy.values.types import BIGINT, BINARY, DOUBLE, FLOAT, INT, ArrayType, DataType

_EXAMPLE = "unhex('05010F02C80008000200000000000000C8000100C60000000000803F000000400000803F00000040')"
"""The sketch of 1 and 2."""


def _state(args: Sequence[str], _types: Types, _result: DataType) -> str:
    size = args[1] if len(args) > 1 else str(DEFAULT_SIZE)
    return f"shark_kll(list({DISTINCT}{args[0]}){OVER}, {size})"


def _of_numbers(call: str) -> Lowering:
    """Lower to `call` of a sketch and a list of the following numbers. The result is NULL if a number is NULL."""

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        sketch, *numbers = args
        is_null = " OR ".join(f"{one} IS NULL" for one in numbers)
        listed = ", ".join(numbers)
        return f"CASE WHEN {is_null} THEN NULL ELSE {call.format(sketch, f'[{listed}]')} END"

    return lower


QUANTILE_SKETCH_FUNCTIONS = (
    ScalarFunction(
        "ds_kll_n",
        takes(BINARY),
        returns(BIGINT),
        "shark_kll_n({0})",
        usage="ds_kll_n(sketch)",
        doc="how many values a kll sketch has seen",
        example=f"ds_kll_n({_EXAMPLE})",
        answer="2",
    ),
    ScalarFunction(
        "ds_kll_quantile",
        takes(BINARY, DOUBLE),
        returns(FLOAT),
        _of_numbers("CAST(shark_kll_quantiles({0}, {1})[1] AS FLOAT)"),
        usage="ds_kll_quantile(sketch, fraction)",
        doc="about the least value that is greater than that fraction of all",
        example=f"ds_kll_quantile({_EXAMPLE}, 0.5)",
        answer="2.0",
    ),
    ScalarFunction(
        "ds_kll_quantiles",
        takes(BINARY, DOUBLE, repeat=True),
        returns(ArrayType(FLOAT)),
        _of_numbers("CAST(shark_kll_quantiles({0}, {1}) AS FLOAT[])"),
        usage="ds_kll_quantiles(sketch, fraction, …)",
        doc="as ds_kll_quantile, for each of the fractions",
        example=f"ds_kll_quantiles({_EXAMPLE}, 0.1, 0.9)",
        answer="[1.0,2.0]",
    ),
    ScalarFunction(
        "ds_kll_rank",
        takes(BINARY, DOUBLE),
        returns(DOUBLE),
        "shark_kll_rank({0}, {1})",
        usage="ds_kll_rank(sketch, value)",
        doc="about which part of the values is less than one",
        example=f"ds_kll_rank({_EXAMPLE}, 2)",
        answer="0.5",
    ),
    ScalarFunction(
        "ds_kll_cdf",
        takes(BINARY, DOUBLE, repeat=True),
        returns(ArrayType(DOUBLE)),
        _of_numbers("shark_kll_cdf({0}, {1})"),
        usage="ds_kll_cdf(sketch, split, …)",
        doc="about which part of the values is below each of the increasing splits, and 1 for all",
        example=f"ds_kll_cdf({_EXAMPLE}, 2)",
        answer="[0.5,1.0]",
    ),
    ScalarFunction(
        "ds_kll_pmf",
        takes(BINARY, DOUBLE, repeat=True),
        returns(ArrayType(DOUBLE)),
        _of_numbers("shark_kll_pmf({0}, {1})"),
        usage="ds_kll_pmf(sketch, split, …)",
        doc="about which part of the values is below the first of the increasing splits, between each two, and above",
        example=f"ds_kll_pmf({_EXAMPLE}, 1.5, 3)",
        answer="[0.5,0.5,0.0]",
    ),
    union_function("kll", example=f"ds_kll_n(ds_kll_union_f({_EXAMPLE}, {_EXAMPLE}))", answer="4"),
)
QUANTILE_SKETCH_AGGREGATES = (
    state_aggregate(
        "ds_kll_sketch",
        takes(DOUBLE, INT, optional=1),
        returns(BINARY),
        (_state,),
        lambda _types: (BINARY,),
        (merge_of("kll"),),
        "{0}",
        constants=((1, size_problem),),
        usage="ds_kll_sketch(x[, size])",
        doc="a kll sketch of the numbers, as floats; it keeps as many as its size, 200 or from 8 to 65535, of each "
        "weight",
        example="ds_kll_quantile(ds_kll_sketch(x), 0.5)",
        answer="3.0",
    ),
    union_aggregate("kll", example=f"ds_kll_n(ds_kll_union({_EXAMPLE}))", answer="4"),
)
