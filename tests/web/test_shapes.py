"""Shapes: dataclasses to JSON and back, and their schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest

from sharkpy.web.shapes import ShapeError, json_bytes, read_shape, schema_of


@dataclass(frozen=True, slots=True)
class Inner:
    name: str


@dataclass(frozen=True, slots=True)
class Outer:
    number: int
    share: float
    inners: list[Inner]
    text: str | None = None
    figures: dict[str, float] | None = None


def test_there_and_back() -> None:
    value = Outer(1, 0.5, [Inner("é\ud800")], figures={"a": 1.0})
    read = read_shape(Outer, json.loads(json_bytes(value)))
    assert read == Outer(1, 0.5, [Inner("é?")], figures={"a": 1.0}), "half of a surrogate pair has no UTF-8"


def test_values_without_json() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone(timedelta(hours=1)))
    assert json_bytes([at, at.astimezone(UTC)]) == b'["2026-01-02T02:04:05.678Z","2026-01-02T02:04:05.678Z"]'
    assert json.loads(json_bytes(Outer(1, float("nan"), [])))["share"] is None
    with pytest.raises(TypeError):
        json_bytes(object())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"number": "1", "share": 1, "inners": []}, "number is not a whole number"),
        ({"number": True, "share": 1, "inners": []}, "number is not a whole number"),
        ({"number": 1, "share": 1, "inners": [{"name": 2}]}, r"inners\[0\].name is not a string"),
        ({"number": 1, "share": 1, "inners": {}}, "inners is not a list"),
        ({"number": 1, "share": 1, "inners": [], "other": 1}, '"other", which is not known'),
        ({"number": 1, "share": 1}, 'no field "inners"'),
        ({"number": 1, "share": 1, "inners": [], "text": 5}, "text is not a string"),
        ([], "the body is not an object"),
        (None, "the body is not an object"),
    ],
)
def test_what_does_not_fit(given: object, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        read_shape(Outer, given)


def test_schemas() -> None:
    named: dict[str, object] = {}
    assert schema_of(Outer, named) == {"$ref": "#/components/schemas/Outer"}
    outer = named["Outer"]
    assert isinstance(outer, dict)
    assert outer["required"] == ["number", "share", "inners"]
    assert outer["properties"]["inners"] == {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}}
    assert outer["properties"]["text"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
