"""FeatureRDD: pairs of NumPy arrays from a query, computed in the tasks that read them or kept in the memory store."""

from __future__ import annotations

import gc
import time
from operator import add
from pathlib import Path

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import (
    CancelledError,
    ColumnNotFoundError,
    DataError,
    ExecutionError,
    TypeMismatchError,
    UnsupportedError,
)
from sharkpy.ml.features.training_data import training_blocks
from sharkpy.ml.rdd.table_rdd import TableRDD
from tests.waiting import allowed, when

ROWS = 3500
QUERY = "SELECT i, d, b, y FROM measured WHERE i % 7 > 0"
pytestmark = pytest.mark.spark


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql(
        "CREATE TABLE IF NOT EXISTS measured TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT id AS i,"
        " sin(id) AS d, id % 2 = 0 AS b, id % 3 AS y, CASE WHEN id > 3000 THEN NULL ELSE id / 2 END AS n, 'x' AS s"
        f" FROM (SELECT explode(sequence(1, {ROWS})) AS id) q"
    )
    return context


def table(context: sharkpy.SharkContext, text: str = QUERY) -> TableRDD:
    return TableRDD.of_text(context, text)


def expected() -> np.ndarray:
    i = np.array([i for i in range(1, ROWS + 1) if i % 7 > 0])
    return np.column_stack([i, np.sin(i), i % 2 == 0, i % 3])


def whole(pairs: list[tuple[np.ndarray, np.ndarray | None]]) -> np.ndarray:
    found = np.concatenate([X if y is None else np.column_stack([X, y]) for X, y in pairs])
    return found[np.argsort(found[:, 0])]


