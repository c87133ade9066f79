"""Requests side by side: in order, bounded, dropped with their statement."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError
from sharkpy.sources.storage.requests import Call, in_order, in_parallel, repeatedly, result_of
from tests.storage.places import ended
from tests.waiting import allowed, until


class Calls:
    """Calls that tell how many are under way, and which were dropped."""

    def __init__(self, seconds: float = 0.01) -> None:
        self._seconds = seconds
        self.begun: list[int] = []
        self.dropped: list[int] = []
        self.most = 0
        self._under_way = 0

    def call(self, number: int) -> Call[int]:
        async def wait() -> int:
            self.begun.append(number)
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            try:
                await asyncio.sleep(self._seconds / (number % 3 + 1))
            except asyncio.CancelledError:
                self.dropped.append(number)
                raise
            finally:
                self._under_way -= 1
            if number == 1_000:
                raise ValueError("a thousand")
            return number

        return wait


def test_results_are_in_order_and_few_are_under_way() -> None:
    calls = Calls()
    assert in_parallel(map(calls.call, range(50)), 7) == list(range(50))
    assert 1 < calls.most <= 7


def test_calls_are_begun_as_their_results_are_read() -> None:
    calls = Calls()
    asked: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            asked.append(number)
            yield number

    results = in_order(map(calls.call, numbers()), 4)
    assert next(results) == 0
    assert next(results) == 1
    assert len(asked) <= 5
    results.close()
    assert len(asked) <= 5


def test_what_nobody_reads_is_dropped() -> None:
    calls = Calls(60)
    results = in_order([quick, *map(calls.call, range(3))], 4)
    assert next(results) == 7
    until(lambda: len(calls.begun) == 3)
    results.close()
    until(lambda: sorted(calls.dropped) == [0, 1, 2])


async def quick() -> int:
    return 7


def test_a_failure_drops_the_others() -> None:
    calls = Calls(1)
    with pytest.raises(ValueError, match="a thousand"):
        in_parallel([calls.call(1_000), *map(calls.call, (0, 3, 6))], 4)
    until(lambda: sorted(calls.dropped) == [0, 3, 6])


def test_the_end_of_the_statement_drops_all() -> None:
    calls = Calls(60)
    assert ended(lambda: in_parallel(map(calls.call, range(10)), 5), lambda: len(calls.begun) == 5) < allowed(0.3)
    until(lambda: sorted(calls.dropped) == [0, 1, 2, 3, 4])


def test_a_statement_that_has_ended_asks_nothing() -> None:
    calls = Calls()
    statement = Cancellation()
    statement.cancel()
    with statement.active(), pytest.raises(CancelledError):
        result_of(calls.call(0))
    assert calls.begun == []


def test_a_call_that_is_told_to_end_is_not_dropped() -> None:
    told, done = threading.Event(), threading.Event()

    async def until_told() -> None:
        while not told.is_set():
            await asyncio.sleep(0.01)
        done.set()

    assert ended(lambda: result_of(until_told, told.set)) < allowed(0.3)
    assert done.wait(allowed(10))


class Counted:
    """A call whose results are the numbers of its calls."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.calls = Calls(seconds)
        self._next = 0

    async def call(self) -> int:
        self._next += 1
        return await self.calls.call(self._next)()


def test_a_call_is_made_until_its_result_is_the_last() -> None:
    counted = Counted()
    assert list(repeatedly(counted.call, lambda number: number < 20)) == list(range(1, 21))
    assert counted.calls.begun == list(range(1, 21))
    assert counted.calls.most == 1


def test_the_next_call_is_under_way_but_for_the_second() -> None:
    counted = Counted(seconds=0.5)
    numbers = repeatedly(counted.call, lambda number: True)
    begun = counted.calls.begun
    assert next(numbers) == 1
    assert begun == [1]
    assert next(numbers) == 2
    until(lambda: begun == [1, 2, 3])
    assert next(numbers) == 3
    numbers.close()
    until(lambda: counted.calls.dropped == [4])
