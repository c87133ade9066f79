"""Rows of the functions that merge sketches of a family, by a kernel shark_{family}_union."""

from __future__ import annotations

from sharkpy.udf.function import AggregateFunction, ScalarFunction
from sharkpy.udf.signatures import returns, takes
from sharkpy.udf.state_aggregates import state_aggregate
from sharkpy.values.types import BINARY


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
    return ScalarFunction(
        f"ds_{family}_union_f",
        takes(BINARY, BINARY),
        returns(BINARY),
        f"shark_{family}_union([{{0}}, {{1}}])",
        usage=f"ds_{family}_union_f(a, b)",
        doc=f"one {family} sketch of the values of two",
        example=example,
        answer=answer,
    )
