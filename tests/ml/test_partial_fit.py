"""Models that learn batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import datasets

import sharkpy
from sharkpy.base.errors import DataError, ParameterError, UnsupportedError
from sharkpy.ml import Estimator, KMeans, LogisticRegression, StreamingKMeans
from tests.ml.logistic_data import DATA

BLOBS, _ = datasets.make_blobs(6000, 3, centers=5, cluster_std=0.4, random_state=3)


# k-means


def test_the_first_batch_is_fitted() -> None:
    model = StreamingKMeans(5).partial_fit(BLOBS)
    np.testing.assert_array_equal(model.cluster_centers_, KMeans(5).fit(BLOBS).cluster_centers_)
    np.testing.assert_array_equal(model.cluster_weights_, model.cluster_sizes_)


def test_centres_are_means_of_what_has_come() -> None:
    """Of far blobs each row goes to its own one, whenever it comes."""
    model = StreamingKMeans(5)
    for batch in np.array_split(BLOBS, 7):
        model.partial_fit(batch)
    whole = KMeans(5, init=model.cluster_centers_).fit(BLOBS)
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(model.cluster_weights_, whole.cluster_sizes_)
    assert model.cluster_sizes_.sum() == len(np.array_split(BLOBS, 7)[-1])


@pytest.mark.parametrize("decay", [0.0, 0.25, 1.0])
def test_decay_is_the_weight_of_what_was(decay: float) -> None:
    model = StreamingKMeans(2, init=[[0.0], [10.0]], decay=decay)
    model.partial_fit([[1.0], [3.0]])
    np.testing.assert_allclose(model.cluster_centers_, [[2.0], [10.0]])
    model.partial_fit([[4.0], [12.0]])
    np.testing.assert_allclose(model.cluster_centers_, [[(4 * decay + 4) / (2 * decay + 1)], [12.0]])
    np.testing.assert_allclose(model.cluster_weights_, [2 * decay + 1, 1])
    np.testing.assert_array_equal(model.predict([[0.0], [20.0]]), [0, 1])


def test_saved_and_gone_on(tmp_path: Path) -> None:
    first, second = BLOBS[:3000], BLOBS[3000:]
    model = StreamingKMeans(5, decay=0.5).partial_fit(first)
    model.save(tmp_path / "model")
    other = Estimator.load(tmp_path / "model")
    assert isinstance(other, StreamingKMeans)
    np.testing.assert_array_equal(
        other.partial_fit(second).cluster_centers_, model.partial_fit(second).cluster_centers_
    )
    np.testing.assert_array_equal(model.fit(first).cluster_weights_, model.cluster_sizes_)


def test_batches_of_kmeans_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="3 clusters of 2 rows"):
        StreamingKMeans(3).partial_fit([[1.0], [2.0]])
    model = StreamingKMeans(2).partial_fit(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 9.0]}))
    with pytest.raises(DataError, match="1 features"):
        model.partial_fit([[1.0]])
    with pytest.raises(ParameterError, match="decay"):
        StreamingKMeans(2, decay=1.5).partial_fit(BLOBS)
    frame = pa.table({"b": [1.0], "x": ["-"], "a": [5.0]})
    assert model.partial_fit(frame).cluster_weights_.sum() == 3


# Logistic regression


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_one_batch_is_a_fit(name: str, C: float) -> None:
    X, y = DATA[name]
    whole = LogisticRegression(C=C, solver="newton").fit(X, y)
    model = LogisticRegression(C=C).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=0.02)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=0.01)
    assert model.n_seen_ == len(X)


@pytest.mark.parametrize("name", DATA)
def test_batches_come_near_to_a_fit(name: str) -> None:
    X, y = DATA[name]
    order = np.random.default_rng(0).permutation(len(X))
    model = LogisticRegression()
    for batch in np.array_split(order, 8):
        model.partial_fit(X[batch], y[batch], classes=np.unique(y))
    whole = LogisticRegression().fit(X, y)
    assert model.score(X, y) >= whole.score(X, y) - 0.02
    assert np.abs(model.predict_proba(X) - whole.predict_proba(X)).mean() < 0.05
    assert model.n_seen_ == len(X)


def test_a_first_batch_of_one_class() -> None:
    X, y = DATA["cancer"]
    model = LogisticRegression().partial_fit(X[y == 0][:20], y[y == 0][:20], classes=[0, 1])
    assert np.isfinite(model.intercept_).all()
    for batch in np.array_split(np.random.default_rng(0).permutation(len(X)), 4):
        model.partial_fit(X[batch], y[batch])
    assert model.score(X, y) > 0.9


def test_texts_and_tables() -> None:
    X, y = DATA["iris"]
    table = pa.table({**{f"f{i}": X[:, i] for i in range(4)}, "species": np.array(["a", "b", "c"])[y]})
    order = np.random.default_rng(1).permutation(len(X))
    model = LogisticRegression()
    for batch in np.array_split(order, 3):
        model.partial_fit(table.take(batch), "species")
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.feature_names_in_.tolist() == ["f0", "f1", "f2", "f3"]
    assert model.score(table.to_pandas(), "species") > 0.9
    again = Estimator.from_json(model.to_json())
    assert isinstance(again, LogisticRegression)
    again.partial_fit(table, "species")
    assert again.n_seen_ == 300
    model.fit(X, y)
    assert not hasattr(model, "curvature_")


def test_batches_of_labels_that_do_not_fit() -> None:
    X, y = DATA["one feature"]
    model = LogisticRegression()
    with pytest.raises(DataError, match="one class only"):
        model.partial_fit(X[:1], y[:1])
    with pytest.raises(DataError, match="needs labels"):
        model.partial_fit(X, None)
    with pytest.raises(UnsupportedError, match="balanced"):
        LogisticRegression(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(UnsupportedError, match="it takes up to 500"):
        model.partial_fit(np.zeros((4, 600)), [0, 1, 0, 1])
    model.partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(DataError, match=r"the label .*7.* is none of the classes"):
        model.partial_fit(X[:2], [0, 7])
    with pytest.raises(DataError, match="3 features"):
        model.partial_fit(np.zeros((2, 3)), [0, 1])
    np.testing.assert_array_equal(model.coef_, before)


# Of streams


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        yield context


def points(rows: np.ndarray) -> list[dict[str, Any]]:
    return [{"x": float(x), "y": float(y), "big": bool(x + y > 0)} for x, y in rows]


def test_a_model_table_follows(context: sharkpy.SharkContext) -> None:
    stream = context.stream.queue("points", "x DOUBLE, y DOUBLE, big BOOLEAN")
    data = np.random.default_rng(2).normal(size=(400, 2))
    learning = stream.train(LogisticRegression(), "bigness", y="big", classes=[False, True])
    stream.push().write(points(data[:200]))
    learning.await_epoch(1, timeout=60)
    assert context.sql("SELECT predict('bigness', 3, 2), predict('bigness', -3, -2)").fetchall() == [(True, False)]
    stream.push().write(points(data[200:]))
    learning.await_epoch(2, timeout=60)
    found = context.load_model("bigness")
    alone = LogisticRegression()
    for part in (data[:200], data[200:]):
        alone.partial_fit(part, part.sum(axis=1) > 0, classes=[False, True])
    assert isinstance(found, LogisticRegression)
    np.testing.assert_allclose(found.coef_, alone.coef_)


def test_a_program_that_trains_again_goes_on(tmp_path: Path) -> None:
    data = np.random.default_rng(3).normal(size=(90, 2)) + np.repeat([[0, 0], [8, 0], [0, 8]], 30, axis=0)
    parts = np.random.default_rng(4).permutation(data).reshape(3, 30, 2)
    alone = StreamingKMeans(3)
    for epoch, part in enumerate(parts, 1):
        alone.partial_fit(part)
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            stream = context.stream.queue("points", "x DOUBLE, y DOUBLE, big BOOLEAN").select("x", "y")
            learning = stream.train(StreamingKMeans(3), "places")
            context.push("points").write(points(part))
            learning.await_epoch(epoch, timeout=60)
            found = context.load_model("places")
            assert isinstance(found, StreamingKMeans)
            np.testing.assert_allclose(found.cluster_centers_, alone.cluster_centers_)
            assert len(context.sql("SELECT DISTINCT cluster FROM places").fetchall()) == 3


def test_an_epoch_that_comes_again_is_learned_once(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sharkpy.streaming.dstreams import training

    calls = list[int]()
    stream = context.stream.queue("points", "x DOUBLE, y DOUBLE, big BOOLEAN").select("x", "y")
    call = training._Learner.__call__

    def twice(learner: Any, epoch: int, rows: pa.Table) -> None:
        call(learner, epoch, rows)
        call(learner, epoch, rows)
        calls.append(epoch)

    monkeypatch.setattr(training._Learner, "__call__", twice)
    learning = stream.train(StreamingKMeans(2), "places")
    for rows in ([[0.0, 0.0], [9.0, 9.0]], [[1.0, 1.0]]):
        context.push("points").write(points(np.array(rows)))
        learning.await_epoch(len(calls) + 1, timeout=60)
    found = context.load_model("places")
    assert isinstance(found, StreamingKMeans)
    assert sorted(found.cluster_weights_.tolist()) == [1.0, 2.0]


def test_models_that_do_not_learn_so(context: sharkpy.SharkContext) -> None:
    from sharkpy.base.errors import BindError

    stream = context.stream.queue("points", "x DOUBLE, y DOUBLE, big BOOLEAN")
    with pytest.raises(BindError, match="KMeans does not learn batch by batch"):
        stream.train(KMeans(2), "places")
    context.save_model(KMeans(1).fit([[1.0]]), "other")
    with pytest.raises(BindError, match="holds a KMeans"):
        stream.train(StreamingKMeans(2), "other")
