"""Compiled loops of k-means, compared with the same in NumPy, and their machine code."""

from __future__ import annotations

import platform
import re
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.ml.models.kernels import nearest_centre
from sharkpy.ml.models.kernels.nearest_centre import nearest_centres, sum_by_centre
from sharkpy.ml.models.kernels.strips import columns_of


def squares_of(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return np.square(X[:, np.newaxis].astype(np.float64) - centres[np.newaxis]).sum(axis=2)


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("num_rows", [0, 1, 511, 512, 1025])
@pytest.mark.parametrize("num_features", [1, 2, 3, 4, 5, 6, 7, 8, 13])
def test_nearest_and_sums_are_those_of_numpy(num_features: int, num_rows: int, dtype: Any) -> None:
    rng = np.random.default_rng(num_features)
    X = rng.normal(size=(num_rows, num_features)).astype(dtype) * 10 + 100
    for num_centres in (1, 2, 5):
        centres = (rng.normal(size=(num_centres, num_features)) * 10 + 100).astype(dtype).astype(np.float64)
        squares = squares_of(X, centres)
        labels, distances = nearest_centres(np.asfortranarray(X), centres)
        assert labels.dtype == np.int32
        assert distances.dtype == dtype
        np.testing.assert_array_equal(labels, squares.argmin(axis=1))
        np.testing.assert_allclose(distances, squares.min(axis=1), rtol=1e-12 if dtype == np.float64 else 1e-4)
        sums, counts, inertia = sum_by_centre(np.asfortranarray(X), centres)
        np.testing.assert_array_equal(counts, np.bincount(labels, minlength=num_centres))
        expected = np.stack([X[labels == label].sum(axis=0, dtype=np.float64) for label in range(num_centres)])
        np.testing.assert_allclose(sums, expected, rtol=1e-12)
        np.testing.assert_allclose(inertia, distances.sum(dtype=np.float64), rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=40),
    st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=9),
)
def test_the_first_of_equally_near_centres_counts(rows: list[Any], centres: list[Any]) -> None:
    X, C = np.array(rows, np.float64), np.array(centres, np.float64)
    np.testing.assert_array_equal(nearest_centres(np.asfortranarray(X), C)[0], squares_of(X, C).argmin(axis=1))


def test_distances_are_exact_far_from_the_origin() -> None:
    """|x|² - 2xc + |c|² has no digit left here."""
    X = 1e9 + np.array([[0.0], [0.25], [1.0]])
    assert nearest_centres(np.asfortranarray(X), X[:1] + 0.25)[1].tolist() == [0.0625, 0.0, 0.5625]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of registers are of x86")
def test_loops_are_simd_code() -> None:
    kept = nearest_centre._add_4_features
    fresh = numba.jit(**kept.targetoptions)(kept.py_func)
    fresh(columns_of(np.zeros((4, 1), order="F")), 0, 0, 1, np.zeros((2, 4)), 0, np.zeros((2, 1)))
    (code,) = fresh.inspect_asm().values()
    assert re.search(r"v(sub|mul|fmadd\d+)pd\s.*%[yz]mm", code)
