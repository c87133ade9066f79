"""Functions of an RDD's partitions that combine other functions. They have their own file because workers import it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from sharkpy.ml.rdd.task_errors import Elements


class Composed:
    """Composition of functions: `second` over the elements of `first`."""

    def __init__(self, first: Elements, second: Elements) -> None:
        self.first = first
        self.second = second

    def __call__(self, partition: int, items: Iterable[Any]) -> Iterable[Any]:
        return self.second(partition, self.first(partition, items))


class Concatenated:
    """Concatenation, in a task, of the elements of a query's functions and the elements of another RDD's partition."""

    def __init__(self, own: Elements, *, is_first: bool) -> None:
        self.own = own
        self.is_first = is_first

    def __call__(self, partition: int, items: Iterable[Any]) -> Iterable[Any]:
        own = self.own(partition, ())
        return chain(own, items) if self.is_first else chain(items, own)


def flat(_: int, pairs: Iterable[tuple[list[Any], list[Any]]]) -> Iterator[Any]:
    return chain.from_iterable(map(chain.from_iterable, pairs))
