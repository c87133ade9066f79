"""Regressions of tables, queries and their features, in this process and as RDD tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import (
    ColumnNotFoundError,
    DataError,
    SharkError,
    TableNotFoundError,
    TypeMismatchError,
    UnsupportedError,
)
from sharkpy.ml import LinearRegression, LogisticRegression

ROWS = 3000


@pytest.fixture
def people(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    make_people(context)
    return context


def make_people(context: sharkpy.SharkContext) -> None:
    """Make a cached table in three blocks."""
    numbers = f"(SELECT explode(sequence(1, {ROWS})) AS id) q"
    context.sql(
        "CREATE TABLE IF NOT EXISTS people TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT"
        " CAST(id AS INT) AS id, sin(id) AS a, CAST(cos(id * 7) AS FLOAT) AS b, id % 2 = 0 AS even,"
        " CAST(sin(id) + cos(id * 3) > 0 AS INT) AS bought,"
        " CASE WHEN sin(id) + cos(id * 3) > 0.5 THEN 'much' WHEN sin(id) > 0 THEN 'some' ELSE 'none' END AS spent,"
        " 3 * sin(id) - cos(id * 7) + 0.1 * cos(id * 11) + 2 AS amount,"
        f" CASE WHEN id % 100 = 0 THEN NULL ELSE sin(id * 5) END AS torn, 1.0 AS constant FROM {numbers}"
    )


def arrays(context: sharkpy.SharkContext, *names: str, where: str = "true") -> tuple[np.ndarray, np.ndarray]:
    table = context.sql(f"SELECT {', '.join(names)} FROM people WHERE {where} ORDER BY id").to_arrow()
    X = np.column_stack([table.column(name).to_numpy(zero_copy_only=False) for name in names[:-1]]).astype(float)
    return X, table.column(names[-1]).to_numpy(zero_copy_only=False)


@pytest.mark.variants(3)
@pytest.mark.parametrize("solver", ["lbfgs", "gradient_descent", "newton"])
def test_logistic_regression_of_a_table(people: sharkpy.SharkContext, solver: str) -> None:
    X, y = arrays(people, "a", "b", "even", "bought")
    parameters: dict[str, Any] = {"solver": solver, "C": 0.1, "tol": 1e-3, "max_iter": 2000}
    expected = LogisticRegression(**parameters).fit(X, y)
    query = people.sql2rdd("SELECT a, b, even, bought FROM people")
    for found in (
        LogisticRegression(**parameters).fit("people", "bought", features=["a", "b", "even"], session=people),
        LogisticRegression(**parameters).fit(query, "bought"),
        LogisticRegression(**parameters).fit(query.features(["a", "b", "even"], label="bought")),
        LogisticRegression(**parameters).fit(query.features(label="bought").cache()),
    ):
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
        assert found.feature_names_in_.tolist() == ["a", "b", "even"]
        assert found.classes_.tolist() == [0, 1]
        assert found.score("people", "bought", session=people) == pytest.approx(expected.score(X, y))
        assert found.score(query, "bought") == pytest.approx(expected.score(X, y))


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("label", "classes", "dtype"),
    [
        ("even", [False, True], "boolean"),
        ("bought", [0, 1], "bigint"),
        ("CAST(bought AS DOUBLE)", [0.0, 1.0], "double"),
        ("CAST(bought AS DECIMAL(3,1)) / 2", [0.0, 0.5], "double"),
    ],
    ids=["boolean", "int", "double", "decimal"],
)
def test_classes_have_the_type_of_the_label(
    people: sharkpy.SharkContext, label: str, classes: list[object], dtype: str
) -> None:
    query = people.sql2rdd(f"SELECT a, b, {label} AS label FROM people")
    model = LogisticRegression().fit(query, "label")
    assert model.classes_.tolist() == classes
    assert [type(one) for one in model.classes_.tolist()] == [type(one) for one in classes]
    predicted = model.predict(query)
    assert str(predicted.schema["prediction"].dtype) == dtype
    assert {row.prediction for row in predicted.collect()} <= set(classes)
    assert 0.4 < model.score(query, "label") <= 1.0


def test_the_same_bits_whatever_the_tasks(people: sharkpy.SharkContext) -> None:
    query = people.sql2rdd("SELECT a, b, bought FROM people")
    assert LogisticRegression().fit(query, "bought").to_json() == LogisticRegression().fit(query, "bought").to_json()


@pytest.mark.spark
def test_the_same_bits_in_this_process_and_as_tasks(driver: sharkpy.SharkContext, tasks: sharkpy.SharkContext) -> None:
    found = []
    for context in (driver, tasks):
        make_people(context)
        query = context.sql2rdd("SELECT a, b, bought, amount FROM people")
        logistic, linear = LogisticRegression().fit(query, "bought"), LinearRegression().fit(query, "amount")
        found.append({**logistic.fitted_state(), "linear": linear.coef_})
    for name, expected in found[0].items():
        np.testing.assert_array_equal(found[1][name], expected, err_msg=name)


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", ["STRING", "VARCHAR(5)"])
def test_labels_that_are_text(people: sharkpy.SharkContext, dtype: str) -> None:
    X, y = arrays(people, "a", "b", "spent")
    expected = LogisticRegression(tol=1e-3, max_iter=1000).fit(X, y)
    query = people.sql2rdd(f"SELECT id, a, b, CAST(spent AS {dtype}) AS spent FROM people")
    found = LogisticRegression(tol=1e-3, max_iter=1000).fit(query, "spent", features=["a", "b"])
    assert found.classes_.tolist() == ["much", "none", "some"]
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-4)
    assert found.score(query, "spent") == expected.score(X, y)
    renamed = people.sql2rdd("SELECT a, b, CASE WHEN spent = 'much' THEN 'lots' ELSE spent END AS spent FROM people")
    assert found.score(renamed, "spent") == pytest.approx(np.mean((expected.predict(X) == y) & (y != "much")))
    rows = sorted(found.predict(query).collect())
    assert [row.prediction for row in rows] == expected.predict(X).tolist()
    named = LogisticRegression(tol=1e-3, max_iter=1000).fit("people", "spent", features=["a", "b"], session=people)
    np.testing.assert_allclose(named.coef_, expected.coef_, atol=1e-4)


def test_text_that_is_no_class(people: sharkpy.SharkContext) -> None:
    many = people.sql2rdd("SELECT a, CAST(id AS STRING) AS name FROM people")
    with pytest.raises(DataError, match="more than 1,000 different values"):
        LogisticRegression().fit(many, "name")
    torn = people.sql2rdd("SELECT a, CASE WHEN id > 10 THEN spent END AS spent FROM people")
    with pytest.raises(DataError, match='label "spent" has 10 missing values'):
        LogisticRegression().fit(torn, "spent")
    assert LogisticRegression().fit(torn, "spent", na="drop").classes_.tolist() == ["much", "none", "some"]


def test_linear_regression_of_a_table(people: sharkpy.SharkContext) -> None:
    X, y = arrays(people, "a", "b", "constant", "amount")
    expected = LinearRegression().fit(X, y)
    query = people.sql2rdd("SELECT a, b, constant, amount FROM people")
    found = LinearRegression().fit(query, "amount")
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    assert found.coef_[2] == 0
    assert found.intercept_ == pytest.approx(expected.intercept_, rel=1e-9)
    assert found.score("people", "amount", session=people) == pytest.approx(expected.score(X, y), rel=1e-9)
    assert found.score(query, "amount") > 0.99


def test_predictions_are_a_column(people: sharkpy.SharkContext) -> None:
    X, y = arrays(people, "a", "b", "bought")
    query = people.sql2rdd("SELECT id, a, b FROM people WHERE id <= 1500")
    model = LogisticRegression().fit(X, y)
    model.feature_names_in_[:] = ["a", "b"]
    found = model.predict(query)
    assert [str(field.dtype) for field in found.schema] == ["int", "double", "float", "bigint"]
    rows = sorted(found.collect())
    assert [row.prediction for row in rows] == model.predict(X[:1500]).tolist()
    linear = LinearRegression().fit(people.sql2rdd("SELECT a, b, amount FROM people"), "amount")
    predicted = np.array([row.prediction for row in sorted(linear.predict(query).collect())])
    np.testing.assert_allclose(predicted, linear.predict(X[:1500]), rtol=1e-9)


def test_probabilities_are_a_column(people: sharkpy.SharkContext) -> None:
    X, _ = arrays(people, "a", "b", "bought")
    query = people.sql2rdd("SELECT id, a, b FROM people WHERE id <= 100")
    model = LogisticRegression().fit(people.sql2rdd("SELECT a, b, bought FROM people"), "bought")
    rows = sorted(model.predict_proba(query).collect())
    np.testing.assert_allclose([row.probabilities for row in rows], model.predict_proba(X[:100]), rtol=1e-9)


@pytest.mark.variants(3)
@pytest.mark.parametrize(("label", "decision"), [("bought", "double"), ("spent", "array<double>")])
def test_scores_and_logarithms_are_columns(people: sharkpy.SharkContext, label: str, decision: str) -> None:
    X, _ = arrays(people, "a", "b", "bought")
    query = people.sql2rdd("SELECT id, a, b FROM people WHERE id <= 100")
    model = LogisticRegression().fit(people.sql2rdd(f"SELECT a, b, {label} FROM people"), label)
    scored = model.decision_function(query)
    assert str(scored.schema["decision"].dtype) == decision
    found = [row.decision for row in sorted(scored.collect())]
    np.testing.assert_allclose(found, model.decision_function(X[:100]), rtol=1e-9, atol=1e-12)
    logarithms = [row.log_probabilities for row in sorted(model.predict_log_proba(query).collect())]
    np.testing.assert_allclose(logarithms, model.predict_log_proba(X[:100]), rtol=1e-9)


def test_missing_values(people: sharkpy.SharkContext) -> None:
    query = people.sql2rdd("SELECT a, torn, amount FROM people")
    for model in (LogisticRegression(), LinearRegression()):
        with pytest.raises(DataError, match='column "torn" has 30 missing values'):
            model.fit(query, "amount")
        assert not model.is_fitted
    dropped = LinearRegression().fit(query, "amount", na="drop")
    X, y = arrays(people, "a", "torn", "amount", where="torn IS NOT NULL")
    np.testing.assert_allclose(dropped.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9)
    filled = LinearRegression().fit(query, "amount", features=["a", "torn"], na="mean")
    X, y = arrays(people, "a", "torn", "amount")
    X[np.isnan(X)] = np.nanmean(X[:, 1])
    np.testing.assert_allclose(filled.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("query", "label", "kind", "message"),
    [
        ("SELECT a, constant FROM people", "constant", DataError, "the label has one class only: 1"),
        ("SELECT a, bought FROM people WHERE a > 2", "bought", DataError, "there are no rows"),
        ("SELECT a, bought FROM people", "bougth", ColumnNotFoundError, 'did you mean "bought"?'),
        ("SELECT spent, bought FROM people", "bought", DataError, "a table without numeric columns"),
        ("SELECT a, id FROM people", "id", DataError, "more than 1,000 different values"),
    ],
    ids=["one class", "no rows", "no label", "no features", "no classes"],
)
def test_what_cannot_be(
    people: sharkpy.SharkContext, query: str, label: str, kind: type[SharkError], message: str
) -> None:
    with pytest.raises(kind) as error:
        LogisticRegression().fit(people.sql2rdd(query), label)
    assert message in str(error.value)


def test_what_takes_arrays_alone(people: sharkpy.SharkContext) -> None:
    query = people.sql2rdd("SELECT a, b, bought FROM people")
    model = LogisticRegression().fit(query, "bought")
    with pytest.raises(UnsupportedError, match="this method takes arrays and data frames, not a FeatureRDD"):
        model.decision_function(query.features(["a", "b"]))
    with pytest.raises(UnsupportedError, match="not a str; predict takes a TableRDD"):
        model.predict("people")


def test_other_things_that_cannot_be(people: sharkpy.SharkContext) -> None:
    with pytest.raises(TableNotFoundError):
        LinearRegression().fit("nobody", "amount", session=people)
    with pytest.raises(DataError, match="LinearRegression needs labels"):
        LinearRegression().fit("people", features=["a"], session=people)
    with pytest.raises(DataError, match="the labels of a table are one of its columns"):
        LinearRegression().fit("people", np.ones(ROWS), session=people)
    with pytest.raises(TypeMismatchError, match='label "spent" is not numeric'):
        LinearRegression().fit("people", "spent", session=people)


def test_labels_beyond_the_digits_of_double(people: sharkpy.SharkContext) -> None:
    number = "CASE spent WHEN 'much' THEN 2 WHEN 'some' THEN 1 ELSE 0 END"
    query = people.sql2rdd(f"SELECT a, b, {2**53}L + {number} AS label FROM people")
    rows = query.collect()
    known = np.array([row.label for row in rows])
    model = LogisticRegression(tol=1e-3, max_iter=1000).fit(query, "label")
    assert model.classes_.tolist() == np.unique(known).tolist()
    predicted = [row.prediction for row in model.predict(query).collect()]
    assert set(predicted) <= set(known.tolist())
    assert model.score(query, "label") == pytest.approx(np.mean(np.array(predicted) == known))
    with pytest.raises(DataError, match=r"labels of 2\^53 and more"):
        LogisticRegression().fit(query.features(["a", "b"], "label"))


def test_decimal_labels_beyond_the_digits_of_double(people: sharkpy.SharkContext) -> None:
    near = people.sql2rdd(f"SELECT a, b, CAST({2**53} + bought AS DECIMAL(20,0)) AS label FROM people")
    with pytest.raises(DataError, match="differ in digits that DOUBLE does not have"):
        LogisticRegression().fit(near, "label")
    far = people.sql2rdd(f"SELECT a, b, CAST({2**53} + 4 * bought AS DECIMAL(20,0)) AS label FROM people")
    model = LogisticRegression().fit(far, "label")
    assert model.classes_.tolist() == [2.0**53, 2.0**53 + 4]
    assert 0.4 < model.score(far, "label") <= 1.0
