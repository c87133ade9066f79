"""Sketches of frequent items and of counts: their bounds hold, however the values were dealt out."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from sharkpy.udf.frequency_sketches import (
    count_of,
    frequent_items,
    new_counts,
    new_frequent,
    total_count,
    union_counts,
    union_frequent,
)


def skewed(number: int) -> list[str]:
    chance = random.Random(number)
    return [str(int(chance.paretovariate(0.7))) for _ in range(number)]


@pytest.mark.parametrize("number", [1, 50, 20_000])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_bounds_of_frequent_values_hold(number: int, parts: int) -> None:
    values = skewed(number)
    truth = Counter(values)
    whole = union_frequent(new_frequent(values[part::parts], 64) for part in range(parts))
    assert whole is not None
    surely, perhaps = (frequent_items(whole, kind) for kind in ("NO_FALSE_POSITIVES", "NO_FALSE_NEGATIVES"))
    assert perhaps
    for item in perhaps:
        assert int(str(item["lower_bound"])) <= truth[str(item["item"])] <= int(str(item["upper_bound"]))
    assert [one["item"] for one in surely if one not in perhaps] == []
    largest, times = truth.most_common(1)[0]
    if times > number / 10:
        assert surely[0]["item"] == largest


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_counts_are_not_below_the_truth(parts: int) -> None:
    values = skewed(20_000)
    truth = Counter(values)
    whole = union_counts(new_counts(values[part::parts], 0.01, 0.99) for part in range(parts))
    assert whole == union_counts([new_counts(values, 0.01, 0.99)])
    assert total_count(whole) == len(values)
    above = [count_of(whole, value) - number for value, number in truth.items()]
    assert min(above) >= 0
    assert sum(one > 0.01 * len(values) for one in above) <= 0.01 * len(above)
    assert count_of(whole, "never there") <= 0.01 * len(values)


def test_sketches_of_nothing() -> None:
    assert frequent_items(new_frequent([], 8), "NO_FALSE_NEGATIVES") == []
    assert count_of(new_counts([], 0.1, 0.9), "a") == 0
    assert union_frequent([]) is None
    assert union_counts([]) is None


@pytest.mark.parametrize("make", [lambda: new_frequent(map(str, range(500)), 64), lambda: new_counts("abc", 0.1, 0.9)])
def test_bytes_that_are_no_sketch_are_refused(make: object) -> None:
    assert callable(make)
    whole = make()
    chance = random.Random(0)
    for _ in range(2_000):
        broken = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(3)):
            if broken:
                broken[chance.randrange(min(len(broken), 32))] = chance.randrange(256)
        for read in (lambda one: frequent_items(one, "NO_FALSE_NEGATIVES"), lambda one: count_of(one, "a")):
            try:
                read(bytes(broken))
            except ValueError as error:
                assert "sketch" in str(error)  # noqa: PT017 - some changes are harmless