@pytest.mark.variants(3)
@pytest.mark.parametrize("is_cached", [False, True], ids=["computed", "cached"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pairs_are_the_columns(context: sharkpy.SharkContext, dtype: str, is_cached: bool) -> None:
    points = table(context).features(label="y", dtype=dtype)
    assert points.feature_names == ("i", "d", "b")
    if is_cached:
        points.cache()
    pairs = points.collect()
    assert all(X.dtype == y.dtype == np.dtype(dtype) and X.shape == (len(y), 3) for X, y in pairs)
    np.testing.assert_allclose(whole(pairs), expected(), rtol=1e-7 if dtype == "float32" else 1e-15)
    assert points.num_rows == len(expected())
    assert points.blocks().num_rows == len(expected())
    assert points.map(lambda pair: pair[0].flags.f_contiguous).collect() == [True] * len(pairs)
    points.unpersist()
    np.testing.assert_array_equal(whole(points.collect()), whole(pairs))


def test_without_a_label(context: sharkpy.SharkContext) -> None:
    points = table(context).features(["d", "I"])
    assert {y is None for _, y in points.collect()} == {True}
    assert {y is None for _, y in points.cache().collect()} == {True}
    assert points.feature_names == ("d", "i")


def gradient(pair: tuple[np.ndarray, np.ndarray], w: np.ndarray) -> np.ndarray:
    X, y = pair
    return X.T @ (X @ w - y)


def test_gradient_descent_by_hand(context: sharkpy.SharkContext) -> None:
    points = table(context).features(["d", "b"], label="y").cache()
    w = np.zeros(2)
    for _ in range(5):
        w -= 0.1 / ROWS * points.map(lambda block, w=w: gradient(block, w)).reduce(add)
    data = expected()
    v = np.zeros(2)
    for _ in range(5):
        v -= 0.1 / ROWS * gradient((data[:, 1:3], data[:, 3]), v)
    np.testing.assert_allclose(w, v, rtol=1e-12)


@pytest.mark.variants(2)
def test_an_rdd_with_all_its_methods(context: sharkpy.SharkContext) -> None:
    points = table(context).features(["i"]).cache()
    sums = points.map(lambda pair: pair[0].sum())
    assert sum(sums.collect()) == expected()[:, 0].sum()
    assert points.filter(lambda pair: pair[0].max() > 1000).count() <= points.count()
    assert points.flatMap(lambda pair: pair[0][:, 0].tolist()).sum() == expected()[:, 0].sum()
    assert len(points.take(1)) == 1
    assert points.zipWithIndex().map(lambda item: item[1]).collect() == list(range(points.count()))
    assert points.getNumPartitions() <= 2
    united = points.map(len).union(points.map(len))
    assert united.count() == 2 * points.count()


@pytest.mark.variants(2)
def test_what_is_kept_is_the_blocks(context: sharkpy.SharkContext) -> None:
    gc.collect()
    store = context.engine.store
    before = store.usage().num_blocks
    points = table(context).features(["i", "d"]).cache()
    assert store.usage().num_blocks == before
    first = points.map(lambda pair: pair[0].sum()).collect()
    kept = store.usage().num_blocks - before
    assert kept == len(first)
    assert points.map(lambda pair: pair[0].sum()).collect() == first
    assert points.blocks().run(lambda block, _: block.X.sum()) == first
    assert store.usage().num_blocks - before == kept
    points.unpersist()
    gc.collect()
    assert store.usage().num_blocks == before


def test_tables_are_seen_as_at_first(context: sharkpy.SharkContext) -> None:
    context.sql("DROP TABLE IF EXISTS grows")
    context.sql("CREATE TABLE grows TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT CAST(1 AS BIGINT) AS i")
    points = table(context, "SELECT i FROM grows").features()
    assert points.num_rows == 1
    context.sql("INSERT INTO grows SELECT 2")
    assert points.num_rows == 1
    assert points.cache().num_rows == 1


def test_features_of_kept_rows(context: sharkpy.SharkContext) -> None:
    rows = table(context).cache()
    points = rows.features(["i", "d"], label="y").cache()
    i = expected()
    np.testing.assert_array_equal(whole(points.collect())[:, 0], i[:, 0])
    Path(points.blocks().handles[0].memory_path).unlink()  # type: ignore[attr-defined]
    np.testing.assert_array_equal(whole(points.collect())[:, 2], i[:, 3])


@pytest.mark.variants(2)
def test_missing_values(context: sharkpy.SharkContext) -> None:
    rows = table(context, "SELECT i, n FROM measured")
    for is_cached in (False, True):
        for na, count in (("drop", 3000), ("mean", ROWS)):
            points = rows.features(na=na)
            pairs = (points.cache() if is_cached else points).collect()
            found = whole(pairs)
            assert len(found) == count
            assert (found[3000:, 1] == found[:3000, 1].mean()).all()
        points = rows.features()
        with pytest.raises(DataError, match=r'column "n" has [0-9]+ missing values'):
            (points.cache() if is_cached else points).count()


def test_bad_features_are_refused_at_once(context: sharkpy.SharkContext) -> None:
    rows = table(context, "SELECT i, s FROM measured")
    with pytest.raises(TypeMismatchError, match='column "s" is not numeric'):
        rows.features(["i", "s"])
    with pytest.raises(ColumnNotFoundError, match='no column "j"'):
        rows.features(["j"])
    with pytest.raises(TypeMismatchError, match="int8"):
        rows.features(dtype="int8")
    with pytest.raises(UnsupportedError, match="NONE"):
        rows.features().persist(sharkpy.ml.features.feature_rdd.StorageLevel.NONE)


@pytest.mark.variants(2)
def test_an_error_of_a_function_names_it(context: sharkpy.SharkContext) -> None:
    def broken(pair: tuple[np.ndarray, None]) -> float:
        return 1 / (pair[0].shape[1] - 1)

    with pytest.raises(ExecutionError, match=r"broken.*division by zero"):
        table(context).features(["i"]).cache().map(broken).collect()


@pytest.mark.variants(3)
@pytest.mark.parametrize("damage", ["deleted", "flipped"])
def test_lost_blocks_are_made_again(context: sharkpy.SharkContext, damage: str) -> None:
    points = table(context).features(["i", "d"], label="y").cache()
    sums = points.map(lambda pair: (pair[0].sum(axis=0).tobytes(), pair[1].sum()))
    before = sums.collect()
    path = Path(points.blocks().handles[1].memory_path)  # type: ignore[attr-defined]
    content = bytearray(path.read_bytes())
    path.unlink()
    if damage == "flipped":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert sums.collect() == before


def test_estimators_take_it(context: sharkpy.SharkContext) -> None:
    rows = table(context)
    blocks = training_blocks(rows, "y", features=["i", "d"])
    assert (blocks.names, blocks.has_label, blocks.num_rows) == (("i", "d"), True, len(expected()))
    points = rows.features(["d"], label="y").cache()
    blocks = training_blocks(points)
    assert blocks.names == ("d",)
    assert training_blocks(points) is blocks
    with pytest.raises(DataError, match="neither y nor features"):
        training_blocks(points, "y")


def test_an_action_is_cancelled(context: sharkpy.SharkContext) -> None:
    points = table(context).features(["i"]).cache()
    assert points.num_rows
    when(lambda: context.num_running, context.cancel)
    started = time.monotonic()
    with pytest.raises(CancelledError):
        points.map(lambda _: time.sleep(20)).collect()
    assert time.monotonic() - started < allowed(15)
    assert sum(points.map(lambda pair: len(pair[0])).collect()) == points.num_rows
