"""Queries cancelled at random times: CancelledError or the right answer, and the next query is right."""

from __future__ import annotations

import random
import threading
import time

import pytest

import sharkpy
from sharkpy.errors import CancelledError
from tests.faults.workload import QUERIES

pytestmark = pytest.mark.spark


def check(context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int, rounds: int) -> None:
    generator = random.Random(seed)
    for _ in range(rounds):
        query = generator.choice(QUERIES)
        timer = threading.Timer(generator.uniform(0, 0.3), context.cancel)
        timer.start()
        state = "57014"
        try:
            assert context.sql(query).fetchall() == expected[query], f"seed {seed}: {query}"
        except CancelledError as error:
            state = error.sqlstate
        finally:
            timer.join()
        assert state == "57014"
        following = generator.choice(QUERIES)
        assert context.sql(following).fetchall() == expected[following], f"seed {seed}: {following} after {query}"


def test_random_cancels(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int
) -> None:
    check(context, expected, seed, 6)


@pytest.mark.slow
def test_many_random_cancels(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int
) -> None:
    check(context, expected, seed, 150)


def test_a_cancelled_query_ends_soon(context: sharkpy.SharkContext) -> None:
    slow = "SELECT count(*) FROM facts a CROSS JOIN facts b WHERE hash(a.k, b.k) % 7 = 3"
    timer = threading.Timer(0.5, context.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        context.sql(slow).fetchall()
    assert time.monotonic() - started < 20
    timer.join()
