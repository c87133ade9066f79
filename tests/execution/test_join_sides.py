"""The side of a join that DuckDB builds if it cannot know the rows of its inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import sharkpy
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings

_SQL = """
    SELECT sum(v) FROM facts
    JOIN (SELECT names.k, v FROM names JOIN kinds ON names.g = kinds.g WHERE v > 0) USING (k)
"""


def stream(**columns: list[int]) -> pa.RecordBatchReader:
    table = pa.table(columns)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def scans(operator: dict[str, Any]) -> Iterator[object]:
    """Columns of each scan below an operator, left sides first: a join builds its right side."""
    for child in operator["children"]:
        yield from scans(child)
    if "SCAN" in operator["name"]:
        yield operator["extra_info"]["Projections"]


def test_the_right_side_is_built(tmp_path: Path) -> None:
    """The planner puts the side with fewer rows there. Its filter lets DuckDB, which takes each stream for a row, guess
    that it has none less than the others.
    """
    pool = ConnectionPool(ConnectionSettings(1, 512 << 20, str(tmp_path)))
    with pool.in_order(keeps_sides=True).borrow() as cursor:
        cursor.register("facts", stream(k=list(range(100_000))))
        cursor.register("names", stream(k=[1, 2], g=[1, 2]))
        cursor.register("kinds", stream(g=[1, 2], v=[1, 2]))
        ((_, plan),) = cursor.execute(f"EXPLAIN (FORMAT JSON) {_SQL}").fetchall()
    pool.close()
    assert list(scans(json.loads(plan)[0])) == ["k", ["k", "g"], ["g", "v"]]


def test_the_side_with_fewer_rows_is_built_where_they_are_known(tmp_path: Path) -> None:
    pool = ConnectionPool(ConnectionSettings(1, 512 << 20, str(tmp_path), keeps_join_order=True))
    with pool.borrow() as cursor:
        cursor.register("names", pa.table({"k": [1, 2], "g": [1, 2]}))
        cursor.register("facts", pa.table({"k": list(range(100_000))}))
        ((_, plan),) = cursor.execute("EXPLAIN (FORMAT JSON) SELECT sum(g) FROM names JOIN facts USING (k)").fetchall()
    pool.close()
    assert list(scans(json.loads(plan)[0])) == ["k", ["k", "g"]]


def test_joins_keep_their_order_if_one_of_them_multiplies_rows(tmp_path: Path) -> None:
    """DuckDB expects that each key of a join is one row's, so it would join the days to all goods first."""
    with sharkpy.connect("local[1]", tmp_path) as context:
        for name, columns, rows in (
            ("days", "id AS day, id DIV 100 AS week", 1_400),
            ("goods", "id % 1400 AS day, id DIV 1400 AS item", 14_000),
            ("sales", "id * 3 % 1400 AS day, id % 10 AS item", 140_000),
        ):
            cached = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
            context.sql(f"CREATE TABLE {name} {cached} AS SELECT {columns} FROM range({rows}) AS t (id)").close()
        sql = """
            SELECT count(*), count(DISTINCT d1.day) FROM sales JOIN goods ON sales.item = goods.item
            JOIN days d1 ON sales.day = d1.day JOIN days d2 ON goods.day = d2.day
            WHERE d1.week = d2.week AND d1.day < 100"""
        assert context.sql(sql).fetchall() == [(1_000_000, 100)]
        measured = "\n".join(line for (line,) in context.sql(f"EXPLAIN ANALYZE {sql}").fetchall())
    assert "another order" not in measured
