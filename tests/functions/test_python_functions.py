"""Python functions in queries, in the driver and as RDD tasks."""

from __future__ import annotations

import decimal
import math
import threading

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ExecutionError
from sharkpy.execution.queries.plan_query import bind_text, plan_steps
from sharkpy.optimizer.decisions import Place
from tests.functions import users_functions
from tests.rows import rows

LINE = users_functions.fails.__code__.co_firstlineno + 1
"""The line that raises."""
QUERIES = [
    ("SELECT hypotenuse(3, 4), hypotenuse(NULL, 1)", [(5.0, None)]),
    (
        "SELECT id, collatz(id) FROM n ORDER BY id",
        [(None, None), (1, 0), (2, 1), (3, 7), (4, 2), (5, 5), (6, 8), (7, 16)],
    ),
    ("SELECT shown(line) FROM s ORDER BY 1", [("<>",), ("<a b c>",), ("<d>",), ("nothing",)]),
    ("SELECT joined('a'), joined('a', 'b', 'c'), joined('a', NULL)", [("a", "a-b-c", None)]),
    ("SELECT or_minus_one(id) FROM n WHERE coalesce(id, 9) > 5 ORDER BY 1", [(-1,), (6,), (7,)]),
    ("SELECT letters('hello')['l'], letters(NULL)", [(2, None)]),
    ("SELECT above_base(id) FROM n WHERE id < 3 ORDER BY 1", [(101,), (102,)]),
    ("SELECT id FROM n WHERE collatz(id) > 5 ORDER BY id", [(3,), (6,), (7,)]),
    (
        "SELECT collatz(id) % 2 AS odd, count(*) FROM n GROUP BY collatz(id) % 2 ORDER BY odd",
        [(None, 1), (0, 4), (1, 3)],
    ),
    ("SELECT a.id, b.id FROM n a JOIN n b ON collatz(a.id) = b.id ORDER BY 1", [(2, 1), (3, 7), (4, 2), (5, 5)]),
    (
        "SELECT CASE WHEN collatz(id) > 5 THEN 'long' ELSE shown(id) END FROM n WHERE id < 4 ORDER BY 1",
        [("<1>",), ("<2>",), ("long",)],
    ),
    ("SELECT sum(collatz(id)) OVER (ORDER BY id) FROM n WHERE id < 4 ORDER BY 1", [(0,), (1,), (8,)]),
    ("SELECT id FROM n ORDER BY collatz(id) DESC, id LIMIT 2", [(7,), (6,)]),
    ("SELECT max(id) FROM n HAVING max(collatz(id)) = 16", [(7,)]),
    ("SELECT count(DISTINCT ticket()) FROM n", [(8,)]),
    ("SELECT id FROM n WHERE id IN (SELECT collatz(id) FROM n) ORDER BY id", [(1,), (2,), (5,), (7,)]),
]


@pytest.mark.variants(3)
@pytest.mark.parametrize(("sql", "expected"), QUERIES, ids=range(len(QUERIES)))
def test_scalar(context: sharkpy.SharkContext, sql: str, expected: list[tuple[object, ...]]) -> None:
    assert rows(context, sql) == expected


