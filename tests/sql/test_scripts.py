"""SELECT TRANSFORM, MAP and REDUCE as plans."""

from __future__ import annotations

import pytest

from sharkpy.base.errors import ParseError
from sharkpy.base.settings import Conf
from sharkpy.plan.logical import Distribute, Project, Sort, Step
from sharkpy.plan.row_steps import DELIMITED_JSON, Script
from sharkpy.sql.binder import bind
from sharkpy.values.types import INT, STRING, ArrayType, DecimalType
from tests.sql.memory_catalog import make_catalog, plan_of


def step_of(text: str) -> tuple[Step, Script]:
    step = next(node for node in plan_of(text).walk() if isinstance(node, Step))
    assert isinstance(step.step, Script)
    return step, step.step


@pytest.mark.parametrize(
    "text",
    [
        "SELECT TRANSFORM(a, b) USING 'cat' AS (x INT, y STRING) FROM t",
        "select transform (a, b) using 'cat' as x int, y string from t",
        "FROM t SELECT TRANSFORM(a, b) USING 'cat' AS (x INT, y STRING)",
        "FROM t MAP a, b USING 'cat' AS (x INT, y STRING)",
        "FROM t REDUCE t.a, t.b USING 'cat' AS (x INT, y STRING)",
        "MAP a, b USING 'cat' AS (x INT, y STRING) FROM t",
    ],
)
def test_ways_to_write_a_script(text: str) -> None:
    step, script = step_of(text)
    assert [(column.name, column.dtype) for column in step.columns] == [("x", INT), ("y", STRING)]
    assert [argument.name for argument in step.arguments] == ["a", "b"]  # type: ignore[attr-defined]
    assert (script.command, script.names, script.output_names) == ("cat", ("a", "b"), ("x", "y"))


def test_without_columns_they_are_key_and_the_rest() -> None:
    step, script = step_of("SELECT TRANSFORM(a) USING 'cat' FROM t")
    assert [column.name for column in step.columns] == ["key", "value"]
    assert ("serialization.last.column.takes.rest", "true") in script.read.properties
    assert script.written.name == DELIMITED_JSON


def test_types_of_columns() -> None:
    step, _ = step_of("SELECT TRANSFORM(a) USING 'cat' AS (a ARRAY<ARRAY<INT>>, b DECIMAL(5,2) COMMENT 'x') FROM t")
    assert [column.dtype for column in step.columns] == [ArrayType(ArrayType(INT)), DecimalType(5, 2)]


@pytest.mark.parametrize(
    ("written", "command"),
    [
        (r"'tr \t _'", r"tr \t _"),
        (r"'awk \'{print $1}\''", "awk '{print $1}'"),
        ('''"awk '{print $1}'"''', "awk '{print $1}'"),
        (r"'sed s/a\\b/c/'", r"sed s/a\\b/c/"),
    ],
)
def test_escapes_of_a_command_are_its_own(written: str, command: str) -> None:
    assert step_of(f"SELECT TRANSFORM(a) USING {written} AS x FROM t")[1].command == command


def test_order_is_that_of_what_the_script_gives() -> None:
    plan = plan_of("FROM t MAP a USING 'cat' AS (x INT) CLUSTER BY x")
    match plan:
        case Sort(Distribute(Step() as step, (key,)), (sort_key,), False):
            assert key == sort_key.expr == step.columns[0]
        case _:
            pytest.fail(plan.explain())


def test_what_stands_below_is_the_rest_of_the_select() -> None:
    step, _ = step_of("SELECT TRANSFORM(b, count(*)) USING 'cat' AS (x, y) FROM t WHERE a > 1 GROUP BY b")
    assert isinstance(step.child, Project)
    assert "Aggregate by [b" in step.child.explain()
    assert "Filter (a" in step.child.explain()


def test_row_formats() -> None:
    text = (
        "SELECT TRANSFORM(a) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' NULL DEFINED AS '-' USING 'cat'"
        " AS (x INT) ROW FORMAT SERDE 'org.apache.hive.hcatalog.data.JsonSerDe' FROM t"
    )
    _, script = step_of(text)
    assert script.written.name == "text"
    assert dict(script.written.properties) == {"field.delim": "|", "serialization.null.format": "-"}
    assert script.read.name == "json"


def test_settings_of_scripts() -> None:
    text = "SELECT TRANSFORM(a) USING 'cat' AS x FROM t"
    conf = Conf(
        {
            "hive.exec.script.wrapper": "nice -n 5",
            "hive.exec.script.allow.partial.consumption": "true",
            "my.own-key": "v",
            "shark.driver.memory": "1g",
        }
    )
    plan = bind(text, make_catalog(), conf, "default")
    assert isinstance(plan, Step)
    assert isinstance(plan.step, Script)
    assert plan.step.command == "nice -n 5 cat"
    assert plan.step.may_leave_rows
    environment = dict(plan.step.environment)
    assert environment["my_own_key"] == "v"
    assert "shark_driver_memory" not in environment


def test_scripts_of_a_statement_have_names_of_their_own() -> None:
    text = "SELECT TRANSFORM(a) USING 'cat' AS x FROM t UNION ALL SELECT TRANSFORM(a) USING 'cat' AS x FROM t"
    names = {
        dict(node.step.environment)["HIVE_SCRIPT_OPERATOR_ID"]
        for node in plan_of(text).walk()
        if isinstance(node, Step) and isinstance(node.step, Script)
    }
    assert len(names) == 2


def test_words_that_begin_no_script() -> None:
    plan_of("SELECT map('a', 1), transform(array(1), x -> x + 1) FROM t")
    plan_of("SELECT CAST(NULL AS MAP<STRING,INT>) FROM t JOIN u USING (a)")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT TRANSFORM(a) USING cat FROM t", (1, 27)),
        ("SELECT TRANSFORM(a USING 'cat' FROM t", (1, 20)),
        ("SELECT TRANSFORM(a) USING 'cat' AS FROM t", (1, 41)),
        ("FROM t MAP a USING 'cat' AS (x INT, y)", (1, 37)),
        ("FROM t MAP USING 'cat' AS x", (1, 12)),
    ],
)
def test_places_of_errors(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(ParseError) as raised:
        plan_of(text)
    assert (raised.value.line, raised.value.column) == place
