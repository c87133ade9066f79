"""Arrays as sets: elements once each, of either, of both, of one alone."""

from __future__ import annotations

from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.signatures import (
    Types,
    all_common,
    kind_of,
    returns,
    same_as,
)
from sharkpy.values.types import (
    BOOLEAN,
    ArrayType,
)


def _two_arrays(types: Types) -> Types | None:
    return all_common(2, 2)(types) if all(isinstance(dtype, ArrayType) for dtype in types) else None


ARRAY_SET_FUNCTIONS = (
    ScalarFunction(
        "array_distinct",
        kind_of(ArrayType),
        same_as(0),
        "shark_array_distinct({0})",
        usage="array_distinct(array)",
        doc="elements once each, in order",
        example="array_distinct(array(1, 2, 1))",
        answer="[1,2]",
    ),
    ScalarFunction(
        "array_union",
        _two_arrays,
        same_as(0),
        "shark_array_distinct(list_concat({0}, {1}))",
        usage="array_union(a, b)",
        doc="elements of either, once each",
        example="array_union(array(1, 2), array(2, 3))",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "array_intersect",
        _two_arrays,
        same_as(0),
        "shark_array_distinct(list_filter({0}, lambda one: shark_has({1}, one)))",
        usage="array_intersect(a, b)",
        doc="elements of both, once each",
        example="array_intersect(array(1, 2), array(2, 3))",
        answer="[2]",
    ),
    ScalarFunction(
        "array_except",
        _two_arrays,
        same_as(0),
        "shark_array_distinct(list_filter({0}, lambda one: NOT shark_has({1}, one)))",
        usage="array_except(a, b)",
        doc="elements of the first only, once each",
        example="array_except(array(1, 2), array(2, 3))",
        answer="[1]",
    ),
    ScalarFunction(
        "arrays_overlap",
        _two_arrays,
        returns(BOOLEAN),
        "list_has_any({0}, {1})",
        usage="arrays_overlap(a, b)",
        doc="whether they share an element",
        example="arrays_overlap(array(1, 2), array(2, 3))",
        answer="true",
    ),
)
