"""Queries that have nothing to compute are answered without DuckDB, as DuckDB answers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import pytest

import sharkpy
from sharkpy.base.errors import CancelledError
from sharkpy.execution.stages import stage_runner
from sharkpy.physical.lowering import lower_stage

CONSTANT: dict[str, list[tuple[object, ...]]] = {
    "SELECT 1": [(1,)],
    "SELECT 1 AS a, 'x' AS b, NULL AS c, -2 AS d, upper('y') AS e": [(1, "x", None, -2, "Y")],
    "SELECT * FROM (VALUES (1, 'a'), (NULL, 'b')) v (n, s)": [(1, "a"), (None, "b")],
    "SELECT 1 AS n UNION ALL SELECT 2": [(1,), (2,)],
    "SELECT count(*) FROM t": [(3,)],
    "SELECT count(*) AS n, count(s) AS m, min(k), max(s), min(d), max(ts) FROM t LIMIT 10": [
        (3, 2, 1, "b", "1.50", "2024-01-03 00:00:00")
    ],
    "SELECT max(s) AS a, max(s) AS b, 7 AS c FROM t": [("b", "b", 7)],
    "SELECT count(*) FROM t UNION ALL SELECT max(k) FROM t": [(3,), (3,)],
    "SELECT * FROM t WHERE 1 = 0": [],
    "SELECT k FROM t LIMIT 0": [],
    "SELECT k + 1, concat(s, 'x') FROM t WHERE k > 100": [],
}
QUERIES = ("SELECT k FROM t WHERE k = 2", "SELECT sum(k) FROM t", "SELECT rand() < 2", "SELECT array(1, 2)")
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,3)", "decimal(38,6)")
TYPES = (*NUMBERS, "boolean", "string", "varchar(2)", "char(4)", "binary", "date", "timestamp")


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("constants") / "w") as context:
        context.sql(
            "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT * FROM (VALUES"
            " (1, 'a', CAST(2.5 AS DECIMAL(10,2)), TIMESTAMP '2024-01-01 00:00:00'),"
            " (2, 'b', CAST(1.5 AS DECIMAL(10,2)), TIMESTAMP '2024-01-02 00:00:00'),"
            " (3, NULL, CAST(3.5 AS DECIMAL(10,2)), TIMESTAMP '2024-01-03 00:00:00')) v (k, s, d, ts)"
        ).close()
        yield context


@pytest.fixture
def without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("DuckDB is asked")

    monkeypatch.setattr(stage_runner, "task_batches", refuse)


def shown(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Decimals and times as their text."""
    return [
        tuple(value if isinstance(value, (int, str)) or value is None else str(value) for value in row) for row in rows
    ]


@pytest.mark.usefixtures("without_duckdb")
@pytest.mark.parametrize("text", CONSTANT)
def test_no_query_runs(context: sharkpy.SharkContext, text: str) -> None:
    for _ in range(2):
        result = context.sql(text)
        assert shown(result.fetchall()) == CONSTANT[text]
        assert result.profile is not None
        (stage,) = result.profile.stages
        assert (stage.placement, stage.num_tasks, stage.rows_in) == ("driver", 1, 0)
        assert stage.rows_out == len(CONSTANT[text])
        assert result.profile.physical
    record = context.history(1)[0]
    assert (record.state, record.rows_read) == ("finished", len(CONSTANT[text]))
    assert record.plan.startswith("stage 1: 1 task in the driver")


@pytest.mark.usefixtures("without_duckdb")
@pytest.mark.parametrize("text", QUERIES)
def test_others_are_computed(context: sharkpy.SharkContext, text: str) -> None:
    with pytest.raises(sharkpy.SharkError, match="DuckDB is asked"):
        context.sql(text).fetchall()


@pytest.mark.parametrize(
    "text",
    [
        *CONSTANT,
        *(f"SELECT CAST('12' AS {one}), CAST(300 AS {one}), CAST(2.675BD AS {one})" for one in NUMBERS),
        *(f"SELECT CAST(' -1.2345 ' AS {one}), CAST('x' AS {one}), CAST('' AS {one})" for one in TYPES),
        *(f"SELECT CAST('2024-02-29' AS {one}), CAST(NULL AS {one})" for one in TYPES),
        "SELECT 1Y, 2S, 3L, 4.5BD, 6.7D, 1e3, unhex('0aff'), DATE '0001-01-01', TIMESTAMP '9999-12-31 23:59:59.999999'",
        "SELECT INTERVAL '1-2' YEAR TO MONTH, INTERVAL '3' DAY, NULL, true, 1 / 0, CAST('NaN' AS DOUBLE)",
        "SELECT CAST(NULL AS array<int>), CAST(NULL AS map<int,string>), CAST(NULL AS struct<a:int,b:array<string>>)",
    ],
)
def test_answers_are_those_of_duckdb(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with context.sql(text) as result:
        here = result.to_arrow()
    monkeypatch.setattr(lower_stage, "constant_rows", lambda _: None)
    # Other settings: no plan is known.
    with context.new_session(shark_user="another") as session, session.sql(text) as result:
        there = result.to_arrow()
    assert here.schema.equals(there.schema)
    assert repr(here.to_pylist()) == repr(there.to_pylist())


def test_explain_tells_that_no_query_runs(context: sharkpy.SharkContext) -> None:
    lines = [line for (line,) in context.sql("EXPLAIN EXTENDED SELECT 1 AS one").fetchall()]
    assert lines[-2:] == ["== SQL of stage 1, the result: 1 task ==", "(rows are constants)"]
    lines = [line for (line,) in context.sql("EXPLAIN EXTENDED CREATE TABLE u AS SELECT 1 AS one").fetchall()]
    assert "(rows are constants)" not in lines
    lines = [line for (line,) in context.sql("EXPLAIN ANALYZE SELECT count(*) FROM t").fetchall()]
    assert "== Run: 1 row in" in lines[0]
    assert any("Values" in line for line in lines)


def test_a_cancel_before_the_row_ends_it(context: sharkpy.SharkContext) -> None:
    result = context.sql("SELECT 1")
    result.cancel()
    with pytest.raises(CancelledError):
        result.fetchall()
