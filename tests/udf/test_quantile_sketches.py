"""KLL sketches: quantiles and ranks near the truth, however the values were dealt out."""

from __future__ import annotations

import random

import datasketches
import numpy as np
import pytest

from sharkpy.udf.quantile_sketches import kll_cdf, kll_number, kll_quantiles, kll_rank, new_kll, union_kll

ERROR = 0.0265
"""Of the rank, beyond the promised 0.0133 (1.33 % for single ranks) by as much again."""


@pytest.mark.parametrize("number", [1, 7, 300, 50_000])
@pytest.mark.parametrize("parts", [1, 2, 9])
def test_quantiles_are_near_the_truth(number: int, parts: int) -> None:
    chance = random.Random(number)
    values = np.array([chance.randrange(10_000) for _ in range(number)], dtype=float)
    whole = union_kll(new_kll(values[part::parts], 200) for part in range(parts))
    assert whole is not None
    assert kll_number(whole) == number
    ordered = np.sort(values)
    fractions = np.array([0.0, 0.1, 0.5, 0.99, 1.0])
    found = kll_quantiles(whole, fractions)
    assert found is not None
    for fraction, quantile in zip(fractions, found, strict=True):
        low, high = (np.searchsorted(ordered, quantile, side) / number for side in ("left", "right"))
        assert low - ERROR <= fraction <= high + ERROR
        rank = kll_rank(whole, quantile)
        assert rank is not None
        assert abs(rank - low) <= ERROR


def test_sketches_of_the_same_values_are_the_same() -> None:
    """However they come, so that a repeated task makes the same blocks; with such ones of the library, too."""
    values = np.random.default_rng(1).normal(size=30_000)
    parts = [new_kll(part, 200) for part in (values[:10_000], values[10_000:])]
    assert new_kll(values[::-1], 200) == new_kll(values, 200)
    assert union_kll(parts) == union_kll(parts[::-1])
    drawn = datasketches.kll_floats_sketch(200)
    drawn.update(values.astype(np.float32))
    both = union_kll([bytes(drawn.serialize()), *parts])
    assert both is not None
    assert kll_number(both) == 60_000
    found = kll_quantiles(both, np.array([0.1, 0.9]))
    assert found == pytest.approx(np.quantile(values, [0.1, 0.9]), abs=0.1)


def test_few_values_are_exact() -> None:
    values = np.array([5.0, 1.0, 3.0, float("nan")])
    sketch = new_kll(values, 200)
    assert kll_number(sketch) == 3
    assert kll_quantiles(sketch, np.array([0.0, 0.34, 1.0])) == [1.0, 3.0, 5.0]
    assert kll_cdf(sketch, np.array([3.0, 4.0])) == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_a_sketch_of_nothing_has_no_quantiles() -> None:
    sketch = new_kll(np.array([]), 200)
    assert kll_quantiles(sketch, np.array([0.5])) is None
    assert kll_rank(sketch, 1.0) is None
    assert kll_cdf(sketch, np.array([1.0])) is None
    assert union_kll([]) is None


def test_sizes_come_together_as_the_larger() -> None:
    one, other = (new_kll(np.arange(10_000.0), size) for size in (20, 400))
    both = union_kll([one, other])
    assert both is not None
    assert kll_number(both) == 20_000


def test_bytes_that_are_no_sketch_are_refused() -> None:
    whole = new_kll(np.arange(1000.0), 200)
    chance = random.Random(0)
    for _ in range(2_000):
        broken = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(3)):
            if broken:
                broken[chance.randrange(min(len(broken), 24))] = chance.randrange(256)
        try:
            kll_number(bytes(broken))
            union_kll([bytes(broken), whole])
        except ValueError as error:
            assert "no kll sketch" in str(error)  # noqa: PT017 - some changes are harmless
