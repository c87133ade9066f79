"""GENERATE as text: its binding, its form in EXPLAIN, and statements of the catalog about functions."""

from __future__ import annotations

import re

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.base.settings import Conf
from sharkpy.ml.generate.relation_functions import BUILT_IN
from sharkpy.plan.commands import GenerateTable
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind
from sharkpy.udf import registry
from sharkpy.udf.function import Varying
from sharkpy.values.value_text import format_value
from tests.sql.memory_catalog import make_catalog

_CATALOG = make_catalog()


def _bound(text: str) -> GenerateTable:
    command = bind(text, _CATALOG, Conf(), "default")
    assert isinstance(command, GenerateTable)
    return command


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("generate kmeans(t, 3) as table z", ("default", "z")),
        ("GENERATE KMeans(t, 3) AS z", ("default", "z")),
        ("generate kmeans(t, 3) as table other.z", ("other", "z")),
        ("generate kmeans(t, 3)", (None, None)),
    ],
)
def test_result(text: str, target: tuple[str | None, str | None]) -> None:
    command = _bound(text)
    assert (command.database, command.name) == target
    assert command.function == "kmeans"
    assert command.yields_rows is (target[1] is None)


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        ("t", LogicalPlan),
        ("`t`", LogicalPlan),
        ("other.t", LogicalPlan),
        ("(select a from t)", LogicalPlan),
        ("((select a from t))", LogicalPlan),
        ("(with w as (select a from t) select * from w)", LogicalPlan),
        ("(from t select a)", LogicalPlan),
        ("(values (1), (2))", LogicalPlan),
        ("1", Expr),
        ("-1.5e3", Expr),
        ("'text'", Expr),
        ("true", Expr),
        ("null", Expr),
        ("(1 + 2) * 3", Expr),
        ("array('a', 'b')", Expr),
        ("current_date", Expr),
    ],
)
def test_arguments(argument: str, kind: type) -> None:
    for name in (None, "it"):
        given = argument if name is None else f"{name} => {argument}"
        (one,) = _bound(f"generate kmeans({given})").arguments
        assert isinstance(one.value, kind)
        assert one.text == argument
        assert one.name == name


def test_a_function_of_rows_is_called_by_a_query() -> None:
    (one,) = _bound("generate stack(2, (select a, a + 1 from t), 3, 4)").arguments
    assert isinstance(one.value, LogicalPlan)
    assert [column.name for column in one.value.output] == ["col0", "col1"]
    assert one.text == "stack(2, (select a, a + 1 from t), 3, 4)"


def test_a_table_is_all_its_columns() -> None:
    (one,) = _bound("generate kmeans(t)").arguments
    assert isinstance(one.value, LogicalPlan)
    assert [column.name for column in one.value.output] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("text", "column", "fact"),
    [
        ("generate kmean(t)", 10, 'no function "kmean".*did you mean "kmeans"'),
        ("generate abs(t)", 10, '"abs" is not a function of whole tables'),
        ("generate count(t)", 10, '"count" is not a function of whole tables'),
        ("generate explode(t)", 10, "the function explode does not take"),
        ("generate explode(t, t)", 21, "a function of rows takes one table"),
        ("generate explode(k => t)", 18, "an argument without a name expected"),
        ("generate explode((select z from t))", 26, 'no column "z"'),
        ("generate kmeans(nowhere)", 17, "Table not found nowhere"),
        ("generate kmeans(t, other.nowhere)", 20, "Table not found other.nowhere"),
        ("generate kmeans((select z from t))", 25, 'no column "z"'),
        ("generate kmeans(t, k => a + 1)", 25, 'no column "a"'),
        ("generate kmeans(t, count(*))", 20, "aggregate count is not allowed in an argument of GENERATE"),
        ("generate kmeans((select a from t) + 1)", 17, "the parentheses of a query"),
        ("generate kmeans(t, k => 1, K => 2)", 28, 'two arguments are named "K"'),
        ("generate kmeans(t) as nowhere.z", 23, "nowhere"),
        ("select kmeans(a) from t", 8, "kmeans is of whole tables: GENERATE calls it"),
        ("select * from kmeans(t)", 15, "kmeans is of whole tables: GENERATE calls it"),
        ("select 1 from t lateral view kmeans(a) v", 30, "kmeans is of whole tables: GENERATE calls it"),
    ],
)
def test_errors_have_a_place(text: str, column: int, fact: str) -> None:
    with pytest.raises(SharkError, match=fact) as caught:
        bind(text, _CATALOG, Conf(), "default")
    assert (caught.value.line, caught.value.column) == (1, column)


