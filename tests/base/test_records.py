"""Dataclasses whose methods are compiled at their first call."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from sharkpy.base.records import dataclass


def _classes(decorator: Any) -> tuple[type, ...]:
    @decorator(frozen=True, slots=True)
    class Plain:
        number: int
        text: str = "x"
        items: list[int] = dataclasses.field(default_factory=list, compare=False)
        known: int = dataclasses.field(default=7, init=False, repr=False)
        shared: ClassVar[int] = 3

        def __post_init__(self) -> None:
            object.__setattr__(self, "known", self.number + 1)

    @decorator(frozen=True, slots=True, kw_only=True)
    class Below(Plain):
        more: bool

    @decorator(slots=True)
    class Open:
        number: int = 1

        def __repr__(self) -> str:
            return "mine"

    @decorator(frozen=True, eq=False)
    class ById:
        number: int = 1

    return Plain, Below, Open, ById


_MADE: tuple[Callable[[Any], Any], ...] = (
    lambda of: of[0](1),
    lambda of: of[0](2, text="y", items=[1]),
    lambda of: of[0](),
    lambda of: of[1](1, more=True),
    lambda of: of[1](1, True),
    lambda of: of[2](5),
    lambda of: of[3](number=2),
    lambda of: of[0](1, known=2),
)


def _seen(of: tuple[type, ...], make: Callable[[Any], Any]) -> list[object]:
    try:
        value, equal = make(of), make(of)
    except TypeError as error:
        return [str(error)]
    found: list[object] = [str(value).partition("object at")[0], value == equal, value != 1, dataclasses.asdict(value)]
    found += [type(value).__match_args__, dataclasses.asdict(dataclasses.replace(value, number=9))]
    found += [type(value).__hash__ is None or hash(value) == hash(equal), "__dict__" in dir(value)]
    for change in (lambda: setattr(value, "number", 3), lambda: delattr(value, "number")):
        try:
            change()
            found.append("changed")
        except AttributeError as error:
            found.append((type(error), str(error)))
    return found


@pytest.mark.parametrize("make", _MADE)
def test_records_are_as_dataclasses(make: Callable[[Any], Any]) -> None:
    assert _seen(_classes(dataclass), make) == _seen(_classes(dataclasses.dataclass), make)


@dataclass(frozen=True, slots=True)
class Pickled:
    number: int
    text: str = ""


def test_a_frozen_record_is_pickled_and_copied() -> None:
    value = Pickled(1, "a")
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value


def test_methods_are_compiled_at_their_first_call() -> None:
    plain = _classes(dataclass)[0]
    waiting: Any = plain.__init__  # type: ignore[misc]
    assert plain(1) == plain(1)
    assert plain.__init__ is not waiting  # type: ignore[misc]


def test_ordinary_dataclasses_may_be_below_them() -> None:
    @dataclass(frozen=True)
    class Base:
        number: int

    @dataclasses.dataclass(frozen=True)
    class Below(Base):
        text: str

    @dataclass(frozen=True, slots=True)
    class Own(Base):
        text: str

    assert Below(1, "x") == Below(1, "x") != Below(2, "x")
    assert Own(1, "x").text == "x"
    assert Base.__dataclass_params__.frozen  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="frozen"):
        dataclasses.dataclass(type("Loose", (Base,), {}))
