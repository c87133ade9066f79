"""Sketches of distinct values, and functions of such sketches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.distinct_sketches import FAMILIES
from sharkpy.udf.function import AggregateFunction, ScalarFunction
from sharkpy.udf.lower import OVER
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.udf.sketch_unions import merge_of, union_function
from sharkpy.udf.state_aggregates import state_aggregate
from sharkpy.values.types import (
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


@dataclass(frozen=True, slots=True)
class _Example:
    """SQL of a sketch of 1 and 2, with the answers: its estimate and bounds, and the estimate of a union."""

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


def _family_rows(family: str) -> tuple[AggregateFunction, ...]:
    def state(args: Sequence[str], types: Types, _result: DataType) -> str:
        return sketch_state(family, args[0], types[0], args[1] if len(args) > 1 else "0")

    merge = merge_of(family)
    example = _EXAMPLES[family]
    return (
        state_aggregate(
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
            returns(ArrayType(DOUBLE)),
            lambda args, _types, _result: f"shark_{family}_bounds({args[0]}, {(*args, '2')[1]})",
            usage=f"ds_{family}_estimate_bounds(sketch[, deviations])",
            doc="the estimate, and bounds 1, 2 (the default) or 3 standard deviations away",
            example=f"ds_{family}_estimate_bounds({example.sketch})",
            answer=example.bounds,
        ),
        union_function(
            family,
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


DISTINCT_SKETCH_FUNCTIONS = (
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
DISTINCT_SKETCH_AGGREGATES = (*(row for family in FAMILIES for row in _family_rows(family)),)
