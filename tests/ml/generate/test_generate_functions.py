"""Users' functions of whole tables, called by GENERATE: their arguments, their results, and their errors."""

from __future__ import annotations

import re
import sys
from operator import add
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import (
    BindError,
    ExecutionError,
    SharkError,
    TableExistsError,
    TableNotFoundError,
    TypeMismatchError,
)
from sharkpy.ml import TableRDD
from sharkpy.udf.user.declare import Declared, Options
from tests.ml.generate.conftest import TABLES
from tests.ml.generate.relation_functions import ROWS

DOCUMENT = Path(__file__).parents[3] / "docs" / "ml.md"


def _rows(context: sharkpy.SharkContext, text: str) -> list[tuple[object, ...]]:
    return sorted(context.sql(text).fetchall(), key=repr)


def _names(context: sharkpy.SharkContext) -> set[str]:
    return {name for (name,) in context.sql("SHOW TABLES")}


@pytest.mark.variants(2)
def test_a_table_goes_through(context: sharkpy.SharkContext) -> None:
    with context.sql("GENERATE same(points)") as result:
        assert result.columns == ["x", "y", "kind"]
        assert len(result.fetchall()) == 6
    assert context.sql("GENERATE same((SELECT y AS a FROM points WHERE x > 1)) AS TABLE made").fetchall() == []
    assert _rows(context, "SELECT * FROM made") == [(0.0,), (20.0,), (20.0,), (22.0,)]


@pytest.mark.slow
def test_rows_are_made_by_tasks(context: sharkpy.SharkContext) -> None:
    expected = [(0.0, 2.5), (1.0, 3.5), (2.0, 4.5), (3.0, 5.5), (4.0, 6.5), (5.0, 7.5)]
    assert _rows(context, "GENERATE shifted(line, 2.5)") == expected
    context.sql("GENERATE shifted((SELECT x FROM line), by => 5 / 2) AS made")
    assert _rows(context, "SELECT x, moved FROM made") == expected


def test_a_parameter_annotated_as_rdd(driver: sharkpy.SharkContext) -> None:
    assert _rows(driver, "GENERATE with_pyspark_annotation((SELECT x FROM line WHERE x > 3))") == [(5.0,), (6.0,)]


def test_a_table_that_is_asked_for_by_its_type(context: sharkpy.SharkContext) -> None:
    assert context.sql("GENERATE several(points, 2)").fetchall() == [(6, 2)]
    with pytest.raises(TypeMismatchError, match="the argument"):
        context.sql("GENERATE several(2, points)")


def test_values_arrive_as_plain_python(driver: sharkpy.SharkContext) -> None:
    rows = driver.sql(
        "GENERATE described(points, 1, -2L, 1.5, 'a''b', true, NULL, array(1, 2.5), DATE '2020-02-29', "
        "Third => map('a', 1), line => line, sum => 1 + 1)"
    ).fetchall()
    assert rows == [
        ("points", "TableRDD"),
        ("more", "int 1"),
        ("more", "int -2"),
        ("more", "float 1.5"),
        ("more", "str ab"),
        ("more", "bool True"),
        ("more", "NoneType None"),
        ("more", "list [1.0, 2.5]"),
        ("more", "date 2020-02-29"),
        ("Third", "dict {'a': 1}"),
        ("line", "TableRDD <TableRDD x double, y double>"),
        ("sum", "int 2"),
    ]


def test_values_are_of_the_annotated_types(driver: sharkpy.SharkContext) -> None:
    arguments = "7, 1, 'a', false, 1.50, DATE '2020-01-01', array('u')"
    ((text,),) = driver.sql(f"GENERATE typed({arguments})").fetchall()
    assert text == "(7, 1.0, 'a', False, Decimal('1.50'), datetime.date(2020, 1, 1), ['u'], True)"
    ((text,),) = driver.sql(f"GENERATE typed({arguments}, TABLE => points)").fetchall()
    assert text.endswith("['u'], False)")


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", sorted(ROWS))
def test_results_of_every_kind(context: sharkpy.SharkContext, kind: str) -> None:
    expected: list[tuple[object, ...]] = [(1, "a"), (2, None)] if kind != "numpy" else [(1.0, 2.0), (3.0, 4.0)]
    assert context.sql(f"GENERATE given(points, '{kind}')").fetchall() == expected
    context.sql(f"GENERATE given(points, '{kind}') AS made").close()
    assert _rows(context, "SELECT * FROM made") == sorted(expected, key=repr)


