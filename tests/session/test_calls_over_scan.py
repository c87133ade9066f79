"""Users' functions of columns below an aggregation: the task calls them with many rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharkpy
from tests.rows import rows

SIZE = 10_000
Numbers = np.ndarray[Any, np.dtype[Any]]


def rows_at_once(column: Numbers) -> Numbers:
    return np.full(len(column), len(column), np.int64)


def halves(column: Numbers) -> Numbers:
    return column / 2


def sums(one: Numbers, other: Numbers) -> Numbers:
    return one + other


def failing(column: Numbers) -> Numbers:
    if (column == 77).any():
        raise ValueError("seventy-seven")
    return column


@pytest.fixture(scope="module", params=["driver", "RDD"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder = tmp_path_factory.mktemp("calls") / "w"
    conf: dict[str, Any] = {"shark_placement_driver": request.param == "driver", "shark_block_rows": 7000}
    with sharkpy.connect("local[2]", folder, **conf) as made:
        made.sql(
            f"""CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
            SELECT CAST(id AS INT) AS n, IF(id % 9 = 0, NULL, id * 1000) AS wide, id / 8 AS x,
            CAST(id AS DECIMAL(9, 2)) AS price, CAST(id % 3 AS STRING) AS name
            FROM (SELECT explode(sequence(0, {SIZE - 1})) AS id) numbers"""
        ).close()
        form = {"returns": "bigint", "compiled": False}
        made.register_function("rows_at_once", sharkpy.function("bigint", **form)(rows_at_once))
        made.register_function("halves", sharkpy.function("double", returns="double", compiled=False)(halves))
        made.register_function("sums", sharkpy.function("bigint", "bigint", **form)(sums))
        made.register_function("failing", sharkpy.function("bigint", **form)(failing))
        yield made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT sum(halves(x)) FROM t", [(SIZE * (SIZE - 1) / 32,)]),
        ("SELECT sum(halves(n)), sum(sums(n, wide)) FROM t", None),
        ("SELECT halves(x) > 600, count(*), min(n) FROM t GROUP BY halves(x) > 600", None),
        ("SELECT sums(n, n), count(wide) FROM t GROUP BY sums(n, n)", None),
        ("SELECT count(DISTINCT halves(wide)), sum(price) FROM t", None),
        ("SELECT name, max(halves(x)), max(halves(x)) FILTER (WHERE n < 99) FROM t GROUP BY name", None),
        ("SELECT sum(halves(price)) FROM t", [(SIZE * (SIZE - 1) / 4,)]),
    ],
)
def test_the_same_rows(session: sharkpy.SharkContext, query: str, expected: list[tuple[Any, ...]] | None) -> None:
    plain = query.replace("halves(", "(0.5D * ").replace("sums(n, wide)", "(n + wide)").replace("sums(n, n)", "(n + n)")
    found = sorted(rows(session, query), key=repr)
    assert found == (expected or sorted(rows(session, plain), key=repr))


def test_calls_have_many_rows(session: sharkpy.SharkContext) -> None:
    assert rows(session, "SELECT max(rows_at_once(n)) FROM t") == [(5000,)]
    assert rows(session, "SELECT max(rows_at_once(n)) FROM (SELECT * FROM t WHERE n < 0) x") == [(None,)]


def test_calls_that_are_not_made_for_each_row_stay_in_the_query(session: sharkpy.SharkContext) -> None:
    for query in (
        "SELECT max(failing(n)) FROM t WHERE n > 77",
        "SELECT max(IF(n > 77, failing(n), 0)) FROM t",
    ):
        (found,) = rows(session, query)
        assert found == (SIZE - 1,)
    with pytest.raises(sharkpy.errors.ExecutionError, match="seventy-seven"):
        rows(session, "SELECT max(failing(n)) FROM t")
