"""Meaning of decorators and annotations, without a session."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import BindError
from sharkpy.udf.user.make import user_function
from sharkpy.udf.user.scalar import PythonScalar
from sharkpy.values.types import BIGINT, DOUBLE, STRING


def made(value: object, *arguments: str, returns: str | None = None) -> PythonScalar:
    function = user_function("F", value, arguments or None, returns)
    assert isinstance(function, PythonScalar)
    return function


def test_annotations() -> None:
    def annotated(
        a: int, b: float | None, c: list[str], d: dict[str, datetime.date], e: np.int16, f: bytes
    ) -> np.float32: ...

    function = made(annotated)
    types = ["bigint", "double", "array<string>", "map<string,date>", "smallint", "binary"]
    assert [str(dtype) for dtype in function.arguments] == types
    assert str(function.result) == "float"
    assert function.name == "f"


def test_given_types_go_before_annotations() -> None:
    @sharkpy.function("string", returns="int")
    def size(text: bytes) -> float:
        return len(text)

    assert made(size).arguments == (STRING,)
    assert str(made(size).result) == "int"
    assert str(made(size, "binary", returns="bigint").result) == "bigint"


def test_a_decorated_function_is_called_as_before() -> None:
    @sharkpy.function
    def plus_one(x: int) -> int:
        """One more."""
        return x + 1

    assert plus_one(1) == 2
    assert plus_one.__doc__ == "One more."
    assert made(plus_one).doc == "One more."


def test_equal_functions_have_equal_keys() -> None:
    def double(x: int) -> int:
        return 2 * x

    one, other = made(double), made(double)
    assert one == other
    assert one.key == other.key
    assert made(double, "double", returns="double").key != one.key
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.key.startswith("f@")


def test_the_row_says_what_the_optimizer_asks() -> None:
    @sharkpy.function("bigint", returns="bigint", deterministic=False, null="call")
    def odd(x: np.ndarray) -> np.ndarray:
        return x % 2

    function = made(odd)
    assert not function.row.is_deterministic
    assert function.row.arguments([STRING]) == [BIGINT]
    assert function.row.arguments([]) is None
    assert function.row.name == function.key


def _compiled(function: PythonScalar) -> str:
    return function.facts()[1]


def test_modes_are_stated() -> None:
    def squared(x: float) -> float:
        return x * x

    def upper(x: str) -> str:
        return x.upper()

    def unknown(x: float) -> float:
        return float(str(x))

    row = sharkpy.function(form="row")
    assert _compiled(made(row(squared))) == "Python, row by row, compiled by numba"
    assert _compiled(made(squared)) == "Python, over NumPy arrays, interpreted"
    assert _compiled(made(row(upper))) == "Python, row by row, interpreted: numba takes no string here"
    assert _compiled(made(row(unknown))).startswith("Python, row by row, interpreted: ")
    assert _compiled(made(sharkpy.function(form="row", compiled=False)(squared))) == "Python, row by row, interpreted"
    on_request = sharkpy.function("double", returns="double", compiled=True)
    assert _compiled(made(on_request(squared))) == "Python, over NumPy arrays, compiled by numba"
    with pytest.raises(BindError, match='function "f" does not compile'):
        made(on_request(lambda x: x.nothing()))


@sharkpy.aggregate
class Total:
    def init(self) -> int:
        return 0

    def update(self, state: int, x: int) -> int:
        return state + x

    def merge(self, state: int, other: int) -> int:
        return state + other

    def finish(self, state: int) -> float:
        return state


def pairs(text: str) -> Iterator[tuple[str, int]]:
    yield text, 1


def test_other_kinds() -> None:
    total = user_function("total", Total)
    assert total.facts()[0] == "Signature: total(bigint) returns double"
    assert user_function("total", Total.target).facts() == total.facts()
    table = user_function("pairs", pairs)
    assert table.facts()[0] == "Signature: pairs(string) yields struct<col0:string,col1:bigint>"
    named = user_function("pairs", pairs, returns={"Word": "string", "n": DOUBLE})
    assert named.facts()[0] == "Signature: pairs(string) yields struct<word:string,n:double>"


class NotEmpty:
    def __init__(self, needed: int) -> None:
        self.needed = needed

    def process(self, x: int) -> Iterator[int]:
        yield x


BAD = [
    (lambda: user_function("f", 3), "cannot be made of 3"),
    (lambda: made(lambda x: x), 'does not say the type of its argument "x"'),
    (lambda: made(lambda x: x, "bigint"), "does not say the type of its result"),
    (lambda: made(lambda x: x, "bigin", returns="int"), "bigin"),
    (lambda: made(lambda x: x, "int", "int", returns="int"), "does not take 2 arguments"),
    (lambda: made(sharkpy.function(form="rows")(lambda x: x)), 'form is "rows"'),
    (lambda: made(sharkpy.function(null="skip")(lambda x: x)), 'null is "skip"'),
    (lambda: made(sharkpy.function(repeat=True)(lambda: 1), returns="int"), "no argument to repeat"),
    (lambda: user_function("f", sharkpy.aggregate(lambda x: x)), "an aggregate is a class"),
    (lambda: user_function("f", dict), "class dict has no method init, finish"),
    (lambda: user_function("f", NotEmpty), "class NotEmpty cannot be made without arguments"),
    (lambda: user_function("f", pairs, returns="nothing<int>"), "nothing"),
]


@pytest.mark.parametrize(("make", "said"), BAD, ids=range(len(BAD)))
def test_bad_declarations(make: object, said: str) -> None:
    with pytest.raises(BindError, match=said):
        make()  # type: ignore[operator]


def test_the_user_s_own_objects_stay_as_they_are() -> None:
    """Shipping makes copies of classes; unpickled in this process they would take over the class they are of."""
    update = Total.target.update
    for _ in range(2):
        function = user_function("total", Total)
        assert function.empty_value == 0.0  # type: ignore[attr-defined]
    assert Total.target.update is update
