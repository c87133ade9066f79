"""Numbers beyond every type, if they have an answer: counts that mean all rows, indexes that no array has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy

DIGITS = "1" * 5000
HUGE = "9" * 30


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(master="local[2]", warehouse=tmp_path_factory.mktemp("warehouse")) as session:
        session.sql("CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2")
        yield session


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (f"SELECT a FROM t ORDER BY a LIMIT {HUGE}", [(1,), (2,)]),
        (f"SELECT a FROM t ORDER BY a LIMIT {HUGE} OFFSET 1", [(2,)]),
        (f"SELECT a FROM t ORDER BY a LIMIT 1 OFFSET {HUGE}", []),
        (f"SELECT a FROM t TABLESAMPLE ({HUGE} ROWS) ORDER BY a", [(1,), (2,)]),
        (f"SELECT element_at(array(1), {'9' * 18}), element_at(array(1), -{'9' * 18})", [(None, None)]),
        (f"SELECT CAST('{DIGITS}' AS INT), CAST('{DIGITS}' AS DECIMAL(38,0))", [(None, None)]),
        (f"SELECT CAST('{DIGITS}' AS DOUBLE), 1e{DIGITS}", [(float("inf"), float("inf"))]),
        (f"SELECT CAST('{DIGITS}-1' AS INTERVAL_YEAR_MONTH)", [(None,)]),
        (f"SELECT conv('{DIGITS}', 10, 16)", [("F" * 16,)]),
        (f"SELECT get_json_object('[1]', '$[{DIGITS[:900]}]')", [(None,)]),
        (f"SELECT get_json_object('{{\"a\":{DIGITS},\"b\":[1]}}', '$.b[*]')", [(None,)]),
        (f"SELECT from_json('{{\"a\":{DIGITS}}}', 'a DECIMAL(38,0)').a", [(None,)]),
        (f"SELECT to_date('{DIGITS}', 'yyyy')", [(None,)]),
    ],
)
def test_answer(context: sharkpy.SharkContext, query: str, answer: list[tuple[object, ...]]) -> None:
    assert context.sql(query).fetchall() == answer


def test_history_of_more_statements_than_there_are(context: sharkpy.SharkContext) -> None:
    assert len(context.sql(f"SHOW QUERIES LIMIT {HUGE}").fetchall()) > 1
