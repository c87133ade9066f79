"""StandardScaler, compared with scikit-learn's: of arrays, and of tables whose statistics and queries do the work."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import preprocessing
from sklearn.pipeline import make_pipeline

import sharkpy
from sharkpy.base.errors import (
    BindError,
    ColumnNotFoundError,
    DataError,
    NotFittedError,
    ParameterError,
    TypeMismatchError,
)
from sharkpy.execution.queries import run_plan
from sharkpy.ml import Estimator, KMeans, StandardScaler
from sharkpy.ml.features.feature_blocks import ArrayBlocks
from sharkpy.ml.models.transformer_table import ColumnStatistics
from sharkpy.values.types import DOUBLE

ROWS = 3500
X = np.random.default_rng(3).normal(size=(500, 4)) * [1, 10, 0.01, 0] + [0, 1e6, -3, 7]
TABLE = (
    "CREATE TABLE IF NOT EXISTS scaled TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT CAST(id AS INT) AS i,"
    " sin(id) * 10 + 1000 AS d, CAST(id % 9 AS FLOAT) AS f, id % 2 = 0 AS b, CAST(id % 100 AS DECIMAL(9,2)) / 8 AS m,"
    " concat('k', id % 3) AS s, 5 AS one, CAST(2.5 AS DECIMAL(5,2)) AS dec, TRUE AS yes,"
    " CASE WHEN id % 10 = 0 THEN NULL ELSE id END AS n, CASE WHEN id % 7 = 0 THEN NULL ELSE 3 END AS same,"
    " CASE WHEN id = 77 THEN CAST('NaN' AS DOUBLE) ELSE CAST(id AS DOUBLE) END AS x,"
    " CASE WHEN id = 77 THEN CAST('Infinity' AS DOUBLE) ELSE CAST(id AS DOUBLE) END AS inf,"
    f" CAST(NULL AS DOUBLE) AS none FROM (SELECT explode(sequence(1, {ROWS})) AS id) q"
)


def assert_like(model: StandardScaler, reference: preprocessing.StandardScaler, rtol: float = 1e-10) -> None:
    for name in ("mean_", "var_", "scale_"):
        ours, theirs = getattr(model, name), getattr(reference, name)
        if theirs is None:
            assert ours is None
        else:
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12)
    np.testing.assert_array_equal(model.n_samples_seen_, reference.n_samples_seen_)


# Arrays


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
def test_arrays_are_scaled_as_by_scikit_learn(with_mean: bool, with_std: bool) -> None:
    options: dict[str, Any] = {"with_mean": with_mean, "with_std": with_std}
    model, reference = StandardScaler(**options).fit(X), preprocessing.StandardScaler(**options).fit(X)
    assert_like(model, reference)
    scaled = model.transform(X)
    np.testing.assert_allclose(scaled, reference.transform(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(scaled), X)
    np.testing.assert_array_equal(StandardScaler(**options).fit_transform(X), scaled)


TINY = float(np.finfo(np.float64).tiny)
"""Bound below which numbers have fewer digits."""


@settings(deadline=None, max_examples=100)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 50), st.integers(1, 4)), elements=st.floats(-1e9, 1e9)),
    st.integers(1, 20),
)
def test_blocks_combine_to_the_moments_of_all_rows(rows: np.ndarray, block_rows: int) -> None:
    model = StandardScaler().fit(ArrayBlocks.of(rows, block_rows=block_rows))
    scale = np.abs(rows).max(axis=0)
    assert (np.abs(model.mean_ - rows.mean(axis=0)) <= 1e-14 * scale + TINY).all()
    assert (np.abs(model.var_ - rows.var(axis=0)) <= 1e-13 * scale * scale + TINY).all()
    scaled = model.transform(rows)
    assert np.isfinite(scaled).all()
    assert (np.abs(model.inverse_transform(scaled) - rows) <= 1e-12 * scale + TINY).all()


def test_no_digits_are_lost_far_from_zero() -> None:
    values = np.random.default_rng(0).normal(size=(20_000, 1))
    model = StandardScaler().fit(ArrayBlocks.of(values + 2.0**20, block_rows=999))
    np.testing.assert_allclose(model.var_, (values + 2.0**20 - 2.0**20).var(axis=0), rtol=1e-9)


def test_float32_stays_and_is_summed_in_float64() -> None:
    rows = (np.random.default_rng(0).normal(size=(100_000, 2)) + 1000).astype(np.float32)
    model = StandardScaler().fit(rows)
    np.testing.assert_allclose(model.mean_, rows.astype(np.float64).mean(axis=0), rtol=1e-13)
    assert model.transform(rows).dtype == np.float32
    np.testing.assert_allclose(model.transform(rows).std(axis=0), 1, rtol=1e-4)


def test_constant_features_are_not_scaled() -> None:
    rows = np.full((10_000, 1), 0.1)
    model = StandardScaler().fit(rows)
    assert model.scale_.tolist() == [1.0]
    np.testing.assert_allclose(model.transform(rows), 0, atol=1e-12)


def test_missing_values() -> None:
    rows = np.where(np.random.default_rng(2).random((200, 3)) < [0, 0.1, 0.5], np.nan, X[:200, :3])
    with pytest.raises(DataError, match=r'"x1" has .* missing values'):
        StandardScaler().fit(rows)
    ignoring, reference = StandardScaler().fit(rows, na="ignore"), preprocessing.StandardScaler().fit(rows)
    assert_like(ignoring, reference)
    np.testing.assert_allclose(ignoring.transform(rows), reference.transform(rows), rtol=1e-6)
    assert_like(StandardScaler().fit(ArrayBlocks.of(rows, block_rows=7), na="ignore"), reference)
    kept = rows[~np.isnan(rows).any(axis=1)]
    assert_like(StandardScaler().fit(rows, na="drop"), preprocessing.StandardScaler().fit(kept))
    filled = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
    assert_like(StandardScaler().fit(rows, na="mean"), preprocessing.StandardScaler().fit(filled))


@pytest.mark.parametrize(
    ("options", "rows", "error", "message"),
    [
        ({}, ArrayBlocks.of([[1.0], [math.nan]]), DataError, '"x0" has 1 missing value'),
        ({}, [[1.0], [math.inf]], DataError, '"x0" has 1 infinite value'),
        ({"na": "ignore"}, [[1.0], [math.inf]], DataError, "infinite"),
        ({"na": "ignore"}, [[math.nan], [math.nan]], DataError, '"x0" has no value'),
        ({"na": "skip"}, [[1.0]], ParameterError, 'no policy "skip"'),
        ({}, [["a"]], TypeMismatchError, "not numeric"),
        ({}, np.zeros((0, 2)), DataError, "no rows"),
    ],
    ids=map(str, range(7)),
)
def test_bad_input_is_one_clear_error(options: dict[str, Any], rows: Any, error: type[Exception], message: str) -> None:
    model = StandardScaler()
    with pytest.raises(error, match=message):
        model.fit(rows, **options)
    assert not model.is_fitted
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_conventions(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(with_std=False), KMeans(3)).fit(X)
    assert model.predict(X).shape == (500,)
    model[0].save(tmp_path / "scaler.json")
    loaded = Estimator.load(tmp_path / "scaler.json")
    assert isinstance(loaded, StandardScaler)
    assert loaded.scale_ is None
    np.testing.assert_array_equal(loaded.transform(X), model[0].transform(X))
    assert loaded.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    with pytest.raises(ParameterError, match="with_mean"):
        StandardScaler(with_mean="yes").fit(X)  # type: ignore[arg-type]


# Tables


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql(TABLE)
    return context


def matrix(context: sharkpy.SharkContext, names: Sequence[str], where: str = "TRUE") -> np.ndarray:
    rows = context.sql(f"SELECT {', '.join(names)} FROM scaled WHERE {where} ORDER BY i").fetchall()
    return np.array([[math.nan if value is None else float(value) for value in row] for row in rows])


@pytest.mark.variants(3)
@pytest.mark.parametrize("where", ["TRUE", "i % 3 = 1"])
def test_tables_are_fitted_by_one_query(context: sharkpy.SharkContext, queries: Callable[[], int], where: str) -> None:
    names = ["i", "d", "f", "b", "m", "one"]
    table = context.sql2rdd(f"SELECT s, {', '.join(names)} FROM scaled WHERE {where}")
    model = StandardScaler().fit(table)
    assert queries() == 1
    assert model.feature_names_in_.tolist() == names
    assert_like(model, preprocessing.StandardScaler().fit(matrix(context, names, where)))
    scaled = model.transform(table)
    assert scaled.schema.names == ("s", *names)
    assert {scaled.schema[name].dtype for name in names} == {DOUBLE}
    found = np.column_stack([scaled.to_arrow().sort_by("i")[name].to_numpy() for name in names])
    np.testing.assert_array_equal(found, model.transform(matrix(context, names, where)))
    back = model.inverse_transform(scaled).to_arrow().sort_by("i")
    np.testing.assert_allclose(back["d"].to_numpy(), matrix(context, ["d"], where)[:, 0])
    assert (
        back["s"].to_pylist()[:3]
        == [row[0] for row in context.sql(f"SELECT s FROM scaled WHERE {where} ORDER BY i").fetchall()][:3]
    )


def test_constant_columns_are_read_off_the_statistics(
    context: sharkpy.SharkContext, queries: Callable[[], int]
) -> None:
    model = StandardScaler().fit("scaled", features=["one", "dec", "yes"], session=context)
    assert queries() == 0
    assert model.mean_.tolist() == [5, 2.5, 1]
    assert model.var_.tolist() == [0, 0, 0]
    assert model.scale_.tolist() == [1, 1, 1]
    assert model.n_samples_seen_ == ROWS


def test_nulls_are_refused_without_reading_a_row(context: sharkpy.SharkContext, queries: Callable[[], int]) -> None:
    with pytest.raises(DataError, match='"n" has 350 missing values'):
        StandardScaler().fit("scaled", features=["i", "n"], session=context)
    assert queries() == 0


@pytest.mark.variants(3)
@pytest.mark.parametrize("names", [["n", "d"], ["same", "one"], ["n", "same", "x"], ["i", "x"]])
@pytest.mark.parametrize("na", ["drop", "mean", "ignore"])
def test_missing_values_of_tables(context: sharkpy.SharkContext, names: list[str], na: str) -> None:
    rows = matrix(context, names)
    expected = StandardScaler().fit(rows, na=na)
    for query in ("scaled", context.sql2rdd("SELECT * FROM scaled WHERE i > 0")):
        model = StandardScaler().fit(query, features=names, na=na, session=context)
        assert_like(model, expected)
    table = context.sql2rdd(f"SELECT i, {', '.join(name for name in names if name != 'i')} FROM scaled")
    if "i" not in names:
        found = model.transform(table).to_arrow().sort_by("i")
        for place, name in enumerate(names):
            values = found[name].to_numpy(zero_copy_only=False).astype(float)
            np.testing.assert_allclose(values, model.transform(rows)[:, place], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("names", "options", "error", "message"),
    [
        (["x"], {}, DataError, '"x" has 1 missing value'),
        (["inf"], {}, DataError, '"inf" has 1 infinite value'),
        (["inf"], {"na": "ignore"}, DataError, "infinite"),
        (["none"], {"na": "ignore"}, DataError, '"none" has no value'),
        (["none"], {"na": "drop"}, DataError, "no row is left"),
        (["nope"], {}, ColumnNotFoundError, "nope"),
        (["s"], {}, TypeMismatchError, '"s" is not numeric'),
    ],
    ids=map(str, range(7)),
)
def test_tables_that_do_not_fit(
    context: sharkpy.SharkContext, names: list[str], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        StandardScaler().fit("scaled", features=names, session=context, **options)


def test_tables_without_the_features_are_refused(context: sharkpy.SharkContext) -> None:
    model = StandardScaler().fit("scaled", features=["i", "d"], session=context)
    with pytest.raises(ColumnNotFoundError, match='no column "d", which StandardScaler was fitted with'):
        model.transform(context.sql2rdd("SELECT i, s FROM scaled"))
    with pytest.raises(TypeMismatchError, match='"d" is not numeric: string'):
        model.transform(context.sql2rdd("SELECT i, s AS d FROM scaled"))
    with pytest.raises(BindError, match="several columns"):
        model.transform(context.sql2rdd("SELECT i, d, i + 1 AS d FROM scaled"))


def test_features_of_a_scaled_table_train_a_model(context: sharkpy.SharkContext) -> None:
    table = context.sql2rdd("SELECT i, d, f FROM scaled")
    scaler = StandardScaler()
    model = KMeans(3).fit(scaler.fit_transform(table))
    same = KMeans(3).fit(scaler.transform(table).features())
    np.testing.assert_allclose(model.cluster_centers_, same.cluster_centers_)
    assert np.abs(model.cluster_centers_).max() < 5


def test_statistics_answer_for_whole_tables_alone(context: sharkpy.SharkContext) -> None:
    assert ColumnStatistics.of(context.sql2rdd("SELECT i AS j, s FROM scaled")).stored == {"j": "i", "s": "s"}  # type: ignore[union-attr]
    assert ColumnStatistics.of(context.sql2rdd("SELECT i FROM scaled WHERE i > 1")) is None
    assert ColumnStatistics.of(context.sql2rdd("SELECT i FROM scaled LIMIT 5")) is None
    assert ColumnStatistics.of(context.sql2rdd("SELECT DISTINCT i FROM scaled")) is None


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counter of the plans that have been run."""
    runs: list[object] = []
    run_batches = run_plan.run_batches

    def counted(*arguments: Any, **options: Any) -> Any:
        runs.append(arguments)
        return run_batches(*arguments, **options)

    monkeypatch.setattr(run_plan, "run_batches", counted)
    return lambda: len(runs)


def test_warnings_are_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StandardScaler().fit([[math.nan, 1.0], [2.0, 1.0]], na="ignore")
