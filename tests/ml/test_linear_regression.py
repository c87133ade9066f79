"""LinearRegression, compared with scikit-learn's, on arrays and blocks."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Reference
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from sharkpy.base.errors import DataError, NotFittedError, ParameterError
from sharkpy.ml import Estimator, LinearRegression
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlock
from sharkpy.ml.models.kernels.column_moments import scatter
from sharkpy.values.types import DOUBLE

DIABETES, PROGRESSION = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(5)
EXACT = 1e-15
"""Tolerance `tol` of scikit-learn, which by default leaves out directions that differ by 1e6 in scale."""


def shapes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    X = RNG.normal(size=(300, 4))
    y = X @ [1.0, -2.0, 0.5, 3.0] + 7 + RNG.normal(size=300)
    one_hot = np.eye(3)[RNG.integers(0, 3, 300)]
    return {
        "diabetes": (DIABETES, PROGRESSION),
        "plain": (X, y),
        "one feature": (X[:, :1], y),
        "far from zero": (X + 1e6, y),
        "scales": (X * [1e-4, 1.0, 1e3, 1e6], y),
        "constant column": (np.column_stack([X, np.full(300, 0.1)]), y),
        "equal columns": (np.column_stack([X, X[:, 0]]), y),
        "dependent columns": (np.column_stack([X, one_hot]), y),
        "wide": (RNG.normal(size=(8, 20)), RNG.normal(size=8)),
        "one row": (X[:1], y[:1]),
        "two rows": (X[:2], y[:2]),
        "constant label": (X, np.full(300, 3.0)),
    }


SHAPES = shapes()


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("name", SHAPES)
def test_coefficients_are_scikit_learns(name: str, fit_intercept: bool) -> None:
    X, y = SHAPES[name]
    expected = Reference(fit_intercept=fit_intercept, tol=EXACT).fit(X, y)
    for blocks in (ArrayBlocks.of(X, y), ArrayBlocks.of(X, y, block_rows=53)):
        found = LinearRegression(fit_intercept=fit_intercept).fit(blocks)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("name", SHAPES)
def test_ridge(name: str, alpha: float, fit_intercept: bool) -> None:
    X, y = SHAPES[name]
    found = LinearRegression(alpha=alpha, fit_intercept=fit_intercept).fit(X, y)
    expected = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "rank"),
    [("plain", 4), ("constant column", 4), ("equal columns", 4), ("dependent columns", 6), ("wide", 7), ("scales", 4)],
)
def test_rank(name: str, rank: int) -> None:
    for alpha in (0.0, 1.0):
        assert LinearRegression(alpha=alpha).fit(*SHAPES[name]).rank_ == rank


def test_units_do_not_matter() -> None:
    """A column in other units has a coefficient in other units, exactly so for powers of two, and however large."""
    X, y = SHAPES["plain"]
    plain, scaled = LinearRegression().fit(X, y), LinearRegression().fit(X * [1.0, 2.0**40, 2.0**-40, 1.0], y)
    np.testing.assert_allclose(scaled.coef_ * [1.0, 2.0**40, 2.0**-40, 1.0], plain.coef_, rtol=1e-12)


def test_no_digits_are_lost_to_means_or_squares() -> None:
    """Nearly dependent columns far from zero: a matrix of moments would have no digits left."""
    t = RNG.normal(size=1000)
    X = np.column_stack([t, t + 1e-7 * RNG.normal(size=1000)]) + 100
    y = X @ [1.0, 2.0]
    found = LinearRegression().fit(ArrayBlocks.of(X, y, block_rows=100))
    np.testing.assert_allclose(found.coef_, [1.0, 2.0], rtol=1e-5)


def test_float32_is_summed_in_float64() -> None:
    X = (RNG.normal(size=(5000, 3)) + 1000).astype(np.float32)
    y = (X @ np.array([1, 2, 3], np.float32)).astype(np.float32)
    found = LinearRegression().fit(X, y)
    expected = Reference(tol=EXACT).fit(X.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 6), st.lists(st.integers(1, 29), max_size=4), st.integers(0, 9))
def test_factors_of_parts_combine(num_rows: int, num_columns: int, cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.normal(size=(num_rows, num_columns)) + 50)
    edges = [0, *sorted(cut % num_rows for cut in cuts), num_rows]
    parts = [scatter(FeatureBlock(0, X[a:b])) for a, b in itertools.pairwise(edges)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    centred = X - X.mean(axis=0)
    assert whole.num_rows == num_rows
    np.testing.assert_allclose(whole.mean, X.mean(axis=0))
    np.testing.assert_allclose(whole.factor.T @ whole.factor, centred.T @ centred, atol=1e-10)
    np.testing.assert_allclose(whole.uncentred().T @ whole.uncentred(), X.T @ X, rtol=1e-12)


def test_score() -> None:
    found, expected = LinearRegression().fit(DIABETES, PROGRESSION), Reference().fit(DIABETES, PROGRESSION)
    assert found.score(DIABETES, PROGRESSION) == pytest.approx(expected.score(DIABETES, PROGRESSION), rel=1e-12)
    blocks = ArrayBlocks.of(DIABETES, PROGRESSION, block_rows=77)
    assert found.score(blocks) == pytest.approx(expected.score(DIABETES, PROGRESSION), rel=1e-12)
    assert found.score(DIABETES, PROGRESSION + 1e6) == pytest.approx(expected.score(DIABETES, PROGRESSION + 1e6))
    constant = LinearRegression().fit([[1.0], [2.0]], [3.0, 3.0])
    assert constant.score([[1.0], [2.0]], [3.0, 3.0]) == 1.0
    assert constant.score([[1.0], [2.0]], [4.0, 4.0]) == 0.0


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = SHAPES["plain"]
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=y)
    model = LinearRegression().fit(frame, "y")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(model.coef_, LinearRegression().fit(X, y).coef_)
    assert model.score(frame, "y") == model.score(X, y)


def test_missing_values() -> None:
    X, y = SHAPES["plain"]
    torn = X.copy()
    torn[3, 1] = np.nan
    with pytest.raises(DataError, match='column "x1" has 1 missing value'):
        LinearRegression().fit(torn, y)
    kept = np.arange(300) != 3
    found = LinearRegression().fit(torn, y, na="drop")
    np.testing.assert_allclose(found.coef_, LinearRegression().fit(X[kept], y[kept]).coef_, rtol=1e-12)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0]], [0.0, 1.0], 'column "x1" has 1 missing value (NULL or NaN)'),
        ([[1.0, np.inf], [2.0, 3.0]], [0.0, 1.0], 'column "x1" has 1 infinite value'),
        ([[1.0, 2.0], [2.0, 3.0]], [0.0, np.nan], 'label "label" has 1 missing value'),
        ([[1e308, 2.0], [-1e308, 3.0]], [0.0, 1.0], "the numbers are too large"),
    ],
    ids=["nan", "infinity", "label", "overflow"],
)
def test_blocks_with_what_they_should_not_have(X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        LinearRegression().fit(ArrayBlocks.of(X, y))
    assert message in str(error.value)


def test_what_cannot_be() -> None:
    X, y = SHAPES["plain"]
    with pytest.raises(DataError, match="LinearRegression needs labels; give y"):
        LinearRegression().fit(X)
    with pytest.raises(DataError, match="2 labels for 300 rows"):
        LinearRegression().fit(X, y[:2])
    with pytest.raises(ParameterError, match='parameter "alpha" of LinearRegression must be a number of at least 0'):
        LinearRegression(alpha=-1).fit(X, y)
    with pytest.raises(NotFittedError):
        LinearRegression().predict(X)
    with pytest.raises(NotFittedError):
        LinearRegression().score(X, y)
    with pytest.raises(DataError, match="the data has 2 features; this LinearRegression was fitted with 4: x0, x1"):
        LinearRegression().fit(X, y).score(ArrayBlocks.of(X[:, :2], y))


def test_saved_models_predict_the_same_bits(tmp_path: Path) -> None:
    model = LinearRegression(alpha=0.1).fit(*SHAPES["diabetes"])
    model.save(tmp_path / "model")
    loaded = Estimator.load(tmp_path / "model")
    assert isinstance(loaded, LinearRegression)
    np.testing.assert_array_equal(loaded.predict(DIABETES), model.predict(DIABETES))
    assert (loaded.rank_, loaded.prediction_type) == (model.rank_, DOUBLE)


def test_scikit_learns_tools_take_it() -> None:
    found = cross_val_score(LinearRegression(), DIABETES, PROGRESSION, cv=3)
    np.testing.assert_allclose(found, cross_val_score(Reference(), DIABETES, PROGRESSION, cv=3), rtol=1e-8)
