"""Sketches that anybody may have written: bytes that are none are refused, and none of them breaks this process."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sharkpy.udf.distinct_sketches import (
    FAMILIES,
    estimate,
    estimate_bounds,
    exclude_theta,
    intersect_theta,
    new_sketch,
    union_sketches,
)
from sharkpy.udf.frequency_sketches import count_of, frequent_items, new_counts, new_frequent, union_counts
from sharkpy.udf.frequency_sketches import union_frequent as union_of_frequent
from sharkpy.udf.quantile_sketches import kll_cdf, kll_quantiles, new_kll, union_kll

Use = Callable[[bytes], object]


def sketches_of(family: str, number: int) -> tuple[list[bytes], list[Use]]:
    """Sketches of so many values, and what may be done with them."""
    values = range(number)
    if family in FAMILIES:
        made = new_sketch(family, values, 0)
        whole = union_sketches(family, [made])
        assert whole is not None
        uses: list[Use] = [
            lambda one: estimate(family, one),
            lambda one: estimate_bounds(family, one, 2),
            lambda one: union_sketches(family, [one, made]),
        ]
        if family == "theta":
            uses += [lambda one: intersect_theta(one, made), lambda one: exclude_theta(made, one)]
        return [made, whole], uses
    if family == "kll":
        kll = new_kll(np.arange(float(number)), 200)
        halves = [lambda one: kll_quantiles(one, np.array([0.5])), lambda one: kll_cdf(one, np.array([0.5]))]
        return [kll], [*halves, lambda one: union_kll([one, kll])]
    if family == "freq":
        texts = new_frequent(map(str, values), 64)
        return [texts], [
            lambda one: frequent_items(one, "NO_FALSE_NEGATIVES"),
            lambda one: union_of_frequent([one, texts]),
        ]
    counts = new_counts(map(str, values), 0.1, 0.9)
    return [counts], [lambda one: count_of(one, "a"), lambda one: union_counts([one, counts])]


def damaged(chance: random.Random, sketches: Sequence[bytes]) -> bytes:
    whole = chance.choice(sketches)
    broken = bytearray(whole[: chance.randrange(len(whole) + 1)] if chance.random() < 0.2 else whole)
    for _ in range(chance.randrange(1, 3)):
        if broken:
            reach = chance.choice((16, 48, len(broken)))
            broken[chance.randrange(min(len(broken), reach))] = chance.randrange(256)
    return bytes(broken)


def faults_of(sketches: Sequence[bytes], uses: Sequence[Use], seed: int, times: int) -> list[str]:
    """Errors that uses of so many damaged sketches end with."""
    chance, found = random.Random(seed), list[str]()
    for _ in range(times):
        broken = damaged(chance, sketches)
        for use in uses:
            try:
                use(broken)
            except ValueError as error:
                found.append(str(error))
    return found


@pytest.mark.variants(3)
@pytest.mark.parametrize("number", [0, 3, 100, 500, 30_000])
@pytest.mark.parametrize("family", ["hll", "theta", "kll", "freq", "countmin"])
def test_damaged_bytes_are_refused_or_read(family: str, number: int) -> None:
    sketches, uses = sketches_of(family, number)
    found = faults_of(sketches, uses, number, 3_000)
    assert found
    assert [one for one in found if "no " not in one and "do not go together" not in one] == []


@pytest.mark.variants(3)
@pytest.mark.parametrize("number", [3, 500, 30_000])
def test_damaged_cpc_sketches_break_another_process_alone(number: int) -> None:
    sketches, uses = sketches_of("cpc", number)
    found = faults_of(sketches, uses, number, 12)
    assert found
    assert [one for one in found if "no cpc sketch" not in one] == []
    assert estimate("cpc", sketches[0]) == pytest.approx(number, rel=0.1)
