"""KMeans, compared with scikit-learn's, on arrays and blocks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import cluster, datasets
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sharkpy.base.errors import DataError, NotFittedError, ParameterError
from sharkpy.ml import Estimator, KMeans
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlock
from sharkpy.ml.models import kmeans_passes as passes
from sharkpy.ml.models.estimator import ConvergenceWarning
from sharkpy.ml.models.kernels.nearest_centre import nearest_centres
from sharkpy.values.types import INT
from tests.examples import examples

BLOBS, _ = datasets.make_blobs(6000, 5, centers=12, random_state=3)
SETS = {
    "iris": datasets.load_iris().data,
    "digits": datasets.load_digits().data,
    "wine": datasets.load_wine().data,
    "blobs": BLOBS,
    "uniform": np.random.default_rng(0).random((3000, 3)),
}


def inertia_of(X: np.ndarray, centres: np.ndarray) -> float:
    return float(np.square(X[:, np.newaxis] - centres).sum(axis=2).min(axis=1).sum())


# Compared with scikit-learn


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_centres_from_given_ones_are_scikit_learns(name: str, k: int) -> None:
    X = SETS[name]
    init = X[np.random.default_rng(k).choice(len(X), k, replace=False)]
    reference = cluster.KMeans(k, init=init, n_init=1, algorithm="lloyd").fit(X)
    model = KMeans(k, init=init).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_, atol=1e-6)
    assert model.n_iter_ == reference.n_iter_
    np.testing.assert_array_equal(model.labels_, reference.labels_)
    np.testing.assert_allclose(model.inertia_, reference.inertia_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(X[:50]), reference.transform(X[:50]), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.score(X), reference.score(X), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X[:50]), reference.predict(X[:50]))


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", SETS)
def test_inertia_is_within_a_hundredth_of_scikit_learns(name: str) -> None:
    X = SETS[name]
    least = 1.01 * cluster.KMeans(8, n_init=10, random_state=0).fit(X).inertia_
    assert KMeans(8, n_init=10).fit(X).inertia_ <= least
    assert KMeans(8, init="k-means++", n_init=10).fit(X).inertia_ <= least


def test_one_run_from_the_default_start_finds_separate_clusters() -> None:
    X, truth = datasets.make_blobs(20_000, 4, centers=30, center_box=(-100, 100), random_state=1)
    model = KMeans(30).fit(X)
    assert model.inertia_ <= 1.01 * cluster.KMeans(30, n_init=10, random_state=0).fit(X).inertia_
    assert len(set(zip(truth, model.labels_, strict=True))) == 30


@pytest.mark.parametrize("tol", [0.0, 1e-4, 10.0])
@pytest.mark.parametrize("max_iter", [1, 3, 300])
def test_iterations_end_where_scikit_learns_do(max_iter: int, tol: float) -> None:
    options: dict[str, Any] = {"init": BLOBS[:9], "n_init": 1, "max_iter": max_iter, "tol": tol}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = cluster.KMeans(9, algorithm="lloyd", **options).fit(BLOBS)
    model = KMeans(9, **options).fit(BLOBS)
    assert model.n_iter_ == reference.n_iter_
    np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(model.inertia_, reference.inertia_, rtol=1e-9)
    np.testing.assert_array_equal(model.labels_, reference.labels_)


def test_empty_clusters_move_to_the_farthest_rows() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [50.0], [90.0]])
    init = np.array([[0.1], [1000.0], [2.0], [2000.0]])
    reference = cluster.KMeans(4, init=init, n_init=1, algorithm="lloyd").fit(X)
    model = KMeans(4, init=init).fit(ArrayBlocks.of(X, block_rows=2))
    np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, reference.labels_)
    assert model.inertia_ == pytest.approx(reference.inertia_)
    assert (model.cluster_sizes_ > 0).all()


@pytest.mark.parametrize("init", ["k-means||", "k-means++", "random"])
def test_float32_is_as_good(init: str) -> None:
    single = KMeans(12, init=init, n_init=5).fit(BLOBS.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float64
    assert single.labels_.dtype == np.int32
    assert single.inertia_ == pytest.approx(KMeans(12, init=init, n_init=5).fit(BLOBS).inertia_, rel=1e-3)


# What always holds


@st.composite
def rows_and_k(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    num_rows, num_features = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    value = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6, width=32))
    X = draw(
        st.lists(st.lists(value, min_size=num_features, max_size=num_features), min_size=num_rows, max_size=num_rows)
    )
    return np.array(X), draw(st.integers(1, num_rows))


@settings(deadline=None, max_examples=examples(60))
@given(rows_and_k(), st.sampled_from(["k-means||", "k-means++", "random"]), st.integers(0, 5))
def test_labels_are_nearest_and_inertia_never_grows(given: tuple[np.ndarray, int], init: str, seed: int) -> None:
    X, k = given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(k, init=init, n_init=1, random_state=seed).fit(ArrayBlocks.of(X, block_rows=7))
    squares = np.square(X[:, np.newaxis] - model.cluster_centers_).sum(axis=2)
    own = squares[np.arange(len(X)), model.labels_]
    assert (own <= squares.min(axis=1) * (1 + 1e-9) + 1e-30).all()
    assert model.inertia_ == pytest.approx(own.sum(), rel=1e-9, abs=1e-20)
    history = model.inertia_history_
    scale = np.square(X).sum()
    assert len(history) == model.n_iter_ + 1
    assert (np.diff(history) <= 1e-9 * history[:-1] + 1e-12 * scale).all()
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_, minlength=k))


@dataclass(frozen=True)
class OneThread:
    """Blocks whose passes run one after the other, the last block first."""

    blocks: ArrayBlocks

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blocks, name)

    def run(self, kernel: Any, argument: Any = None) -> list[Any]:
        return [kernel(block, argument) for block in reversed(self.blocks.blocks)][::-1]


@pytest.mark.variants(3)
@pytest.mark.parametrize("init", ["k-means||", "k-means++", "random"])
def test_results_do_not_depend_on_who_runs_the_passes(init: str) -> None:
    blocks = ArrayBlocks.of(BLOBS, block_rows=500)
    one = KMeans(7, init=init, n_init=2, random_state=5).fit(blocks)
    other = KMeans(7, init=init, n_init=2, random_state=5).fit(OneThread(blocks))
    assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()
    assert one.inertia_ == other.inertia_


def test_seeds_differ_and_none_is_another_each_time() -> None:
    X = SETS["uniform"]
    found = {KMeans(20, random_state=seed).fit(X).inertia_ for seed in (0, 1, 2, None, None)}
    assert len(found) == 5
    assert KMeans(20, random_state=1).fit(X).inertia_ == KMeans(20, random_state=1).fit(X).inertia_


def test_the_default_start_takes_few_passes() -> None:
    """Passes: one to survey, one a round, one for weights; then one an iteration."""
    counted = Counted(ArrayBlocks.of(BLOBS, block_rows=500))
    model = KMeans(12).fit(counted)
    assert counted.kernels[:4] == ["_survey", "drawn_by_distance", "drawn_by_distance", "sampled_cells"]
    assert counted.kernels[4:] == ["cells"] * (model.n_iter_ + 1) or len(counted.kernels) == 4 + model.n_iter_


class Counted:
    def __init__(self, blocks: ArrayBlocks) -> None:
        self.blocks = blocks
        self.kernels: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blocks, name)

    def run(self, kernel: Any, argument: Any = None) -> list[Any]:
        self.kernels.append(kernel.__name__)
        return self.blocks.run(kernel, argument)


# Draws


def test_rows_are_drawn_with_the_probability_of_their_distance() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]] * 10)
    (block,) = ArrayBlocks.of(X).blocks
    counts = np.zeros(4)
    for seed in range(2000):
        draw = passes.Draw(np.zeros((1, 1)), 5.0, (seed,))
        cost, rows = passes.drawn_by_distance(block, draw)
        drawn = rows.rows[passes.is_drawn(rows.keys, 5.0, cost)]
        counts += np.bincount(drawn[:, 0].astype(int), minlength=4)
    assert cost == 10 * (1 + 4 + 9)
    np.testing.assert_allclose(counts / 2000, 5 * np.array([0, 1, 4, 9]) / 14, rtol=0.1)


def test_rows_are_chosen_by_their_distance() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    (block,) = ArrayBlocks.of(X).blocks
    first = [
        passes.chosen_by_distance(block, passes.Draw(np.zeros((1, 1)), 1, (seed,))).rows[0, 0] for seed in range(3000)
    ]
    np.testing.assert_allclose(
        np.bincount(np.array(first, int), minlength=4) / 3000, np.array([0, 1, 4, 9]) / 14, atol=0.03
    )


def test_random_numbers_are_of_the_block_and_not_of_its_content() -> None:
    (block,) = ArrayBlocks.of(np.ones((10, 1))).blocks
    same, other = replace(block), replace(block, number=1)
    draw = passes.Draw(np.zeros((1, 1)), 20.0, (1, 2))
    keys = [passes.drawn_by_distance(one, draw)[1].keys for one in (block, same, other)]
    assert keys[0].tolist() == keys[1].tolist() != keys[2].tolist()


# Few rows, equal rows, odd rows


@pytest.mark.variants(3)
@pytest.mark.parametrize("init", ["k-means||", "k-means++", "random"])
@pytest.mark.parametrize("block_rows", [1, 3, 100])
def test_as_many_clusters_as_rows(init: str, block_rows: int) -> None:
    X = np.arange(12.0).reshape(6, 2) ** 2
    model = KMeans(6, init=init, n_init=1).fit(ArrayBlocks.of(X, block_rows=block_rows))
    assert model.inertia_ == 0
    assert sorted(model.labels_.tolist()) == list(range(6))


@pytest.mark.parametrize("init", ["k-means||", "k-means++", "random"])
def test_fewer_different_rows_than_clusters_is_a_warning(init: str) -> None:
    X = np.repeat([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]], 20, axis=0)
    with pytest.warns(ConvergenceWarning, match="3 distinct clusters were found for n_clusters=5"):
        model = KMeans(5, init=init, n_init=4).fit(X)
    assert model.inertia_ == 0
    assert model.cluster_centers_.shape == (5, 2)


def test_one_row_and_equal_rows() -> None:
    assert KMeans(1).fit([[3.0, 4.0]]).cluster_centers_.tolist() == [[3.0, 4.0]]
    assert KMeans(1).fit(np.ones((9, 1))).inertia_ == 0


@pytest.mark.parametrize(
    ("options", "X", "error", "message"),
    [
        ({"n_clusters": 4}, np.zeros((3, 2)), DataError, "4 clusters of 3 rows"),
        ({"n_clusters": 0}, BLOBS, ParameterError, '"n_clusters" of KMeans must be an integer of at least 1, not 0'),
        ({"n_clusters": 2.5}, BLOBS, ParameterError, "n_clusters"),
        ({"init": "best"}, BLOBS, ParameterError, "\"k-means.*, not 'best'"),
        ({"init": BLOBS[:3]}, BLOBS, ParameterError, r"shape \(3, 5\), not .* = \(8, 5\)"),
        ({"init": BLOBS[:8, :4]}, BLOBS, ParameterError, r"shape \(8, 4\)"),
        ({"init": np.full((8, 5), np.nan)}, BLOBS, ParameterError, "NaN"),
        ({"init": [["a"]]}, BLOBS, ParameterError, "not an array of numbers"),
        ({"n_init": 0}, BLOBS, ParameterError, "n_init"),
        ({"max_iter": 0}, BLOBS, ParameterError, "max_iter"),
        ({"tol": -1.0}, BLOBS, ParameterError, "tol"),
        ({"random_state": -1}, BLOBS, ParameterError, "random_state"),
        ({"oversampling": 0}, BLOBS, ParameterError, "oversampling"),
        ({}, [[1.0, float("nan")]] * 9, DataError, "x1"),
        ({}, ArrayBlocks.of([[1.0, float("nan")]] * 9), DataError, "x1.*missing"),
        ({}, ArrayBlocks.of([[1.0, float("inf")]] * 9), DataError, "x1.*infinite"),
        ({"n_clusters": 2}, np.array([[1e200], [-1e200], [0]]), DataError, "too large"),
        ({"n_clusters": 2}, np.array([[1e30], [-1e30], [0]], np.float32), DataError, "too large"),
    ],
    ids=map(str, range(18)),
)
def test_bad_input_is_one_clear_error(options: dict[str, Any], X: Any, error: type[Exception], message: str) -> None:
    model = KMeans(**options)
    with pytest.raises(error, match=message):
        model.fit(X)
    assert not model.is_fitted


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = KMeans(3).fit(BLOBS)
    before = model.cluster_centers_.copy()
    with pytest.raises(DataError):
        model.fit(np.full((9, 5), np.nan))
    np.testing.assert_array_equal(model.cluster_centers_, before)


def test_what_needs_a_fit_says_so() -> None:
    for use in (KMeans().predict, KMeans().transform, KMeans().score):
        with pytest.raises(NotFittedError):
            use(BLOBS)


def test_rows_with_missing_values_are_left_out_or_filled() -> None:
    X = np.array([[0.0, 0.0], [0.2, 0.0], [9.0, 9.0], [np.nan, 9.0]])
    assert KMeans(2).fit(X, na="drop").labels_.shape == (3,)
    assert KMeans(2).fit(X, na="mean").labels_.shape == (4,)


# Conventions


def test_labels_are_of_arrays_alone() -> None:
    model = KMeans(3).fit(BLOBS)
    assert model.fit(OneThread(ArrayBlocks.of(BLOBS))) is model
    assert not hasattr(model, "labels_")


def test_it_is_a_scikit_learn_estimator() -> None:
    model = make_pipeline(StandardScaler(), clone(KMeans(3, random_state=4)))
    labels = model.fit_predict(SETS["wine"])
    np.testing.assert_array_equal(labels, model.predict(SETS["wine"]))
    assert model[-1].get_params()["random_state"] == 4
    assert KMeans(3).fit_transform(BLOBS).shape == (len(BLOBS), 3)
    assert KMeans(3).fit(BLOBS).get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]


def test_saved_models_predict_the_same(tmp_path: Path) -> None:
    model = KMeans(5, init=BLOBS[:5]).fit(BLOBS)
    model.save(tmp_path / "model.json")
    loaded = Estimator.load(tmp_path / "model.json")
    assert isinstance(loaded, KMeans)
    assert not hasattr(loaded, "labels_")
    np.testing.assert_array_equal(loaded.predict(BLOBS), model.labels_)
    assert loaded.inertia_ == model.inertia_
    assert loaded.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()


def test_predictions_of_columns() -> None:
    model = KMeans(5).fit(BLOBS)
    assert model.prediction_type == INT
    np.testing.assert_array_equal(model.predict_arrays(list(BLOBS.T)), model.labels_)
    assert model.predict_arrays([np.zeros(0)] * 5).shape == (0,)


def test_labels_are_those_of_the_kernel() -> None:
    model = KMeans(4, max_iter=1).fit(BLOBS)
    np.testing.assert_array_equal(model.labels_, nearest_centres(BLOBS, model.cluster_centers_)[0])
    assert model.inertia_ == pytest.approx(inertia_of(BLOBS, model.cluster_centers_))


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_a_sample_lies_evenly_over_a_block(share: float) -> None:
    X = np.asfortranarray(np.random.default_rng(5).normal(size=(50_000, 2)))
    X[:, 0] = np.arange(len(X))
    found = passes.sampled_cells(FeatureBlock(0, X), (X[[10_000, 40_000]], share))
    assert found.counts.sum() == pytest.approx(share * len(X), rel=0.15)
    np.testing.assert_allclose(found.counts, found.counts.mean(), rtol=0.25)
    whole = passes.cells(FeatureBlock(0, X), X[[10_000, 40_000]])
    np.testing.assert_allclose(found.sums[:, 0] / found.counts, whole.sums[:, 0] / whole.counts, rtol=0.2)
    assert share < 1 or found.counts.tolist() == whole.counts.tolist()