def test_a_model_is_a_result(context: sharkpy.SharkContext) -> None:
    rows = context.sql("GENERATE fitted_line(line)").fetchall()
    assert [name for name, _ in rows] == ["x", "(intercept)"]
    context.sql("GENERATE fitted_line(line) AS TABLE made").close()
    assert [value for _, value in context.sql("SELECT * FROM made").fetchall()] == pytest.approx([2.0, 1.0])
    assert context.sql("SELECT predict('made', 10)").fetchall() == [(pytest.approx(21.0),)]


def test_the_result_goes_into_another_database(driver: sharkpy.SharkContext) -> None:
    driver.sql("CREATE DATABASE IF NOT EXISTS other").close()
    driver.sql("GENERATE same(default.line) AS TABLE other.made").close()
    assert driver.sql("SELECT count(*) FROM other.made").fetchall() == [(6,)]
    driver.sql("DROP DATABASE other CASCADE").close()


def test_a_function_of_a_module(driver: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text(
        "from sharkpy.ml import TableRDD\n\ndef first(table: TableRDD, n: int):\n    return table.take(n)\n"
    )
    driver.sql(f"CREATE FUNCTION first_rows AS 'outside.first' USING FILE '{tmp_path / 'outside.py'}'").close()
    assert len(driver.sql("GENERATE first_rows(points, 2)").fetchall()) == 2
    assert len(driver.sql("GENERATE default.first_rows(points, 3)").fetchall()) == 3
    driver.sql("DROP FUNCTION first_rows").close()
    with pytest.raises(BindError, match='no function "first_rows"'):
        driver.sql("GENERATE first_rows(points, 2)")
    assert "outside" not in sys.modules


def test_redefinition_counts_at_once(driver: sharkpy.SharkContext) -> None:
    for value in (1, 2):
        made = Declared("table", lambda table, value=value: [(value,)], Options(arguments=("table",)))
        driver.register_function("redefined", made)
        assert driver.sql("GENERATE redefined(points)").fetchall() == [(value,)]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("call", "kind", "fact"),
    [
        ("same()", BindError, "missing a required argument: 'points'; call same\\(points table\\)"),
        ("same(points, 1)", BindError, "too many positional arguments; call same"),
        ("same(1)", TypeMismatchError, '"points" of the function same is a table, and 1 is given'),
        ("same(NULL)", TypeMismatchError, '"points" of the function same is a table, and NULL is given'),
        ("same(pints => points)", BindError, 'no parameter "pints".*did you mean "points"'),
        ("same(points, POINTS => points)", BindError, "multiple values for argument 'points'"),
        ("shifted(line, 'a')", TypeMismatchError, "\"by\" of the function shifted is of type double, and 'a' is given"),
        ("shifted(line, true)", TypeMismatchError, "is of type double, and True is given"),
        ("shifted(line, line)", TypeMismatchError, "is of type double, and a table is given"),
        ("typed(1.5, 1, 'a', true, 1, DATE '2020-01-01', array('u'))", TypeMismatchError, '"number".*bigint, and 1.5'),
        ("typed(1, 1, 'a', true, 1, DATE '2020-01-01', array(1))", TypeMismatchError, '"names".*array<string>'),
        (
            "failing(points)",
            ExecutionError,
            'function "failing" raised ValueError: no TableRDD today \\(.*_deeper: raise',
        ),
        ("failing_in_sql(points)", TableNotFoundError, 'in the function "failing_in_sql": Table not found nowhere'),
        ("nothing(points)", ExecutionError, "the result of the function nothing: NoneType"),
        (
            "wrong_columns(line)",
            ExecutionError,
            "wrong_columns returned the columns x double, y double, and declares a",
        ),
        ("wrong_types(points)", ExecutionError, "wrong_types returned .* kind string, and declares .* kind int"),
        ("no_rows(points)", ExecutionError, "function no_rows: there are no rows .*returns=… of a table function"),
        ("wrong_values(points)", ExecutionError, "the result of the function wrong_values: .*one"),
        ("failing_in_tasks(line)", ExecutionError, "the result of the function failing_in_tasks: .*ZeroDivisionError"),
        ("interrupted(points)", ExecutionError, "the result of the function interrupted: .*ZeroDivisionError"),
        ("powers(points, 2)", SharkError, "the function powers does not take"),
        ("powers((SELECT 'a'), line)", BindError, "a function of rows takes one table"),
    ],
)
def test_bad_calls_leave_nothing(context: sharkpy.SharkContext, call: str, kind: type[SharkError], fact: str) -> None:
    for text in (f"GENERATE {call}", f"GENERATE {call} AS TABLE made"):
        with pytest.raises(kind, match=fact) as caught:
            context.sql(text).fetchall()
        assert "\n" not in caught.value.message
    assert _names(context) == set(TABLES)


