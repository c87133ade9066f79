"""Positions in streams: for each partition the number of the first item that was not read yet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

Position = tuple[int, ...]
"""One number a partition, in their order; sources without partitions have one. Partitions that a shorter position does
not have are new, and nothing of them was read."""

Numbers = int | list[int]


def furthest(one: Position, other: Position) -> Position:
    """For each partition the greater number."""
    return tuple(max(pair) for pair in zip_longest(one, other, fillvalue=0))


def least(positions: Iterable[Position]) -> Position:
    """For each partition that all positions have the least number."""
    return tuple(min(numbers) for numbers in zip(*positions, strict=False))


def is_within(one: Position, other: Position) -> bool:
    """True if no partition is further in `one` than in `other`."""
    return all(first <= last for first, last in zip_longest(one, other, fillvalue=0))


def items_between(start: Position, end: Position) -> int:
    """Number of items from `start` to before `end`."""
    return sum(max(0, last - first) for first, last in zip_longest(start, end, fillvalue=0))


def as_numbers(position: Position) -> Numbers:
    """Form of a position in texts: a number where there is one partition."""
    return position[0] if len(position) == 1 else list(position)


def of_numbers(numbers: Numbers) -> Position:
    """Position of a text."""
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)
