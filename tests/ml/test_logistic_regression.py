"""LogisticRegression, compared with scikit-learn's, on arrays and blocks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.linear_model._linear_loss import LinearModelLoss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler as ReferenceScaler

from sharkpy.base.errors import DataError, NotFittedError, ParameterError
from sharkpy.ml import Estimator, LogisticRegression
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlock
from sharkpy.ml.models.class_labels import MAX_CLASSES, ClassCounts
from sharkpy.ml.models.kernels.logistic_loss import LossPoint, logistic_loss
from sharkpy.ml.models.logistic_solvers import LogisticObjective
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, STRING
from tests.ml.logistic_data import CANCER, DATA, IRIS, IS_BENIGN, SPECIES, random_data

# The kernel


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("num_classes", [2, 3, 7])
@pytest.mark.parametrize("num_rows", [1, 31, 4096, 10_001])
def test_loss_and_gradient_are_the_formulas(num_rows: int, num_classes: int, dtype: Any) -> None:
    rng = np.random.default_rng(num_rows)
    X = np.asfortranarray(rng.normal(size=(num_rows, 5)).astype(dtype)) * 10
    y = rng.integers(0, num_classes, num_rows)
    classes = np.arange(num_classes) * 2.0 - 1
    weights = rng.uniform(0.5, 2, num_classes)
    scores = 1 if num_classes == 2 else num_classes
    at = LossPoint(rng.normal(size=(scores, 5)), rng.normal(size=scores), classes, weights)
    found = logistic_loss(FeatureBlock(0, X, classes[y].astype(dtype)), at)

    z = X.astype(np.float64) @ at.coef.T + at.intercept
    if num_classes == 2:
        z = np.hstack([np.zeros_like(z), z])
    log_p = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
    rows, w = np.arange(num_rows), weights[y]
    assert found.loss == pytest.approx(-(w * log_p[rows, y]).sum(), rel=1e-12)
    residual = np.exp(log_p)
    residual[rows, y] -= 1
    residual = (residual * w[:, None])[:, -scores:]
    np.testing.assert_allclose(found.coef, residual.T @ X.astype(np.float64), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.intercept, residual.sum(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("score", [0.0, 1e-9, -1e-9, 0.5, 18.0, -18.0, 40.0, -40.0, 700.0, -700.0, 1e6, -1e6])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_extreme_scores(score: float, label: float) -> None:
    at = LossPoint(np.array([[score]]), np.zeros(1), np.array([0.0, 1.0]), np.ones(2))
    found = logistic_loss(FeatureBlock(0, np.ones((1, 1), order="F"), np.array([label])), at)
    away = -score if label else score
    expected = max(away, 0.0) + np.log1p(np.exp(-abs(away)))
    assert found.loss == pytest.approx(expected, rel=1e-7, abs=1e-300)
    residual = np.exp(min(away, 0)) / (1 + np.exp(-abs(away))) * (-1 if label else 1)
    assert found.coef[0, 0] == pytest.approx(residual, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_bits_do_not_depend_on_where_arrays_lie(num_classes: int) -> None:
    """Compiled code may look for overlaps and alignment, and take sums in other orders by what it finds."""
    X, y = random_data(1000, 3, num_classes)
    rng = np.random.default_rng(0)
    scores = 1 if num_classes == 2 else num_classes
    at = LossPoint(
        rng.normal(size=(scores, 3)), rng.normal(size=scores), np.arange(float(num_classes)), np.ones(num_classes)
    )

    def placed(offset: int) -> str:
        kept = [np.empty(size) for size in rng.integers(1, 5000, 3)]
        block = np.empty(X.size + len(kept) + 8)[offset : offset + X.size].reshape(X.shape, order="F")
        block[:] = X
        found = logistic_loss(FeatureBlock(0, block, y.astype(np.float64)), at)
        return repr((found.loss, found.coef.tolist(), found.intercept.tolist()))

    assert len({placed(trial % 8) for trial in range(1000)}) == 1


@pytest.mark.parametrize("num_classes", [2, 4])
def test_gradient_is_the_derivative_of_the_objective(num_classes: int) -> None:
    X, y = random_data(200, 3, num_classes)
    blocks = ArrayBlocks.of(X, y, block_rows=64)
    for fit_intercept in (True, False):
        objective = LogisticObjective(
            blocks, ClassCounts.of(blocks), np.arange(1.0, num_classes + 1), fit_intercept, 0.3
        )
        at = np.random.default_rng(1).normal(size=len(objective.start()))
        assert check_grad(lambda w: objective(w)[0], lambda w: objective(w)[1], at) < 1e-6  # noqa: B023


def test_the_objective_is_scikit_learns() -> None:
    from sklearn._loss import HalfBinomialLoss

    blocks = ArrayBlocks.of(CANCER, IS_BENIGN, block_rows=100)
    at = np.random.default_rng(0).normal(size=CANCER.shape[1] + 1)
    reference = LinearModelLoss(base_loss=HalfBinomialLoss(), fit_intercept=True)
    value, gradient = reference.loss_gradient(at, CANCER, IS_BENIGN.astype(float), None, 1 / (2.0 * len(CANCER)))
    objective = LogisticObjective(blocks, ClassCounts.of(blocks), np.ones(2), True, 2.0)
    assert objective(at)[0] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(objective(at)[1], gradient, rtol=1e-10, atol=1e-14)


# Coefficients


@pytest.mark.variants(3)
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("name", DATA)
def test_coefficients_are_scikit_learns(name: str, C: float, fit_intercept: bool) -> None:
    X, y = DATA[name]
    parameters: dict[str, Any] = {"C": C, "fit_intercept": fit_intercept, "tol": 1e-10, "max_iter": 10_000}
    found = LogisticRegression(**parameters).fit(X, y)
    expected = Reference(solver="newton-cholesky", **parameters).fit(X, y)
    assert found.coef_.shape == expected.coef_.shape
    assert found.intercept_.shape == expected.intercept_.shape
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X), rtol=1e-5, atol=1e-5)
    assert found.score(X, y) == pytest.approx(expected.score(X, y))


@pytest.mark.parametrize("name", ["cancer", "iris"])
def test_as_many_iterations_as_scikit_learn(name: str) -> None:
    X, y = DATA[name]
    found, expected = LogisticRegression().fit(X, y), Reference().fit(X, y)
    assert abs(int(found.n_iter_[0]) - int(expected.n_iter_[0])) <= 1
    assert len(found.loss_history_) == found.n_iter_[0] + 1
    assert (np.diff(found.loss_history_) < 0).all()
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)


def test_without_a_penalty() -> None:
    X, y = random_data(2000, 5, 2)
    found = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    expected = Reference(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-6)


def test_constant_column_without_a_penalty_has_no_coefficient_of_its_own() -> None:
    X, y = random_data(500, 2, 2)
    found = LogisticRegression(C=np.inf, tol=1e-9).fit(np.column_stack([X, np.zeros(500)]), y)
    assert found.coef_[0, 2] == 0
    np.testing.assert_allclose(found.coef_[0, :2], LogisticRegression(C=np.inf, tol=1e-9).fit(X, y).coef_[0], atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_of_very_different_scales() -> None:
    X, y = random_data(1000, 3, 2)
    X = X * [1.0, 50.0, 0.02] + [0.0, 100.0, 0.0]
    found = LogisticRegression(tol=1e-10, max_iter=100_000).fit(X, y)
    expected = Reference(tol=1e-12, max_iter=100_000, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5, atol=1e-6)


def test_float32_is_summed_in_float64() -> None:
    X, y = random_data(20_000, 4, 2)
    single = X.astype(np.float32)
    found = LogisticRegression(tol=1e-9).fit(single, y)
    expected = LogisticRegression(tol=1e-9).fit(single.astype(np.float64), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(found.predict_proba(single), expected.predict_proba(X), atol=1e-5)


@pytest.mark.variants(3)
@pytest.mark.parametrize("weights", ["balanced", {0: 3.0}, {0: 0.5, 1: 2, 2: 0}], ids=["balanced", "one", "zero"])
def test_class_weights(weights: Any) -> None:
    X, y = IRIS[20:], SPECIES[20:]
    found = LogisticRegression(class_weight=weights, tol=1e-10, max_iter=5000).fit(X, y)
    expected = Reference(class_weight=weights, tol=1e-10, max_iter=5000, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)


def test_class_weights_of_two_classes() -> None:
    X, y = random_data(1000, 3, 2)
    found = LogisticRegression(class_weight={1: 4.0}, tol=1e-10).fit(X, y)
    expected = Reference(class_weight={1: 4.0}, tol=1e-10, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)


# Blocks


@pytest.mark.variants(2)
@pytest.mark.parametrize("name", ["cancer", "iris"])
def test_the_answer_does_not_depend_on_how_blocks_are_run(name: str) -> None:
    X, y = DATA[name]

    class OneByOne(ArrayBlocks):
        def run(self, kernel: Any, argument: Any = None) -> list[Any]:
            backwards = [kernel(block, argument) for block in reversed(self.blocks)]
            return backwards[::-1]

    blocks = ArrayBlocks.of(X, y, block_rows=37)
    one = LogisticRegression().fit(blocks)
    other = LogisticRegression().fit(OneByOne(blocks.names, blocks.blocks, blocks.dtype))
    assert one.to_json() == other.to_json()
    assert one.score(blocks) == LogisticRegression().fit(X, y).score(X, y)
    np.testing.assert_allclose(one.coef_, LogisticRegression().fit(X, y).coef_, atol=1e-5)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(1, 40), st.integers(2, 4), st.sampled_from([np.float32, np.float64]))
def test_blocks_of_any_size_give_the_same_minimum(num_rows: int, block_rows: int, num_classes: int, dtype: Any) -> None:
    X, y = random_data(num_rows, 2, num_classes, seed=num_rows)
    X, y = X.astype(dtype), y.copy()
    y[:2] = 0, 1
    whole = LogisticRegression(tol=1e-8).fit(X, y)
    parts = LogisticRegression(tol=1e-8).fit(ArrayBlocks.of(X, y, block_rows=block_rows))
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-5)


# Classes


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (np.array(["no", "yes"]), STRING),
        (np.array(["no", "yes"], dtype=object), STRING),
        (np.array([False, True]), BOOLEAN),
        (np.array([-5, 7], np.int8), BIGINT),
        (np.array([2**40, 2**40 + 1]), BIGINT),
        (np.array([0.25, 0.5]), DOUBLE),
    ],
    ids=["text", "objects", "booleans", "small integers", "large integers", "floats"],
)
def test_labels_of_any_type(labels: np.ndarray, dtype: Any) -> None:
    y = labels[IS_BENIGN]
    model = LogisticRegression().fit(CANCER.astype(np.float32), y)
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.classes_.dtype == labels.dtype
    assert model.prediction_type == dtype
    predicted = model.predict(CANCER)
    assert predicted.dtype == labels.dtype
    assert model.score(CANCER, y) == np.mean(predicted == y) > 0.95
    plain = LogisticRegression().fit(CANCER.astype(np.float32), IS_BENIGN)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)


def test_labels_of_blocks_are_integers_where_they_can_be() -> None:
    model = LogisticRegression().fit(ArrayBlocks.of(IRIS, SPECIES))
    assert (model.classes_.dtype, model.prediction_type) == (np.int64, BIGINT)
    model = LogisticRegression().fit(ArrayBlocks.of(IRIS, SPECIES / 2))
    assert (model.classes_.tolist(), model.prediction_type) == ([0.0, 0.5, 1.0], DOUBLE)


def test_rare_and_many_classes_are_counted() -> None:
    y = np.zeros(5000)
    y[4000] = 3
    y[4500:] = np.arange(500)
    counts = ClassCounts.of(ArrayBlocks.of(np.ones((5000, 1)), y, block_rows=1300))
    values, rows = np.unique(y, return_counts=True)
    np.testing.assert_array_equal(counts.values, values)
    np.testing.assert_array_equal(counts.rows, rows)


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    model = LogisticRegression().fit(frame, "species")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(model.coef_, LogisticRegression().fit(IRIS, SPECIES).coef_)
    assert model.score(frame, "species") == model.score(frame, frame["species"]) > 0.9
    assert LogisticRegression().fit(frame, "species", features=["a", "d"]).coef_.shape == (3, 2)


# What cannot be


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (CANCER, None, "LogisticRegression needs labels; give y"),
        (CANCER, np.ones(len(CANCER)), "the label has one class only: 1; a classifier needs two"),
        (CANCER, ["only"] * len(CANCER), "one class only"),
        (CANCER, IS_BENIGN[:5], "5 labels for 569 rows"),
        (CANCER, np.where(IS_BENIGN, np.nan, 1.0), "missing value"),
        (CANCER, np.where(IS_BENIGN, "a", None), "the labels are missing in 212 rows"),
        (CANCER, np.column_stack([IS_BENIGN, IS_BENIGN]), "2 dimensions, not 1"),
        (np.where(CANCER > 2, np.nan, CANCER), IS_BENIGN, 'column "x0" has'),
        (CANCER[:0], IS_BENIGN[:0], "the data has no rows"),
        (np.arange(3000.0)[:, None], np.arange(3000.0), f"more than {MAX_CLASSES:,} different values"),
    ],
    ids=[
        *("no label", "one class", "one class of text", "length", "nan label", "none label", "two labels"),
        *("nan", "no rows", "continuous"),
    ],
)
def test_data_that_does_not_fit(X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        LogisticRegression().fit(X, y)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, 2.0], [np.nan, 3.0]], [0.0, 1.0], 'column "x0" has 1 missing value (NULL or NaN)'),
        ([[1.0, np.inf], [2.0, 3.0]], [0.0, 1.0], 'column "x1" has 1 infinite value'),
        ([[1.0, 2.0], [2.0, 3.0]], [0.0, np.nan], "the label is missing (NULL or NaN) or infinite in 1 rows"),
        ([[1e308, 2.0], [1e308, 3.0], [1e308, 3.0]], [0.0, 1.0, 1.0], "the numbers are too large"),
    ],
    ids=["nan", "infinity", "label", "overflow"],
)
def test_blocks_with_what_they_should_not_have(X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        LogisticRegression(C=np.inf).fit(ArrayBlocks.of(X, y))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, 'parameter "C" of LogisticRegression must be a number above 0, not 0'),
        ({"C": -1.0}, "above 0"),
        ({"solver": "saga"}, 'must be "lbfgs" or "gradient_descent" or "newton", not \'saga\''),
        ({"max_iter": 0}, "an integer of at least 1"),
        ({"tol": None}, "a number of at least 0"),
        ({"learning_rate": 0}, "a number above 0, or None"),
        ({"class_weight": "equal"}, '"balanced", a mapping'),
        ({"class_weight": {5: 1.0}}, "a weight of 5, which is none of the classes; they are 0, 1"),
        ({"class_weight": {0: -1.0}}, "weights of at least 0"),
        ({"fit_intercept": "yes"}, "True or False"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_parameters_that_do_not_fit(parameters: dict[str, Any], message: str) -> None:
    model = LogisticRegression(**parameters)
    with pytest.raises(ParameterError) as error:
        model.fit(CANCER, IS_BENIGN)
    assert message in str(error.value)
    assert not model.is_fitted


def test_not_fitted() -> None:
    model = LogisticRegression()
    for use in (model.predict, model.predict_proba, model.predict_log_proba, model.decision_function):
        with pytest.raises(NotFittedError):
            use(CANCER)
    with pytest.raises(NotFittedError):
        model.score(CANCER, IS_BENIGN)
    with pytest.raises(NotFittedError):
        _ = model.prediction_type


def test_score_with_labels_of_another_length() -> None:
    model = LogisticRegression().fit(CANCER, IS_BENIGN)
    with pytest.raises(DataError, match="labels of shape"):
        model.score(CANCER, IS_BENIGN[:-1])
    with pytest.raises(DataError, match="needs labels"):
        model.score(ArrayBlocks.of(CANCER))


# Around


def test_saved_models_predict_the_same_bits(tmp_path: Path) -> None:
    model = LogisticRegression(class_weight={"yes": 2.0}).fit(CANCER, np.array(["no", "yes"])[IS_BENIGN])
    model.save(tmp_path / "model")
    loaded = Estimator.load(tmp_path / "model")
    assert isinstance(loaded, LogisticRegression)
    np.testing.assert_array_equal(loaded.predict_proba(CANCER), model.predict_proba(CANCER))
    np.testing.assert_array_equal(loaded.predict(CANCER), model.predict(CANCER))
    assert loaded.to_json() == model.to_json()


def test_scikit_learns_tools_take_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = make_pipeline(ReferenceScaler(), LogisticRegression())
        assert cross_val_score(pipeline, *load_iris(return_X_y=True), cv=3).mean() > 0.9
        search = GridSearchCV(LogisticRegression(), {"C": [0.001, 1.0]}, cv=3).fit(CANCER, IS_BENIGN)
    assert search.best_params_ == {"C": 1.0}
    assert search.best_score_ > 0.95
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()
    pipeline.fit(IRIS, SPECIES)
    assert pipeline.predict_proba(IRIS).shape == (150, 3)
