"""Files with the Python code of users."""

from __future__ import annotations

import ast
import functools
from typing import Any, NoReturn

import pytest

import sharkpy.ml
from sharkpy.udf.user.python_code import place_of


class Classifier:
    def __call__(self) -> None:
        pass


class Class:
    """Its name begins that of another one."""


def function() -> None:
    pass


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (Class, "class Class:"),
        (Classifier, "class Classifier:"),
        (function, "def function() -> None:"),
        (Classifier().__call__, "    def __call__(self) -> None:"),
    ],
)
def test_places_without_parsing(value: Any, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that parse Python at the same time fail in some of its versions."""

    def failing(*_: object, **__: object) -> NoReturn:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(ast, "parse", failing)
    file, number = place_of(value)
    assert file == __file__
    with open(__file__, encoding="utf-8") as source:
        assert source.read().split("\n")[number - 1] == line
    assert place_of(sharkpy.ml.KMeans)[1] > 1


def test_what_has_no_line() -> None:
    assert place_of(functools.partial(function))[1] == 1
    assert place_of(int) == ("?", 1)