AGGREGATES = [
    ("SELECT geometric_mean(id), count(*) FROM n", [(math.exp(math.log(5040) / 7), 8)]),
    (
        "SELECT id % 2, geometric_mean(id) FROM n WHERE id > 0 GROUP BY id % 2 ORDER BY 1",
        [(0, math.exp(math.log(48) / 3)), (1, math.exp(math.log(105) / 4))],
    ),
    ("SELECT weighted_mean(id, id) FROM n", [(140 / 28,)]),
    ("SELECT tally(), tally() + 1 FROM n", [(8, 9)]),
    ("SELECT id % 2, spread(id) FROM n WHERE id > 0 GROUP BY id % 2 ORDER BY 1", [(0, 4), (1, 6)]),
    ("SELECT tally() FROM n WHERE id > 100", [(0,)]),
    ("SELECT id, (SELECT tally() FROM n b WHERE b.id < a.id) FROM n a WHERE id < 3 ORDER BY id", [(1, 0), (2, 1)]),
    (
        "SELECT id FROM n a WHERE (SELECT geometric_mean(id) FROM n b WHERE b.id < a.id) IS NULL ORDER BY id",
        [(None,), (1,)],
    ),
    ("SELECT weighted_mean(id, 1) FILTER (WHERE id > 5) FROM n", [(6.5,)]),
    ("SELECT geometric_mean(DISTINCT id % 2 + 1) FROM n", [(math.sqrt(2),)]),
    ("SELECT geometric_mean(id), weighted_mean(id, id) FROM n WHERE id > 100", [(None, None)]),
    ("SELECT id, geometric_mean(id) FROM n WHERE id > 100 GROUP BY id", []),
    (
        "SELECT weighted_mean(id, 1) OVER (PARTITION BY id % 2) FROM n WHERE id < 4 ORDER BY id",
        [(2.0,), (2.0,), (2.0,)],
    ),
    (
        "SELECT weighted_mean(id, 1) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM n "
        "WHERE id < 4 ORDER BY id",
        [(1.0,), (1.5,), (2.5,)],
    ),
    (
        "SELECT id % 2 AS odd, weighted_mean(id, 1) FROM n WHERE id > 0 GROUP BY id % 2 WITH ROLLUP ORDER BY odd",
        [(None, 4.0), (0, 4.0), (1, 4.0)],
    ),
]


@pytest.mark.variants(3)
@pytest.mark.parametrize(("sql", "expected"), AGGREGATES, ids=range(len(AGGREGATES)))
def test_aggregate(context: sharkpy.SharkContext, sql: str, expected: list[tuple[object, ...]]) -> None:
    found = rows(context, sql)
    assert found == [tuple(pytest.approx(value) for value in row) for row in expected]


def test_aggregates_are_partial_before_exchanges(tasks: sharkpy.SharkContext) -> None:
    plan = plan_steps(
        tasks, bind_text(tasks, "SELECT id % 2, geometric_mean(id) FROM n GROUP BY id % 2"), placement=Place.RDD
    )[1].root
    assert "HashAggregate partial" in plan.explain()
    assert "HashAggregate final" in plan.explain()


TABLES = [
    ("SELECT words(line) FROM s ORDER BY 1", [("a", 0), ("b", 1), ("c", 2), ("d", 0)]),
    ("SELECT words(line) AS (w, p) FROM s WHERE line <> 'd' ORDER BY p DESC LIMIT 1", [("c", 2)]),
    (
        "SELECT line, w FROM s LATERAL VIEW words(line) t AS w, p WHERE p < 1 ORDER BY w",
        [("a b c", "a"), ("d", "d")],
    ),
    (
        "SELECT line, w FROM s LATERAL VIEW OUTER words(line) t AS w, p ORDER BY line, w",
        [(None, None), ("", None), ("a b c", "a"), ("a b c", "b"), ("a b c", "c"), ("d", "d")],
    ),
    (
        "SELECT w, c FROM s LATERAL VIEW words(line) t AS w, p LATERAL VIEW explode(array(p, 7)) u AS c "
        "WHERE w = 'b' ORDER BY c",
        [("b", 1), ("b", 7)],
    ),
    (
        "SELECT w, count(*) FROM s LATERAL VIEW words(concat(line, ' a')) t AS w, p GROUP BY w ORDER BY w LIMIT 1",
        [("a", 4)],
    ),
    ("SELECT words('x y')", [("x", 0), ("y", 1)]),
    ("SELECT running_count(1)", [(1,), (1,)]),
    ("SELECT parts('a,b,c')", [("a", 0), ("b", 1)]),
    ("SELECT part, n FROM (SELECT parts('a b c', 3, ' ')) t WHERE n > 0 ORDER BY n", [("b", 1), ("c", 2)]),
    ("SELECT line, p FROM s LATERAL VIEW parts(line, 1) t AS p, n WHERE line = 'd'", [("d", "d")]),
    ("SELECT countdown(3)", [(3,), (2,), (1,)]),
    ("SELECT countdown(3, 2)", [(3,), (1,)]),
]


