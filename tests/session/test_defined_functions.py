"""The functions of lowered SQL are defined when a query first needs them."""

from __future__ import annotations

from sharkpy.session.shark_context import SharkContext


def test_a_query_defines_what_it_calls(context: SharkContext) -> None:
    context.sql("CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 1 AS k, 'ab' AS s").close()
    context.engine.pool.close()  # the next query has a new database
    functions = context.engine.pool._functions
    assert context.sql("SELECT k FROM t WHERE k = 1").fetchall() == [(1,)]
    assert context.engine.pool._functions is not functions
    functions = context.engine.pool._functions
    assert (functions.names, functions.has_all) == (set(), False)
    assert context.sql("SELECT CAST(k / 4 AS STRING) FROM t").fetchall() == [("0.25",)]
    assert "shark_double_text" in functions.names
    assert len(functions.names) < 10
    assert context.sql("SELECT a.k FROM t a JOIN t b ON a.k = b.k").fetchall() == [(1,)]
    assert context.sql("SELECT s RLIKE 'b$', soundex(s), k / 7 FROM t").fetchone() == (True, "A100", 1 / 7)
