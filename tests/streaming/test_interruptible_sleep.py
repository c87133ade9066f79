"""Sleep of the thread that looks after continuous queries: it ends when there is something to do, and not before."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from sharkpy.streaming.interruptible_sleep import InterruptibleSleep
from tests.waiting import when

LONG = 600.0


@pytest.fixture
def sleep() -> Iterator[InterruptibleSleep]:
    with closing(InterruptibleSleep()) as sleep:
        yield sleep


def test_it_lasts_as_long_as_it_should(sleep: InterruptibleSleep) -> None:
    began = time.monotonic()
    assert not sleep.sleep(0.05)
    assert time.monotonic() - began >= 0.05
    assert not sleep.sleep(0.0)
    assert not sleep.sleep(-1.0)


def test_it_is_ended_before_it_begins(sleep: InterruptibleSleep) -> None:
    for _ in range(3):
        sleep.end()
    assert not sleep.sleep(LONG)
    began = time.monotonic()
    assert not sleep.sleep(0.05)
    assert time.monotonic() - began >= 0.05


def test_it_is_ended_by_other_threads(sleep: InterruptibleSleep) -> None:
    for _ in range(20):
        thread = when(lambda: sleep._is_asleep, lambda: [sleep.end() for _ in range(3)])
        assert not sleep.sleep(LONG)
        thread.join()
        sleep.end()
        assert not sleep.sleep(LONG)
    # The pipe is empty.
    began = time.monotonic()
    assert not sleep.sleep(0.05)
    assert time.monotonic() - began >= 0.05


def test_it_ends_with_a_file_that_has_something_to_read(sleep: InterruptibleSleep) -> None:
    reading, writing = os.pipe()
    try:
        assert not sleep.sleep(0.01, [reading])
        os.write(writing, b"x")
        assert sleep.sleep(LONG, [reading])
        assert sleep.sleep(LONG, (reading,))
        sleep.end()
        assert not sleep.sleep(LONG, [reading])
        os.read(reading, 1)
        thread = when(lambda: sleep._is_asleep, lambda: os.write(writing, b"x"))
        assert sleep.sleep(LONG, [reading])
        thread.join()
    finally:
        os.close(reading)
        os.close(writing)


def test_nobody_misses_an_end(sleep: InterruptibleSleep) -> None:
    """Another thread adds work and ends the sleep each time: the sleeper finds all work, at once."""
    left, found = list[int](), list[int]()

    def leave() -> None:
        for number in range(2000):
            left.append(number)
            sleep.end()

    thread = threading.Thread(target=leave)
    thread.start()
    while len(found) < 2000:
        sleep.sleep(LONG)
        while left:
            found.append(left.pop(0))
    thread.join()
    assert found == list(range(2000))


def test_it_may_be_ended_after_its_thread(sleep: InterruptibleSleep) -> None:
    sleep.close()
    sleep.end()
    sleep.close()
