"""Positions in streams: the number of the first unread item of each partition."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

Position = tuple[int, ...]
"""One number per partition, in order. Sources without partitions have one number. Partitions beyond the end of a
position are new and unread.
"""

Numbers = int | list[int]


def furthest(one: Position, other: Position) -> Position:
    """Return the greater number for each partition."""
    return tuple(max(pair) for pair in zip_longest(one, other, fillvalue=0))


def least(positions: Iterable[Position]) -> Position:
    """Return the smallest number for each partition that all positions have."""
    return tuple(min(numbers) for numbers in zip(*positions, strict=False))


def is_within(one: Position, other: Position) -> bool:
    """Return True if no partition is further in `one` than in `other`."""
    return all(first <= last for first, last in zip_longest(one, other, fillvalue=0))


def items_between(start: Position, end: Position) -> int:
    """Return the number of items from `start` up to but excluding `end`."""
    return sum(max(0, last - first) for first, last in zip_longest(start, end, fillvalue=0))


def as_numbers(position: Position) -> Numbers:
    """Return a position for texts: a number if there is one partition, else a list."""
    return position[0] if len(position) == 1 else list(position)


def of_numbers(numbers: Numbers) -> Position:
    """Return the position of a text."""
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)