@pytest.mark.variants(3)
@pytest.mark.parametrize(("sql", "expected"), TABLES, ids=range(len(TABLES)))
def test_table_function(context: sharkpy.SharkContext, sql: str, expected: list[tuple[object, ...]]) -> None:
    assert rows(context, sql) == expected


def test_rows_at_the_end_of_each_task(context: sharkpy.SharkContext) -> None:
    found = rows(context, "SELECT running_count(id) FROM n")
    assert sum(value for (value,) in found) == 16  # type: ignore[misc]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("function", "sqlstate", "said"),
    [
        (
            users_functions.fails,
            "38000",
            rf'function "bad" raised ValueError: no luck .*users_functions\.py, line {LINE}\)',
        ),
        (users_functions.too_short, "39000", "returned [12] values for [0-9] rows"),
        (users_functions.wrong_type, "39000", "returned a value that is not bigint: its values are string"),
        (users_functions.fraction, "39000", "returned a value that is not bigint: Float value .* was truncated"),
    ],
    ids=["fails", "too_short", "wrong_type", "fraction"],
)
def test_failures(context: sharkpy.SharkContext, function: object, sqlstate: str, said: str) -> None:
    context.register_function("bad", function)  # type: ignore[arg-type]
    with pytest.raises(ExecutionError, match=said) as raised:
        context.sql("SELECT bad(id) FROM n").fetchall()
    assert raised.value.sqlstate == sqlstate
    assert "\n" not in raised.value.message


def test_compiled_division_by_zero_is_told_as_python_does(context: sharkpy.SharkContext) -> None:
    assert rows(context, "SELECT divided(id, 2) FROM n WHERE id = 3") == [(1.5,)]
    with pytest.raises(ExecutionError, match='function "divided" raised ZeroDivisionError'):
        context.sql("SELECT divided(id, id - 3) FROM n").fetchall()


def test_rows_of_a_wrong_width(context: sharkpy.SharkContext) -> None:
    context.register_function("too_wide", users_functions.too_wide)
    with pytest.raises(ExecutionError, match="yielded 3 values for 2 columns"):
        context.sql("SELECT too_wide(id) FROM n").fetchall()


CALLS = [
    ("SELECT hypotenuse(1)", "42804", r"the function hypotenuse does not take \(int\)"),
    ("SELECT hypotenuse(1, array(1))", "42804", "does not take"),
    ("SELECT geometric_mean() FROM n", "42804", "the function geometric_mean does not take"),
    ("SELECT id FROM n WHERE geometric_mean(id) > 1", "42803", "the aggregate geometric_mean is not allowed in WHERE"),
    ("SELECT hypotenuse(1, 2) OVER () FROM n", "42000", "hypotenuse is not a window function"),
    ("SELECT words(line) + 1 FROM s", "42000", "the table function words must be the only item"),
    ("SELECT hypotenus(1, 2)", "42883", 'no function "hypotenus"'),
    ("SELECT nowhere.twice(1)", "42883", 'no function "nowhere.twice"'),
]


@pytest.mark.parametrize(("sql", "sqlstate", "said"), CALLS, ids=range(len(CALLS)))
def test_wrong_calls(driver: sharkpy.SharkContext, sql: str, sqlstate: str, said: str) -> None:
    with pytest.raises(BindError, match=said) as raised:
        driver.sql(sql)
    assert raised.value.sqlstate == sqlstate


def test_what_cannot_be_shipped(driver: sharkpy.SharkContext) -> None:
    lock = threading.Lock()

    def locked(n: int) -> int:
        return n if lock else 0

    with pytest.raises(BindError, match='function "locked" cannot be shipped to tasks: cannot pickle'):
        driver.register_function("locked", locked)


