"""Histograms: exact while bins last, Hive's choices after that, and the same however states are merged."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sharkpy.udf.percentiles import histogram_bins, histogram_quantiles, histogram_state, merge_histograms


def state(values: list[float], bins: int) -> bytes:
    found = histogram_state(np.array(values, dtype=np.float64), bins)
    assert found is not None
    return found


def test_few_values_have_a_bin_each() -> None:
    assert histogram_bins(state([3, 1, 3, float("nan"), -2], 5)) == [
        {"x": -2.0, "y": 1.0},
        {"x": 1.0, "y": 1.0},
        {"x": 3.0, "y": 2.0},
    ]


def test_the_closest_bins_are_put_together() -> None:
    assert histogram_bins(state([1, 2, 10, 20], 3)) == [
        {"x": 1.5, "y": 2.0},
        {"x": 10.0, "y": 1.0},
        {"x": 20.0, "y": 1.0},
    ]


@pytest.mark.parametrize("bins", [2, 20, 1500])
def test_nothing_is_lost(bins: int) -> None:
    chance = random.Random(bins)
    values = [chance.gauss(0, 100) for _ in range(5000)]
    parts = [state(values[part::3], bins) for part in range(3)]
    merged = merge_histograms(parts)
    assert merged is not None
    assert merged == merge_histograms(parts[::-1])
    found = histogram_bins(merged)
    assert len(found) == bins
    assert sum(one["y"] for one in found) == 5000
    assert sum(one["x"] * one["y"] for one in found) == pytest.approx(sum(values), abs=1e-6)
    assert [one["x"] for one in found] == sorted(one["x"] for one in found)


def test_quantiles_are_near_the_truth() -> None:
    values = [float(value % 100_000) for value in range(0, 700_000, 7)]
    for bins, tolerance in ((10_000, 20), (200_000, 1.5)):
        (found,) = histogram_quantiles(state(values, bins), np.array([0.5]))
        assert abs(found - 50_000) < tolerance


def test_too_few_bins_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 bins"):
        histogram_state(np.array([1.0]), 1)
