"""Newton's method and gradient descent of LogisticRegression: the same minimum, their steps, their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Reference

from sharkpy.base.errors import UnsupportedError
from sharkpy.ml import LogisticRegression
from sharkpy.ml.features.feature_blocks import ArrayBlocks
from sharkpy.ml.models.class_labels import ClassCounts
from sharkpy.ml.models.estimator import ConvergenceWarning
from sharkpy.ml.models.logistic_solvers import LogisticObjective
from tests.ml.logistic_data import CANCER, DATA, IS_BENIGN, random_data

# Newton's method


@pytest.mark.variants(3)
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("name", DATA)
def test_newton_gives_all_digits(name: str, C: float, fit_intercept: bool) -> None:
    X, y = DATA[name]
    parameters: dict[str, Any] = {"C": C, "fit_intercept": fit_intercept, "tol": 1e-12}
    found = LogisticRegression(solver="newton", **parameters).fit(ArrayBlocks.of(X, y, block_rows=200))
    expected = Reference(solver="newton-cholesky", **parameters).fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-8, atol=1e-9)
    assert found.n_iter_[0] <= 20


@pytest.mark.parametrize("num_classes", [2, 4])
def test_second_derivatives_are_those_of_the_gradient(num_classes: int) -> None:
    X, y = random_data(300, 3, num_classes)
    blocks = ArrayBlocks.of(X, y, block_rows=64)
    for fit_intercept in (True, False):
        weights = np.arange(1.0, num_classes + 1)
        objective = LogisticObjective(blocks, ClassCounts.of(blocks), weights, fit_intercept, 0.3)
        at = np.random.default_rng(1).normal(size=len(objective.start()))
        value, gradient, hessian = objective.with_hessian(at)
        assert value == objective(at)[0]
        np.testing.assert_array_equal(gradient, objective(at)[1])
        by_differences = [(objective(at + step)[1] - objective(at - step)[1]) / 2e-5 for step in 1e-5 * np.eye(len(at))]
        np.testing.assert_allclose(hessian, by_differences, atol=1e-8)


def test_newton_does_not_mind_scales_constants_or_copies() -> None:
    X, y = random_data(2000, 3, 2)
    plain = LogisticRegression(solver="newton", C=np.inf, tol=1e-10).fit(X, y)
    units = np.array([1e-6, 1.0, 1e6])
    scaled = LogisticRegression(solver="newton", C=np.inf, tol=1e-10).fit(X * units + 5 * units, y)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-6)
    more = np.column_stack([X, np.full(2000, 7.0), X[:, 0]])
    found = LogisticRegression(solver="newton", C=np.inf, tol=1e-10).fit(more, y)
    np.testing.assert_allclose(found.decision_function(more), plain.decision_function(X), rtol=1e-6, atol=1e-8)
    classes = LogisticRegression(solver="newton", C=np.inf, tol=1e-10).fit(*DATA["five classes"])
    expected = Reference(solver="newton-cholesky", C=np.inf, tol=1e-10).fit(*DATA["five classes"])
    np.testing.assert_allclose(
        classes.predict_proba(DATA["five classes"][0]), expected.predict_proba(DATA["five classes"][0]), atol=1e-8
    )


@pytest.mark.parametrize("seed", [8, 21, 28])
def test_newton_takes_shorter_steps_where_the_loss_would_grow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    num_rows = rng.integers(4, 12)
    X, y = rng.standard_cauchy((num_rows, 2)) ** 3, rng.random(num_rows) < 0.2
    found = LogisticRegression(solver="newton", C=1e6, tol=1e-10).fit(X, y)
    assert (np.diff(found.loss_history_) <= 1e-13).all()
    assert found.loss_history_[-1] < 0.6 * found.loss_history_[0]


def test_newton_where_it_cannot() -> None:
    X, y = random_data(50, 600, 2)
    with pytest.raises(
        UnsupportedError, match='solver "newton" with 601 coefficients: it takes up to 500; solver="lbfgs"'
    ):
        LogisticRegression(solver="newton").fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Newton's method ended after 1 iterations"):
        LogisticRegression(solver="newton", max_iter=1).fit(CANCER, IS_BENIGN)


# Gradient descent


@pytest.mark.parametrize("name", ["cancer", "iris", "five classes"])
def test_gradient_descent_arrives_at_the_same_minimum(name: str) -> None:
    X, y = DATA[name]
    parameters = {"C": 0.05, "tol": 1e-8}
    found = LogisticRegression(solver="gradient_descent", max_iter=50_000, **parameters).fit(X, y)
    expected = LogisticRegression(**parameters).fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    assert (np.diff(found.loss_history_) <= 1e-15).all()


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
def test_the_step_of_gradient_descent_is_the_longest_that_is_safe(fit_intercept: bool) -> None:
    """At probabilities of 1/2 the bound is the largest second derivative itself; elsewhere it is not passed."""
    rng = np.random.default_rng(3)
    for num_classes in (2, 4):
        X, y = random_data(500, 3, num_classes)
        blocks = ArrayBlocks.of(X + 2, y, block_rows=100)
        weights = np.full(num_classes, 1.5)
        objective = LogisticObjective(blocks, ClassCounts.of(blocks), weights, fit_intercept, 10.0)
        bound = objective.lipschitz()
        largest = np.linalg.eigvalsh(objective.with_hessian(objective.start())[2])[-1]
        if num_classes == 2:
            assert bound == pytest.approx(largest, rel=1e-4)
        for _ in range(20):
            at = rng.normal(size=len(objective.start()))
            assert np.linalg.eigvalsh(objective.with_hessian(at)[2])[-1] <= bound


def test_gradient_descent_is_the_papers_update() -> None:
    X, y = random_data(100, 2, 2)
    with pytest.warns(ConvergenceWarning, match="gradient descent ended after 3 iterations"):
        found = LogisticRegression(
            solver="gradient_descent", max_iter=3, learning_rate=0.5, C=np.inf, fit_intercept=False
        ).fit(X, y)
    w = np.zeros(2)
    for _ in range(3):
        w -= 0.5 * X.T @ (1 / (1 + np.exp(-X @ w)) - y) / 100
    np.testing.assert_allclose(found.coef_[0], w, rtol=1e-12)
    assert found.n_iter_ == [3]


def test_a_learning_rate_that_is_too_large() -> None:
    with pytest.warns(ConvergenceWarning, match="the loss grew: the learning rate is too large"):
        LogisticRegression(solver="gradient_descent", learning_rate=1e3, max_iter=20).fit(CANCER, IS_BENIGN)


def test_too_few_iterations() -> None:
    with pytest.warns(ConvergenceWarning, match="L-BFGS ended after 2 iterations: .*raise max_iter"):
        found = LogisticRegression(max_iter=2).fit(CANCER, IS_BENIGN)
    assert found.n_iter_ == [2]
    assert found.coef_.any()