def test_generate_is_no_reserved_word() -> None:
    plan = bind("select generate from (select 1 as generate) generate", _CATALOG, Conf(), "default")
    assert isinstance(plan, LogicalPlan)
    assert [column.name for column in plan.output] == ["generate"]


def test_each_built_in_function_has_its_row() -> None:
    assert set(BUILT_IN) == set(registry.relation_functions())
    for name in BUILT_IN:
        row = registry.relation_function(name)
        assert row is not None
        assert row.usage.lower().startswith(f"{name}(")
        assert row.doc
        assert row.example.lower().startswith(f"{name}(")
        assert row.answer


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_examples_give_their_columns(name: str, context: sharkpy.SharkContext) -> None:
    row = registry.relation_function(name)
    assert row is not None
    result = context.sql(row.example_statement)
    assert "\t".join(result.columns) == row.answer
    assert result.fetchall()


@pytest.mark.variants(3)
@pytest.mark.parametrize(("name", "fitted"), [("predict", "linearregression"), ("predict_proba", "logisticregression")])
def test_examples_of_predictions(name: str, fitted: str, context: sharkpy.SharkContext) -> None:
    """The models come from the examples of the fitting functions."""
    row, model = registry.special_form(name), registry.relation_function(fitted)
    assert row is not None
    assert model is not None
    assert isinstance(row.answer, Varying)
    context.sql(model.example_statement).close()
    result = context.sql(row.example_statement)
    text = format_value(result.fetchall()[0][0], next(iter(result.schema)).dtype)
    assert re.fullmatch(row.answer.pattern, text)
    assert re.fullmatch(row.answer.pattern, row.answer.sample)


def test_forms_of_explain(driver: sharkpy.SharkContext) -> None:
    call = "GENERATE KMeans((SELECT x FROM points), 2) AS z"
    for form in ("FORMATTED", "DEPENDENCY", "LOCKS", "LOGICAL", "CBO", "COST", "VECTORIZATION", "EXTENDED"):
        assert driver.sql(f"EXPLAIN {form} {call}").fetchall()
    with pytest.raises(SharkError, match="EXPLAIN AST of a statement without a query"):
        driver.sql(f"EXPLAIN AST {call}")


def test_explain(driver: sharkpy.SharkContext) -> None:
    lines = [
        line for (line,) in driver.sql("EXPLAIN GENERATE KMeans((SELECT x, y FROM points WHERE x > 1), 2) AS TABLE z")
    ]
    assert lines[0] == "== Generate kmeans =="
    assert lines[1].startswith("function: kmeans(data table, n_clusters")
    assert lines[2] == "result: table default.z"
    assert lines[3] == "argument 1: (SELECT x, y FROM points WHERE x > 1)"
    assert lines[4].startswith("== Physical plan")
    assert any("default.points" in line and "x#" in line for line in lines[5:-1])
    assert lines[-1] == "argument 2: 2"
    with pytest.raises(SharkError, match="Table not found z"):
        driver.sql("SELECT * FROM z")


def test_explain_analyze_runs_it(driver: sharkpy.SharkContext) -> None:
    lines = [line for (line,) in driver.sql("EXPLAIN ANALYZE GENERATE same((SELECT x FROM points))")]
    assert lines[2] == "result: rows"
    assert any(line.startswith("== Run:") for line in lines)


def test_explain_of_what_is_read_and_written(driver: sharkpy.SharkContext) -> None:
    lines = [line for (line,) in driver.sql("EXPLAIN AUTHORIZATION GENERATE KMeans(points, 2) AS z")]
    assert lines[:4] == ["INPUTS: ", "  default@points", "OUTPUTS: ", "  default@z"]


def test_functions_are_described(driver: sharkpy.SharkContext) -> None:
    names = {name for (name,) in driver.sql("SHOW FUNCTIONS")}
    assert names >= {*BUILT_IN, "same", "predict", "predict_proba"}
    (described,) = driver.sql("DESCRIBE FUNCTION KMeans").fetchall()
    assert described[0].startswith("KMeans(data, n_clusters, features => array('column', …)")
    lines = [line for (line,) in driver.sql("DESCRIBE FUNCTION EXTENDED pagerank")]
    assert lines[1:] == ["Example:", "  > GENERATE PageRank(edges);", "  vertex\trank", "Function type:BUILTIN"]
    lines = [line for (line,) in driver.sql("DESCRIBE FUNCTION EXTENDED shifted")]
    assert lines[:3] == [
        "shifted - Return x and x moved by `by`, computed by tasks.",
        "Signature: shifted(points table, by double = 1.0)",
        "Python function of whole tables, called by GENERATE",
    ]
