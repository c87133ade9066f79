"""Tables that texts of statements name."""

from __future__ import annotations

import pytest

from sharkpy.sql.statement_tables import statement_tables


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("SELECT * FROM a, D.B", {"a", "d.b"}, set()),
        ("SELECT x FROM a WHERE x IN (SELECT y FROM b) UNION ALL SELECT 1 FROM c", {"a", "b", "c"}, set()),
        ("WITH c AS (SELECT * FROM x) SELECT * FROM c JOIN d.c ON true", {"x", "d.c"}, set()),
        ("INSERT INTO t SELECT * FROM s", {"s"}, {"t"}),
        ("INSERT INTO t (a, b) (SELECT a, b FROM s)", {"s"}, {"t"}),
        ("INSERT INTO t VALUES (1), (2)", set(), {"t"}),
        ("INSERT OVERWRITE DIRECTORY '/x' SELECT * FROM s", {"s"}, set()),
        (
            "WITH c AS (SELECT * FROM x) INSERT OVERWRITE TABLE d.t PARTITION (p=1) SELECT * FROM c, y",
            {"x", "y"},
            {"d.t"},
        ),
        ("FROM s INSERT INTO a SELECT x INSERT INTO b SELECT y WHERE z IN (SELECT z FROM q)", {"s", "q"}, {"a", "b"}),
        ("CREATE TABLE t STORED AS PARQUET AS SELECT * FROM `Odd Name`", {"odd name"}, {"t"}),
        ("CREATE OR REPLACE TABLE t (SELECT 1 FROM z)", {"z"}, {"t"}),
        ("CREATE TABLE t ROW FORMAT SERDE 's' WITH SERDEPROPERTIES ('a'='b') AS SELECT 1 FROM u", {"u"}, {"t"}),
        ("CREATE TABLE IF NOT EXISTS t CLONE d.s", {"d.s"}, {"t"}),
        ("CREATE TABLE t (a INT)", set(), set()),
        ("CREATE VIEW v AS SELECT 1 FROM s", set(), set()),
        ("MERGE INTO t AS x USING (SELECT * FROM s) y ON x.a = y.a WHEN MATCHED THEN DELETE", {"s"}, {"t"}),
        ("MERGE INTO d.t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = 1", {"s"}, {"d.t"}),
        ("SELECT * FROM 'x.csv'", set(), set()),
        ("SELECT * FROM parquet.`/a/b`", set(), set()),
        ("DROP TABLE t", set(), set()),
        ("INSERT INTO t SELECT * FROM s WHERE (", set(), set()),
        ("", set(), set()),
    ],
)
def test_tables_of_a_text(text: str, reads: set[str], writes: set[str]) -> None:
    found = statement_tables(text)
    assert {".".join(filter(None, name)) for name in found.reads} == reads
    assert {".".join(filter(None, name)) for name in found.writes} == writes
