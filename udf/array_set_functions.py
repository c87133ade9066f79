"""Arrays as sets: distinct elements, unions, intersections and differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf.function import ScalarFunction, SqlArguments
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
    DataType,
)


def _computed_once(macro: str) -> Callable[[SqlArguments, Sequence[DataType], DataType], str]:
    """Lower to a macro that repeats its arguments. Computed arguments become fields of a variable first."""

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        if not any("(" in arg for arg in args):
            return f"{macro}({', '.join(args)})"
        fields = ", ".join(f"a{index} := {arg}" for index, arg in enumerate(args))
        names = ", ".join(f"sets.a{index}" for index in range(len(args)))
        return f"list_transform([struct_pack({fields})], lambda sets: {macro}({names}))[1]"

    return lower


def _array_union(args: Sequence[str], types: Types, result: DataType) -> str:
    return _computed_once("shark_array_distinct")([f"list_concat({', '.join(args)})"], types, result)


def _two_arrays(types: Types) -> Types | None:
    return all_common(2, 2)(types) if all(isinstance(dtype, ArrayType) for dtype in types) else None


ARRAY_SET_FUNCTIONS = (
    ScalarFunction(
        "array_distinct",
        kind_of(ArrayType),
        same_as(0),
        _computed_once("shark_array_distinct"),
        usage="array_distinct(array)",
        doc="elements once each, in order",
        example="array_distinct(array(1, 2, 1))",
        answer="[1,2]",
    ),
    ScalarFunction(
        "array_union",
        _two_arrays,
        same_as(0),
        _array_union,
        usage="array_union(a, b)",
        doc="elements of either, once each",
        example="array_union(array(1, 2), array(2, 3))",
        answer="[1,2,3]",
    ),
    ScalarFunction(
        "array_intersect",
        _two_arrays,
        same_as(0),
        _computed_once("shark_array_intersect"),
        usage="array_intersect(a, b)",
        doc="elements of both, once each",
        example="array_intersect(array(1, 2), array(2, 3))",
        answer="[2]",
    ),
    ScalarFunction(
        "array_except",
        _two_arrays,
        same_as(0),
        _computed_once("shark_array_except"),
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
