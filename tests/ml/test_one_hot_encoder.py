"""OneHotEncoder, compared with scikit-learn's: of arrays, and of tables whose statistics and queries do the work."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import preprocessing

import sharkpy
from sharkpy.base.errors import (
    BindError,
    ColumnNotFoundError,
    DataError,
    ExecutionError,
    NotFittedError,
    ParameterError,
    TypeMismatchError,
    UnsupportedError,
)
from sharkpy.execution.queries import run_plan
from sharkpy.execution.tables.block_lineage import is_repeatable
from sharkpy.ml import Estimator, KMeans, OneHotEncoder
from sharkpy.ml.models import column_categories
from sharkpy.values.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING

FRAME = pd.DataFrame(
    {
        "s": ["b", "a", "ß x", "b", "", "a"],
        "i": [3, 1, 2, 3, 1, -1],
        "f": [0.5, 1.5, 0.5, 0.5, -2.0, 1.5],
        "b": [True, False, True, True, False, False],
        "d": pd.to_datetime(["2024-01-05", "2024-01-06", "2024-01-05", "2023-12-31", "2024-01-06", "2024-01-05"]),
    }
)


# Arrays


@pytest.mark.parametrize("drop", [None, "first"])
def test_frames_are_encoded_as_by_scikit_learn(drop: str | None) -> None:
    model = OneHotEncoder(drop=drop).fit(FRAME)
    reference = preprocessing.OneHotEncoder(drop=drop, sparse_output=False).fit(FRAME)
    for ours, theirs in zip(model.categories_, reference.categories_, strict=True):
        assert ours.tolist() == theirs.astype(ours.dtype).tolist()
    np.testing.assert_array_equal(model.transform(FRAME), reference.transform(FRAME))
    back, expected = (
        model.inverse_transform(model.transform(FRAME)),
        reference.inverse_transform(model.transform(FRAME)),
    )
    assert back[:, :4].tolist() == expected[:, :4].tolist()
    assert back[:, 4].tolist() == FRAME["d"].tolist()


def test_matrices_are_encoded_as_by_scikit_learn() -> None:
    X = np.random.default_rng(1).integers(-3, 4, (200, 3))
    model, reference = OneHotEncoder().fit(X), preprocessing.OneHotEncoder(sparse_output=False).fit(X)
    np.testing.assert_array_equal(model.transform(X), reference.transform(X))
    assert model.inverse_transform(model.transform(X)).dtype == np.int64
    texts = X.astype(str)
    np.testing.assert_array_equal(
        OneHotEncoder().fit_transform(texts), preprocessing.OneHotEncoder(sparse_output=False).fit_transform(texts)
    )


CELLS = (
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.dates(),
    st.datetimes(),
)


@settings(deadline=None, max_examples=100)
@given(st.data(), st.sampled_from([None, "first"]))
def test_inverse_of_transform_is_what_was_there(data: st.DataObject, drop: str | None) -> None:
    kinds = data.draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=3))
    rows = data.draw(st.lists(st.tuples(*kinds), min_size=1, max_size=15))
    X = np.empty((len(rows), len(kinds)), object)
    for place, row in enumerate(rows):
        X[place] = row
    model = OneHotEncoder(drop=drop).fit(X)
    flags = model.transform(X)
    assert set(np.unique(flags)) <= {0.0, 1.0}
    assert flags.shape[1] == len(model.get_feature_names_out()) == len(set(model.get_feature_names_out()))
    found = model.inverse_transform(flags)
    for place, categories in enumerate(model.categories_):
        np.testing.assert_array_equal(found[:, place].astype(categories.dtype), X[:, place].astype(categories.dtype))


def test_unknown_categories() -> None:
    model = OneHotEncoder().fit([["a"], ["b"]])
    with pytest.raises(DataError, match=r'column "x0" has a category .*: c; handle_unknown="ignore"'):
        model.transform([["a"], ["c"]])
    with pytest.raises(DataError, match="NULL"):
        model.transform(np.array([["a"], [None]], object))
    with pytest.raises(DataError, match="1"):
        model.transform([[1]])
    lenient = OneHotEncoder(handle_unknown="ignore").fit([["a"], ["b"]])
    flags = lenient.transform(np.array([["a"], ["c"], [None]], object))
    assert flags.tolist() == [[1, 0], [0, 0], [0, 0]]
    assert lenient.inverse_transform(flags).tolist() == [["a"], [None], [None]]


def test_given_categories() -> None:
    model = OneHotEncoder(categories=[["z", "b", "a"], [2, 1]]).fit(
        FRAME.iloc[[0, 1, 3]].assign(i=[1, 1, 2])[["s", "i"]]
    )
    assert model.get_feature_names_out().tolist() == ["s_z", "s_b", "s_a", "i_2", "i_1"]
    with pytest.raises(DataError, match=r'"s" has a category .*: a'):
        OneHotEncoder(categories=[["b"]]).fit([["a"], ["b"]], features=["s"])
    with pytest.raises(ParameterError, match="categories of 2 columns for 1"):
        OneHotEncoder(categories=[["a"], ["b"]]).fit([["a"]])
    with pytest.raises(ParameterError, match="twice"):
        OneHotEncoder(categories=[["a", "a"]]).fit([["a"]])


def test_names_are_safe_and_differ() -> None:
    model = OneHotEncoder().fit(np.array([["A b"], ["a_b"], ["a b"], ["é"], ["-1"]]), features=["Col"])
    assert model.get_feature_names_out().tolist() == ["col__1", "col_a_b", "col_a_b_2", "col_a_b_3", "col_é"]
    assert OneHotEncoder().fit(FRAME[["b", "d"]]).get_feature_names_out().tolist()[:3] == [
        "b_false",
        "b_true",
        "d_2023_12_31_00_00_00",
    ]


def test_missing_values() -> None:
    rows = np.array([["a", 1], [None, 2], ["b", float("nan")], ["c", 1]], object)
    with pytest.raises(DataError, match='"x0" has missing values'):
        OneHotEncoder().fit(rows)
    model = OneHotEncoder().fit(rows, na="drop")
    assert [values.tolist() for values in model.categories_] == [["a", "c"], [1.0]]


@pytest.mark.parametrize(
    ("options", "data", "error", "message"),
    [
        ({"drop": "last"}, [["a"]], ParameterError, "drop"),
        ({"handle_unknown": "x"}, [["a"]], ParameterError, "handle_unknown"),
        ({"categories": "all"}, [["a"]], ParameterError, "categories"),
        ({}, np.array([["a"], [1]], object), TypeMismatchError, 'column "x0" mixes int and str'),
        ({}, np.array([[b"a"]], object), TypeMismatchError, "holds no categories: bytes"),
        ({}, np.array([[1j]]), TypeMismatchError, "no categories"),
        ({}, ["a"], DataError, "1 dimensions"),
        ({}, np.zeros((0, 1)), DataError, '"x0" has no value'),
        ({}, np.zeros((3, 0)), DataError, "at least one column"),
    ],
    ids=map(str, range(9)),
)
def test_bad_input_is_one_clear_error(options: Any, data: Any, error: type[Exception], message: str) -> None:
    model = OneHotEncoder(**options)
    with pytest.raises(error, match=message):
        model.fit(data)
    assert not model.is_fitted
    with pytest.raises(NotFittedError):
        model.transform([["a"]])


def test_saved_models_encode_the_same(tmp_path: Path) -> None:
    model = OneHotEncoder(drop="first").fit(FRAME)
    model.save(tmp_path / "encoder.json")
    loaded = Estimator.load(tmp_path / "encoder.json")
    assert isinstance(loaded, OneHotEncoder)
    np.testing.assert_array_equal(loaded.transform(FRAME), model.transform(FRAME))
    with pytest.raises(ColumnNotFoundError, match='"d"'):
        loaded.transform(FRAME.drop(columns="d"))
    with pytest.raises(DataError, match="the data has 2 columns"):
        loaded.transform([["a", 1]])
    with pytest.raises(DataError, match="shape"):
        loaded.inverse_transform([[1.0]])


# Tables

ROWS = 3000
TABLE = (
    "CREATE TABLE IF NOT EXISTS encoded TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT CAST(id AS INT) AS id,"
    " concat('k ', id % 3) AS s, CAST(id % 4 - 1 AS TINYINT) AS t, id % 2 = 0 AS b, CAST(id % 2 AS FLOAT) / 4 AS f,"
    " date_add('2024-02-28', CAST(id % 3 AS INT)) AS d, CAST(concat('v', id % 2) AS VARCHAR(5)) AS v,"
    " CASE WHEN id = 5 THEN NULL WHEN id < 9 THEN 'few' ELSE concat('n', id % 2) END AS n, id % 100 AS many,"
    " CAST(id AS DECIMAL(9,1)) AS dec, array(id) AS a"
    f" FROM (SELECT explode(sequence(1, {ROWS})) AS id) q"
)
NAMES = ["s", "t", "b", "f", "d", "v"]


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql(TABLE)
    return context


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


EXPECTED = [
    ["k 0", "k 1", "k 2"],
    [-1, 0, 1, 2],
    [False, True],
    [0.0, 0.25],
    [datetime.date(2024, 2, 28), datetime.date(2024, 2, 29), datetime.date(2024, 3, 1)],
    ["v0", "v1"],
]


def test_categories_are_read_off_the_statistics(context: sharkpy.SharkContext, queries: Callable[[], int]) -> None:
    model = OneHotEncoder().fit("encoded", features=NAMES, session=context)
    assert queries() == 0
    assert [values.tolist() for values in model.categories_] == EXPECTED


def test_filtered_and_numerous_categories_are_asked_for(
    context: sharkpy.SharkContext, queries: Callable[[], int]
) -> None:
    model = OneHotEncoder().fit(context.sql2rdd("SELECT s, t FROM encoded WHERE id % 6 = 1"))
    assert queries() == 2
    assert [values.tolist() for values in model.categories_] == [["k 1"], [0, 2]]
    assert len(OneHotEncoder().fit("encoded", features=["many"], session=context).categories_[0]) == 100
    assert queries() == 3


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("handle_unknown", ["error", "ignore"])
def test_tables_are_encoded_as_arrays(context: sharkpy.SharkContext, drop: str | None, handle_unknown: str) -> None:
    table = context.sql2rdd(f"SELECT id, {', '.join(NAMES)} FROM encoded")
    model = OneHotEncoder(drop=drop, handle_unknown=handle_unknown).fit(table, features=NAMES)
    encoded = model.transform(table)
    names = model.get_feature_names_out().tolist()
    assert encoded.schema.names == ("id", *names)
    assert {encoded.schema[name].dtype for name in names} == {INT}
    found = encoded.to_arrow().sort_by("id")
    frame = table.to_arrow().sort_by("id").to_pandas()
    np.testing.assert_array_equal(np.column_stack([found[name].to_numpy() for name in names]), model.transform(frame))
    back = model.inverse_transform(encoded)
    assert [(field.name, field.dtype) for field in back.schema] == [
        ("id", INT),
        *zip(NAMES, [STRING, BIGINT, BOOLEAN, DOUBLE, DATE, STRING], strict=True),
    ]
    assert back.to_arrow().sort_by("id").to_pandas().astype(str).equals(frame.astype(str))


def test_unknown_categories_of_tables(context: sharkpy.SharkContext) -> None:
    model = OneHotEncoder().fit(context.sql2rdd("SELECT n FROM encoded WHERE id > 8"))
    table = context.sql2rdd("SELECT id, n FROM encoded WHERE id < 11")
    with pytest.raises(ExecutionError, match=r'column "n" has a category unknown to OneHotEncoder: (few|NULL)'):
        model.transform(table).to_arrow()
    # Whichever of the columns are read.
    with pytest.raises(ExecutionError, match="unknown to"):
        model.transform(table).features(["n_n1"]).blocks()
    lenient = OneHotEncoder(handle_unknown="ignore").fit(context.sql2rdd("SELECT n FROM encoded WHERE id > 8"))
    found = lenient.transform(table).to_arrow().sort_by("id")
    assert found["n_n0"].to_pylist() == [0] * 9 + [1]
    assert found["n_n1"].to_pylist() == [0] * 8 + [1, 0]


def test_missing_values_of_tables(context: sharkpy.SharkContext, queries: Callable[[], int]) -> None:
    with pytest.raises(DataError, match='"n" has missing values'):
        OneHotEncoder().fit("encoded", features=["s", "n"], session=context)
    assert queries() == 0
    with pytest.raises(DataError, match='"n" has missing values'):
        OneHotEncoder().fit(context.sql2rdd("SELECT n FROM encoded WHERE id < 6"))
    model = OneHotEncoder().fit("encoded", features=["n", "s"], na="drop", session=context)
    assert [values.tolist() for values in model.categories_] == [["few", "n0", "n1"], ["k 0", "k 1", "k 2"]]


def test_encoded_columns_train_a_model(context: sharkpy.SharkContext) -> None:
    table = OneHotEncoder().fit_transform(context.sql2rdd("SELECT s, b FROM encoded"))
    assert is_repeatable(table.plan)
    model = KMeans(6).fit(table)
    assert model.inertia_ == pytest.approx(0, abs=1e-9)
    assert model.cluster_sizes_.tolist() == [500] * 6


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("SELECT a FROM encoded", TypeMismatchError, '"a" holds no categories: array<int>'),
        ("SELECT dec FROM encoded", TypeMismatchError, "decimal"),
        ("SELECT s FROM encoded WHERE id < 0", DataError, '"s" has no value'),
    ],
)
def test_tables_that_do_not_fit(
    context: sharkpy.SharkContext, query: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        OneHotEncoder().fit(context.sql2rdd(query))


def test_tables_that_cannot_be_encoded(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    model = OneHotEncoder().fit("encoded", features=["s"], session=context)
    with pytest.raises(ColumnNotFoundError, match='no column "s"'):
        model.transform(context.sql2rdd("SELECT id FROM encoded"))
    with pytest.raises(BindError, match='two columns are called "s_k_0"'):
        model.transform(context.sql2rdd("SELECT s, 1 AS s_k_0 FROM encoded"))
    with pytest.raises(TypeMismatchError, match='column "s" is array<int>; its categories are string'):
        model.transform(context.sql2rdd("SELECT a AS s FROM encoded"))
    monkeypatch.setattr(column_categories, "MAX_CATEGORIES", 50)
    with pytest.raises(DataError, match='"many" has more than 50 categories'):
        OneHotEncoder().fit("encoded", features=["many"], session=context)
    alone = OneHotEncoder(drop="first").fit(context.sql2rdd("SELECT s FROM encoded WHERE s = 'k 1'"))
    with pytest.raises(UnsupportedError, match='the only category of column "s" was dropped'):
        alone.inverse_transform(context.sql2rdd("SELECT id FROM encoded"))
