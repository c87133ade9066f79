"""Rows that are written while further rows are made are whole, in order, and fail as if they were written at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sharkpy.sources.parquet_encodings import write_in_background


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_items_are_written_in_order(count: int) -> None:
    written: list[int] = []
    assert list(write_in_background(range(count), written.append)) == list(range(count))
    assert written == list(range(count))


def test_the_next_item_is_made_while_one_is_written() -> None:
    made, is_third = [0], threading.Event()

    def items() -> Iterator[int]:
        for number in range(3):
            made[0] = number
            if number == 2:
                is_third.set()
            yield number

    def write(number: int) -> None:
        # The first item ends only when the third one is made.
        assert number != 0 or is_third.wait(10)

    assert list(write_in_background(items(), write)) == [0, 1, 2]


@pytest.mark.parametrize("bad", [0, 1, 4])
def test_an_error_of_writing_ends_it(bad: int) -> None:
    written: list[int] = []

    def write(number: int) -> None:
        if number == bad:
            raise OSError("disk full")
        written.append(number)

    with pytest.raises(OSError, match="disk full"):
        list(write_in_background(range(5), write))
    assert written == list(range(bad))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sharkpy-write")]


def test_an_error_of_making_ends_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(write_in_background(items(), lambda _: None))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sharkpy-write")]
