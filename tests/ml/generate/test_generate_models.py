"""Models as tables: made by GENERATE and from Python, seen in SQL, used by predict."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import (
    BindError,
    ColumnNotFoundError,
    DataError,
    NotFittedError,
    ParameterError,
    SharkError,
    TableExistsError,
    TableNotFoundError,
    TypeMismatchError,
)
from sharkpy.ml import KMeans, LinearRegression, LogisticRegression
from sharkpy.ml.models.estimator import ConvergenceWarning
from tests.ml.generate.conftest import TABLES

X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])


@pytest.fixture
def models(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    """Session with the models `doubled` (y = 2 x + 1), `clouds` (two centers) and `answers` (yes or no)."""
    context.sql("GENERATE LinearRegression(line, 'y', model => 'doubled')").fetchall()
    context.sql("GENERATE KMeans(points, 2, model => 'clouds')").fetchall()
    context.sql("GENERATE LogisticRegression(classes, 'y', C => 10, model => 'answers')").fetchall()
    return context


@pytest.mark.variants(2)
def test_clusters(context: sharkpy.SharkContext) -> None:
    context.sql("GENERATE KMeans(points, 2) AS TABLE clustered").close()
    assert context.sql("SELECT * FROM clustered").columns == ["x", "y", "kind", "cluster"]
    rows = context.sql("SELECT kind, min(cluster), max(cluster), count(*) FROM clustered GROUP BY kind").fetchall()
    assert sorted((least, most) for _, least, most, _ in rows) == [(0, 0), (1, 1)]
    assert [count for *_, count in rows] == [3, 3]


def test_rows_written_are_those_of_the_result(context: sharkpy.SharkContext) -> None:
    for call in ("KMeans(points, 2)", "KMeans(points, 2, model => 'kept')"):
        prepared = context.prepare(f"GENERATE {call} AS TABLE made")
        assert not prepared.yields_rows
        prepared.run().close()
        assert prepared.rows_written == 6
        context.sql("DROP TABLE made").close()


@pytest.mark.variants(2)
def test_regressions(context: sharkpy.SharkContext) -> None:
    rows = context.sql("GENERATE LinearRegression(line, label => 'y')").fetchall()
    assert [prediction for _, _, prediction in rows] == pytest.approx([y for _, y, _ in rows])
    with context.sql("GENERATE LogisticRegression(classes, 'y', C => 10)") as result:
        assert result.columns == ["x", "y", "prediction", "probability"]
        rows = result.fetchall()
    model = LogisticRegression(C=10.0).fit(X, np.array(["no", "no", "yes", "no", "yes", "yes"]))
    expected = model.predict_proba(X)[:, 1]
    for x, _, prediction, probability in rows:
        assert probability == pytest.approx(expected[int(x)], abs=1e-6)
        assert prediction == ("yes" if probability > 0.5 else "no")


def test_three_classes_have_an_array_of_probabilities(context: sharkpy.SharkContext) -> None:
    text = "GENERATE LogisticRegression((SELECT x, cast(x AS INT) % 3 AS y FROM line), 'y', model => 'three')"
    with context.sql(text) as result:
        rows = result.fetchall()
    assert all(len(probability) == 3 and sum(probability) == pytest.approx(1) for *_, probability in rows)
    assert all(prediction == np.argmax(probability) for *_, prediction, probability in rows)
    ((proba,),) = context.sql("SELECT predict_proba('three', 1)").fetchall()
    assert proba == pytest.approx(next(row[-1] for row in rows if row[0] == 1.0))


@pytest.mark.variants(2)
def test_rows_of_models(models: sharkpy.SharkContext) -> None:
    assert [name for name, _ in models.sql("SELECT * FROM doubled").fetchall()] == ["x", "(intercept)"]
    centers = models.sql("SELECT feature, center FROM clouds ORDER BY center, feature").fetchall()
    assert [name for name, _ in centers] == ["x", "y", "x", "y"]
    assert [value for _, value in centers] == pytest.approx([2 / 3, 2 / 3, 62 / 3, 62 / 3])
    rows = models.sql("SELECT class, feature FROM answers").fetchall()
    assert rows == [("yes", "x"), ("yes", "(intercept)")]
    names = {name for (name,) in models.sql("SHOW TABLES")}
    assert names == {*TABLES, "doubled", "clouds", "answers"}
    text = dict(models.sql("SHOW TBLPROPERTIES doubled"))["shark.model"]
    for form in ("EXTENDED", "FORMATTED"):
        shown = str(models.sql(f"DESCRIBE {form} doubled").fetchall())
        assert f"({len(text):,} characters)" in shown
        assert text[200:] not in shown


@pytest.mark.variants(2)
def test_predict(models: sharkpy.SharkContext) -> None:
    rows = models.sql("SELECT x, predict('doubled', x) FROM gaps").fetchall()
    assert sorted(rows, key=str) == [(1.0, pytest.approx(3.0)), (3.0, pytest.approx(7.0)), (None, None)]
    assert models.sql("SELECT predict('doubled', NULL), predict('doubled', double('NaN'))").fetchall() == [(None, None)]
    query = "SELECT predict('clouds', x, y), count(*) FROM points WHERE predict('default.clouds', x, y) >= 0 GROUP BY 1"
    assert [count for _, count in models.sql(query).fetchall()] == [3, 3]
    ((answer, probabilities),) = models.sql("SELECT predict('answers', 5), predict_proba('answers', 5)").fetchall()
    assert answer == "yes"
    assert sum(probabilities) == pytest.approx(1)
    assert models.sql("SELECT predict_proba('answers', CAST(NULL AS INT))").fetchall() == [(None,)]
    missing = models.sql("SELECT predict_proba('answers', x) FROM (SELECT double('NaN') AS x FROM line) t").fetchall()
    assert missing == [(None,)] * 6
    some = "SELECT predict_proba('answers', IF(x > 2, x, double('NaN'))) IS NULL, count(*) FROM line GROUP BY 1"
    assert sorted(models.sql(some).fetchall()) == [(False, 3), (True, 3)]


def test_predict_takes_numbers_and_booleans(models: sharkpy.SharkContext) -> None:
    for value in ("1", "1L", "1.0", "1.0BD", "true", "cast(1 AS FLOAT)", "cast(1 AS TINYINT)"):
        assert models.sql(f"SELECT predict('doubled', {value})").fetchall() == [(pytest.approx(3.0),)]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("call", "kind", "fact"),
    [
        ("predict('nothing', 1)", TableNotFoundError, 'no model "nothing" \\(line 1, column 8'),
        ("predict('doublet', 1)", TableNotFoundError, 'did you mean "doubled"'),
        ("predict('line', 1)", BindError, 'table "line" holds no model'),
        ("predict('doubled')", TypeMismatchError, 'model "doubled" takes 1 features \\(x\\), and 0 are given'),
        ("predict('clouds', 1)", TypeMismatchError, 'model "clouds" takes 2 features \\(x, y\\), and 1 is given'),
        ("predict('clouds', 1, 'a')", TypeMismatchError, 'feature "y" of the model "clouds" is a number, and \'a\''),
        ("predict('clouds', array(1), 2)", TypeMismatchError, 'feature "x" .* array<int>'),
        ("predict(kind, 1) FROM points", TypeMismatchError, "the first argument of predict is the name of a model"),
        ("predict()", TypeMismatchError, "the first argument of predict is the name of a model"),
        ("predict(1, 2)", TypeMismatchError, "the first argument of predict is the name of a model"),
        ("predict_proba('doubled', 1)", BindError, "LinearRegression has no predict_proba"),
    ],
)
@pytest.mark.parametrize("context", ["driver"], indirect=True)  # nothing is run: no tasks to differ
def test_wrong_calls(models: sharkpy.SharkContext, call: str, kind: type[SharkError], fact: str) -> None:
    with pytest.raises(kind, match=fact) as caught:
        models.sql(f"SELECT {call}")
    assert caught.value.line == 1


@pytest.mark.variants(2)
def test_a_model_that_is_replaced_counts_at_once(models: sharkpy.SharkContext) -> None:
    query = "SELECT predict('doubled', 10)"
    for _ in range(2):
        assert models.sql(query).fetchall() == [(pytest.approx(21.0),)]
    models.sql("CREATE VIEW predicted AS SELECT predict('doubled', 10) AS p").close()
    model = LinearRegression().fit(X, X[:, 0] * 5, features=["x"])
    models.save_model(model, "doubled", replace=True)
    assert models.sql(query).fetchall() == [(pytest.approx(50.0),)]
    assert models.sql("SELECT p FROM predicted").fetchall() == [(pytest.approx(50.0),)]
    models.sql("DROP VIEW predicted").close()
    models.sql("DROP TABLE doubled").close()
    with pytest.raises(TableNotFoundError, match='no model "doubled"'):
        models.sql(query)


def test_models_from_python(context: sharkpy.SharkContext) -> None:
    model = KMeans(2).fit(X, features=["x"])
    context.save_model(model, "default.Mine")
    loaded = context.load_model("mine")
    assert isinstance(loaded, KMeans)
    assert (loaded.cluster_centers_ == model.cluster_centers_).all()
    assert context.sql("SELECT predict('MINE', 4.5)").fetchall() == [(int(model.predict([[4.5]])[0]),)]
    with pytest.raises(TableExistsError, match='table "mine" already exists'):
        context.save_model(model, "mine")
    with pytest.raises(NotFittedError):
        context.save_model(KMeans(2), "other")
    with pytest.raises(BindError, match='table "line" holds no model'):
        context.load_model("line")
    with pytest.raises(TableNotFoundError):
        context.load_model("nowhere")


@pytest.mark.variants(2)
def test_a_table_with_predictions(models: sharkpy.SharkContext) -> None:
    model = models.load_model("doubled")
    table = model.predict(models.sql2rdd("SELECT x AS X, y FROM line"))
    assert table.columns == ("x", "y", "prediction")
    assert [row.prediction for row in table.collect()] == pytest.approx([row.y for row in table.collect()])
    with pytest.raises(BindError, match='the table has a column "prediction" already'):
        model.predict(table)
    with pytest.raises(ColumnNotFoundError, match='the table has no column "x", a feature of the LinearRegression'):
        model.predict(models.sql2rdd("SELECT y FROM line"))
    with pytest.raises(TypeMismatchError, match='the feature "x" of the LinearRegression is a number, and'):
        model.predict(models.sql2rdd("SELECT s AS x FROM texts"))


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("call", "kind", "fact"),
    [
        ("KMeans(points, 7)", DataError, "7 clusters of 6 rows"),
        ("KMeans(points, 0)", ParameterError, '"n_clusters" of KMeans'),
        ("KMeans(points, 'two')", ParameterError, '"n_clusters" of KMeans'),
        ("KMeans(2)", TypeMismatchError, '"data" of the function kmeans is a table, and 2 is given'),
        ("KMeans(points, points)", SharkError, "n_clusters"),
        (
            "KMeans(points, 2, clusters => 3)",
            BindError,
            'kmeans has no parameter "clusters".*did you mean "n_clusters"',
        ),
        ("KMeans(points, 2, 3)", BindError, "too many positional arguments; call kmeans\\(data table, n_clusters"),
        ("KMeans(points, 2, features => array('z'))", ColumnNotFoundError, 'no column "z"'),
        ("KMeans(points, 2, features => 'x')", TypeMismatchError, '"features" .* array<string>'),
        ("KMeans(texts, 1)", DataError, "without numeric columns"),
        ("KMeans(gaps, 1)", DataError, 'column "x" has 1 missing value'),
        ("KMeans(gaps, 1, na => 'maybe')", ParameterError, "maybe"),
        ("LinearRegression(line)", BindError, "missing a required argument: 'label'"),
        ("LinearRegression(line, 'z')", ColumnNotFoundError, 'no column "z"'),
        ("LogisticRegression((SELECT x, 'no' AS y FROM line), 'y')", DataError, "class"),
        ("LinearRegression((SELECT *, 1 AS prediction FROM line), 'y', features => array('x'))", BindError, "already"),
    ],
)
def test_bad_input_leaves_nothing(context: sharkpy.SharkContext, call: str, kind: type[SharkError], fact: str) -> None:
    with_model = f"{call[:-1]}, model => 'kept')"
    for text in (f"GENERATE {call}", f"GENERATE {with_model} AS TABLE made", f"GENERATE {with_model}"):
        with pytest.raises(kind, match=fact) as caught:
            context.sql(text).fetchall()
        assert "\n" not in str(caught.value)
    assert {name for (name,) in context.sql("SHOW TABLES")} == set(TABLES)


def test_names_that_are_taken(context: sharkpy.SharkContext) -> None:
    for call in (
        "KMeans(points, 2, model => 'line')",
        "KMeans(points, 2, model => 'default.line') AS made",
        "KMeans(points, 2, model => 'made') AS TABLE Made",
        "KMeans(points, 2, model => 'kept') AS line",
    ):
        with pytest.raises(TableExistsError):
            context.sql(f"GENERATE {call}")
    with pytest.raises(SharkError, match="nowhere"):
        context.sql("GENERATE KMeans(points, 2, model => 'nowhere.m')")
    assert {name for (name,) in context.sql("SHOW TABLES")} == set(TABLES)


def test_a_model_that_cannot_be_kept_takes_the_result_along(
    driver: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise DataError("no room for the model")

    monkeypatch.setattr("sharkpy.ml.generate.generate_table.save_model", fails)
    with pytest.raises(DataError, match="no room"):
        driver.sql("GENERATE KMeans(points, 2, model => 'kept') AS TABLE made")
    assert {name for (name,) in driver.sql("SHOW TABLES")} == set(TABLES)


def test_models_stay_with_the_warehouse(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path) as context:
        context.save_model(LinearRegression().fit(X, X[:, 0] * 2, features=["x"]), "kept")
    with sharkpy.connect("local[2]", tmp_path) as context:
        assert context.sql("SELECT predict('kept', 4)").fetchall() == [(pytest.approx(8.0),)]


def test_a_damaged_model(driver: sharkpy.SharkContext) -> None:
    driver.sql("CREATE TABLE damaged (x INT) TBLPROPERTIES ('shark.model' = '{\"format\": 1}')").close()
    try:
        with pytest.raises(BindError):
            driver.sql("SELECT predict('damaged', 1)")
        with pytest.raises(SharkError):
            driver.load_model("damaged")
    finally:
        driver.sql("DROP TABLE damaged").close()


def test_a_model_is_there_when_the_answer_begins(context: sharkpy.SharkContext) -> None:
    """Reading the rows, or not reading them, changes nothing about the model."""
    context.sql("GENERATE LinearRegression(line, 'y', model => 'unread')").close()
    ((answer,),) = context.sql("SELECT round(predict('unread', 10), 6)").fetchall()
    assert answer == 21


def test_explain_names_the_model(models: sharkpy.SharkContext) -> None:
    plan = "\n".join(line for (line,) in models.sql("EXPLAIN SELECT predict('doubled', x) FROM line").fetchall())
    assert "predict('default.doubled', x#" in plan


EQUAL_POINTS = "GENERATE KMeans((SELECT 1D AS x FROM line), 2)"


def test_a_warning_is_a_notice_to_those_who_listen(context: sharkpy.SharkContext) -> None:
    heard: list[str | None] = []
    remove = context.add_progress_listener(lambda progress: heard.append(progress.notice))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        context.sql(EQUAL_POINTS).fetchall()
    remove()
    assert [notice for notice in heard if notice] == [
        "1 distinct clusters were found for n_clusters=2: the data may have equal rows"
    ]
    with pytest.warns(ConvergenceWarning, match="1 distinct clusters"):
        context.sql(EQUAL_POINTS).fetchall()


def test_a_warning_is_a_notice_of_its_statement(context: sharkpy.SharkContext) -> None:
    heard: list[str | None] = []
    with context.prepare(EQUAL_POINTS, listener=lambda progress: heard.append(progress.notice)).run() as result:
        result.fetchall()
    assert any(notice and "1 distinct clusters" in notice for notice in heard)
