"""Sketches: near the truth, and equal in what they estimate however the values were dealt out."""

from __future__ import annotations

import random

import pytest

from sharkpy.udf.distinct_sketches import FAMILIES, estimate, estimate_bounds, new_sketch, union_sketches


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("number", [1, 7, 300, 20_000])
def test_estimates_do_not_depend_on_how_values_were_dealt(family: str, number: int) -> None:
    chance = random.Random(number)
    values = [chance.randrange(number * 3) for _ in range(number)]
    truth = len(set(values))
    found = set()
    for parts in (1, 2, 5):
        chance.shuffle(values)
        sketches = [new_sketch(family, values[part::parts], 0) for part in range(parts)]
        whole = union_sketches(family, sketches)
        assert whole is not None
        found.add(round(estimate(family, whole), 6))
        _, low, high = estimate_bounds(family, whole, 3)
        assert low <= truth <= high
    assert len(found) == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_bad_sizes_are_refused(family: str) -> None:
    with pytest.raises(ValueError, match="entries"):
        new_sketch(family, [1], 40)
    with pytest.raises(ValueError, match="standard deviations"):
        estimate_bounds(family, new_sketch(family, [1], 0), 4)
