"""Nested Arrow arrays in types with other names: fields by their places, or by name whatever its case."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sharkpy.values.nested_arrow import cast_column, children_of, fields_by_name, with_children


def inner(*names: str) -> Any:
    return pa.struct([(name, pa.int32()) for name in names])


_VALUES: list[tuple[list[Any], Any, Any]] = [
    ([{"userId": 1, "b": 2}, None, {"userId": 3, "b": None}], inner("userId", "b"), inner("userid", "B")),
    ([[{"X": 1}, None], None, [], [{"X": 2}]], pa.list_(inner("X")), pa.list_(inner("x"))),
    ([[{"X": 1}], None, [{"X": 2}]], pa.list_(inner("X"), 1), pa.list_(inner("x"))),
    ([[{"X": 1}], None, []], pa.large_list(inner("X")), pa.list_(inner("x"))),
    ([[("k", {"X": 1}), ("l", None)], None, []], pa.map_(pa.string(), inner("X")), pa.map_(pa.string(), inner("x"))),
    (
        [{"U": {"V": [{"X": 1}]}}, {"U": None}, None],
        pa.struct([("U", pa.struct([("V", pa.list_(inner("X")))]))]),
        pa.struct([("u", pa.struct([("v", pa.list_(inner("x")))]))]),
    ),
    ([None, None], pa.null(), inner("x")),
]


def lowered(value: Any) -> Any:
    match value:
        case dict():
            return {name.lower(): lowered(part) for name, part in value.items()}
        case list() | tuple():
            return type(value)(map(lowered, value))
    return value


@pytest.mark.parametrize(("values", "given", "target"), _VALUES)
def test_names_in_other_case_keep_their_values(values: list[Any], given: Any, target: Any) -> None:
    array: Any = pa.array(values, given)
    for start in range(len(values)):
        piece = array.slice(start)
        for cast in (cast_column(piece, target), cast_column(fields_by_name(piece, target), target)):
            cast.validate(full=True)
            assert cast.type == target
            assert lowered(cast.to_pylist()) == lowered(values[start:])
    chunked: Any = pa.chunked_array([array, array.slice(1)], given)
    assert lowered(cast_column(chunked, target).to_pylist()) == lowered(values + values[1:])


def test_another_number_of_fields_is_no_cast() -> None:
    with pytest.raises(pa.ArrowTypeError):
        cast_column(pa.array([{"a": 1}], inner("a")), inner("a", "b"))
    with pytest.raises(pa.ArrowTypeError):
        cast_column(pa.array([[{"a": 1}]]), pa.map_(pa.string(), inner("a")))


def test_fields_are_found_by_name() -> None:
    found = fields_by_name(pa.array([{"B": 1, "a": 2}], inner("B", "a")), inner("a", "b", "c"))
    assert found.to_pylist() == [{"a": 2, "b": 1, "c": None}]
    with pytest.raises(pa.ArrowTypeError, match="other fields"):
        fields_by_name(pa.array([{"usrId": 1}], inner("usrId")), inner("userid"))
    with pytest.raises(pa.ArrowTypeError, match="other fields"):
        fields_by_name(pa.array([{"a": 1, "A": 2}], inner("a", "A")), inner("a"))


def test_structs_without_fields() -> None:
    array: Any = pa.array([{}, None, {}], pa.struct([]))
    assert with_children(array, children_of(array), array.type).to_pylist() == [{}, None, {}]