def test_the_table_is_there_already(context: sharkpy.SharkContext) -> None:
    with pytest.raises(TableExistsError, match='table "line" already exists'):
        context.sql("GENERATE failing(points) AS line")
    assert context.sql("SELECT count(*) FROM line").fetchall() == [(6,)]


def test_a_table_function_of_rows_has_the_columns_of_a_table_as_arguments(context: sharkpy.SharkContext) -> None:
    context.sql("GENERATE powers((SELECT x FROM line WHERE x BETWEEN 2 AND 3), 1 + 1) AS TABLE powers_of_x")
    found = context.sql("SELECT * FROM powers_of_x ORDER BY value, power").fetchall()
    assert found == [(2.0, 2.0), (2.0, 4.0), (3.0, 3.0), (3.0, 9.0)]
    assert context.sql("GENERATE powers(5, 2)").fetchall() == [(5.0, 5.0), (5.0, 25.0)]
    plan = "\n".join(row[0] for row in context.sql("EXPLAIN GENERATE powers((SELECT x FROM line), 2)").fetchall())
    assert "powers((SELECT x FROM line), 2)" in plan


def test_a_scalar_function_is_none_of_tables(driver: sharkpy.SharkContext) -> None:
    driver.register_function("plus_one", sharkpy.function("double", returns="double")(lambda x: x + 1))
    with pytest.raises(BindError, match='"plus_one" is not a function of whole tables'):
        driver.sql("GENERATE plus_one(points)")
    driver.sql("CREATE TEMPORARY MACRO plus_two(x DOUBLE) x + 2").close()
    with pytest.raises(BindError, match='"plus_two" is not a function of whole tables'):
        driver.sql("GENERATE plus_two(points)")
    for query in ("SELECT same(1)", "SELECT * FROM same(1)", "SELECT 1 FROM line LATERAL VIEW same(x) t"):
        with pytest.raises(BindError, match="the function same is of whole tables: GENERATE calls it"):
            driver.sql(query)


def test_a_stream_ends_early(context: sharkpy.SharkContext) -> None:
    with context.sql("GENERATE same(points)") as result:
        assert result.fetchone() is not None
    with context.sql("GENERATE shifted(line)") as result:
        pass
    assert result.is_closed


def test_the_function_of_the_document(driver: sharkpy.SharkContext) -> None:
    (block,) = [
        one for one in re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL) if "def top_words" in one
    ]
    driver.sql("CREATE VIEW log AS SELECT 'a b a' AS line UNION ALL SELECT 'b a'").close()
    exec(compile(block, str(DOCUMENT), "exec"), {"sharkpy": sharkpy, "TableRDD": TableRDD, "add": add, "ctx": driver})
    assert driver.sql("SELECT word, n FROM words ORDER BY n DESC").fetchall() == [("a", 3), ("b", 2)]
    driver.sql("DROP VIEW log").close()
    driver.sql("DROP TABLE words").close()
