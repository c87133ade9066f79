"""Functions as users write them: the tests register these, and load them by CREATE FUNCTION."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

import sharkpy

BASE = 100


@sharkpy.function("double", "double", returns="double")
def hypotenuse(a, b):
    return np.sqrt(a * a + b * b)


@sharkpy.function(form="row")
def collatz(n: int) -> int:
    """Steps to one."""
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@sharkpy.function(form="row", null="call")
def shown(text: str | None) -> str:
    return "nothing" if text is None else f"<{text}>"


@sharkpy.function("string", returns="string", form="arrow", repeat=True)
def joined(*columns):
    return pc.binary_join_element_wise(*columns, "-")


@sharkpy.function("bigint", returns="bigint", null="call")
def or_minus_one(numbers):
    return np.ma.filled(numbers, -1)


@sharkpy.function(form="row")
def letters(text: str) -> dict[str, int]:
    return {letter: text.count(letter) for letter in sorted(set(text))}


@sharkpy.function(form="row", deterministic=False)
def ticket() -> int:
    return random.getrandbits(40)


@sharkpy.function(form="row")
def above_base(n: int) -> int:
    return _raised(n)


def _raised(n: int) -> int:
    return n + BASE


@sharkpy.function("bigint", "bigint", returns="double", form="row")
def divided(a, b):
    return a / b


@sharkpy.aggregate
class GeometricMean:
    """Of positive numbers."""

    def init(self):
        return 0.0, 0

    def update(self, state, x: float):
        return state[0] + math.log(x), state[1] + 1

    def merge(self, state, other):
        return state[0] + other[0], state[1] + other[1]

    def finish(self, state) -> float:
        return math.exp(state[0] / state[1]) if state[1] else None


class Extent:
    """A state of a class of the user's own."""

    def __init__(self, low=math.inf, high=-math.inf):
        self.low, self.high = low, high

    def joined(self, other):
        return Extent(min(self.low, other.low), max(self.high, other.high))


@sharkpy.aggregate
class Spread:
    def init(self):
        return Extent()

    def update(self, state, x: int):
        return state.joined(Extent(x, x))

    def merge(self, state, other):
        return state.joined(other)

    def finish(self, state) -> int:
        return None if state.low > state.high else state.high - state.low


@sharkpy.aggregate
class Tally:
    """Count rows, NULLs or not: a value even without rows."""

    def init(self):
        return 0

    def update(self, state):
        return state + 1

    def merge(self, state, other):
        return state + other

    def finish(self, state) -> int:
        return state


@sharkpy.aggregate("double", "double", returns="double", state="struct<total:double,weight:double>")
class WeightedMean:
    def init(self):
        return {"total": 0.0, "weight": 0.0}

    def update_batch(self, state, values, weights):
        return {
            "total": state["total"] + float((values * weights).sum()),
            "weight": state["weight"] + float(weights.sum()),
        }

    def merge(self, state, other):
        return {key: state[key] + other[key] for key in state}

    def finish(self, state):
        return state["total"] / state["weight"] if state["weight"] else None


@sharkpy.table_function("string", returns={"word": "string", "place": "int"})
def words(text):
    for place, word in enumerate((text or "").split()):
        yield word, place


@sharkpy.table_function
class RunningCount:
    """Hive's example: return the number of rows, twice, at the end."""

    def __init__(self):
        self.rows = 0

    def process(self, _value: int) -> Iterator[int]:
        self.rows += 1
        return iter(())

    def close(self):
        yield self.rows
        yield self.rows


@sharkpy.table_function("string", "int", "string", returns="Part string, n int")
def parts(text, most=2, mark=","):
    for number, part in enumerate((text or mark).split(mark)[:most]):
        yield part, number


def countdown(start: int, step: int = 1) -> Iterator[int]:
    while start > 0:
        yield start
        start -= step


def twice(x: float) -> float:
    return 2 * x


def fails(n: int) -> int:
    raise ValueError("no luck")


def too_short(n: int) -> int:
    return n[:1]


def wrong_type(n: int) -> int:
    return n.astype(str)


def fraction(n: int) -> int:
    return n + 0.5


@sharkpy.table_function("bigint", returns={"a": "int", "b": "int"})
def too_wide(_n):
    yield 1, 2, 3


def untyped(n):
    return n


def unknown_type(n: complex) -> int:
    return n


NOT_CALLABLE = 3


class NoFinish:
    def init(self):
        return 0

    def update(self, state, n: int):
        return state + n