def test_types_may_be_given_beside_the_function(driver: sharkpy.SharkContext) -> None:
    driver.register_function("doubled", lambda x: x * 2, returns="decimal(12,2)", arguments=["decimal(10,2)"])
    assert rows(driver, "SELECT doubled(1.25)") == [(decimal.Decimal("2.50"),)]


def test_fields_of_structs_go_by_name_whatever_its_case(driver: sharkpy.SharkContext) -> None:
    returns = "struct<userId:bigint,parts:array<struct<Name:string>>>"
    driver.register_function(
        "made",
        sharkpy.function(lambda n: {"USERID": n, "parts": [{"Name": "x"}]}, form="row"),
        returns=returns,
        arguments=["bigint"],
    )
    driver.register_function(
        "odd", sharkpy.function(lambda n: {"usrId": n}, form="row"), returns=returns, arguments=["bigint"]
    )
    assert rows(driver, "SELECT made(5L).userid, made(5L).parts[0].name") == [(5, "x")]
    with pytest.raises(ExecutionError, match='has no field "usrid"'):
        driver.sql("SELECT odd(5L)").fetchall()


def test_a_function_is_one_session_s_own(driver: sharkpy.SharkContext) -> None:
    other = driver.new_session()
    with pytest.raises(BindError, match='no function "collatz"'):
        other.sql("SELECT collatz(1)")
    other.register_function("collatz", lambda n: n, returns="bigint", arguments=["bigint"])
    sql = "SELECT collatz(7)"
    assert [rows(session, sql) for session in (driver, other, driver)] == [[(16,)], [(7,)], [(16,)]]


def test_a_function_is_replaced(driver: sharkpy.SharkContext) -> None:
    for factor in (2, 3):
        driver.register_function("scaled", lambda x, factor=factor: x * factor, "bigint", ["bigint"])
        assert rows(driver, "SELECT scaled(id) FROM n WHERE id = 2") == [(2 * factor,)]


@pytest.mark.variants(2)
def test_hive_partitions_and_files_are_pruned_by_a_function(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE parts (v INT) PARTITIONED BY (p INT)")
    context.sql("INSERT INTO parts PARTITION (p) SELECT id * 10, id FROM n WHERE id IS NOT NULL")
    try:
        assert rows(context, "SELECT v FROM parts WHERE collatz(p) > 7 ORDER BY v") == [(60,), (70,)]
        assert rows(context, "SELECT v FROM parts WHERE p = collatz(8) AND above_base(v) > 100 ORDER BY v") == [(30,)]
        context.sql("INSERT OVERWRITE TABLE parts PARTITION (p=1) SELECT collatz(v) FROM parts WHERE p = 3")
        assert rows(context, "SELECT v FROM parts WHERE p = 1") == [(18,)]
    finally:
        context.sql("DROP TABLE parts")


def test_explain_names_functions(driver: sharkpy.SharkContext) -> None:
    plan = "\n".join(
        text for (text,) in rows(driver, "EXPLAIN SELECT collatz(id), words('a') FROM n WHERE collatz(id) > 1")
    )
    assert "where (collatz(cast(id#" in plan
    assert "Step words" in plan
    assert "@" not in plan


def test_explain_analyze(context: sharkpy.SharkContext) -> None:
    plan = "\n".join(
        text for (text,) in rows(context, "EXPLAIN ANALYZE SELECT w FROM s LATERAL VIEW words(line) t AS w, p")
    )
    assert "Step words" in plan


def test_written_tables_are_made_with_functions(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE made AS SELECT id, collatz(id) AS steps FROM n WHERE id IS NOT NULL")
    context.sql("INSERT INTO made SELECT 8, collatz(8)")
    assert rows(context, "SELECT sum(steps) FROM made") == [(42,)]
    context.sql("DROP TABLE made")
