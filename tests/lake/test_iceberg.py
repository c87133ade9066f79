"""Tables of Iceberg in the warehouse's own catalog: made, written, read, and followed while other programs write."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import pyarrow as pa

import sharkpy
from sharkpy.base.errors import BindError, TableExistsError, TableNotFoundError, UnsupportedError
from tests.lake.tables import as_tuples, own_catalog, run
from tests.rows import rows


def test_a_table_is_made_and_written(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE made (id BIGINT COMMENT 'number', name STRING, at TIMESTAMP, d DECIMAL(10,2), "
        "tags ARRAY<STRING>, s STRUCT<a:INT,b:STRING>, m MAP<STRING,INT>) STORED BY ICEBERG",
        "INSERT INTO made VALUES (1, 'a', TIMESTAMP '2026-01-01 00:00:00', 1.5, array('x'), "
        "named_struct('a', 1, 'b', 'q'), map('k', 1)), (2, NULL, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO made SELECT 3, 'c', NULL, 2.25, array(), NULL, map()",
    )
    assert rows(context, "SELECT id, name, d, tags, s.b, m['k'] FROM made ORDER BY id") == [
        (1, "a", Decimal("1.50"), ["x"], "q", 1),
        (2, None, None, None, None, None),
        (3, "c", Decimal("2.25"), [], None, None),
    ]
    assert rows(context, "SELECT count(*) FROM made") == [(3,)]
    found = own_catalog(context).load_table("default.made")
    assert found.scan().to_arrow().num_rows == 3
    assert [field.doc for field in found.schema().fields][:1] == ["number"]


def test_another_program_reads_and_writes_it(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE shared STORED BY ICEBERG AS SELECT id, id * 2 AS twice FROM range(10)")
    found = own_catalog(context).load_table("default.shared")
    assert sorted(as_tuples(found.scan().to_arrow())) == [(i, 2 * i) for i in range(10)]
    schema = pa.schema([("id", pa.int64()), ("twice", pa.int64())])
    found.append(pa.table({"id": [100], "twice": [200]}, schema))
    assert rows(context, "SELECT max(id), count(*) FROM shared") == [(100, 11)]
    found.delete("id < 5")
    assert rows(context, "SELECT min(id), count(*) FROM shared") == [(5, 6)]


def test_overwrite_and_truncate(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE whole (a INT) USING iceberg", "INSERT INTO whole VALUES (1), (2)")
    run(context, "INSERT OVERWRITE whole SELECT a + 10 FROM whole")
    assert rows(context, "SELECT a FROM whole ORDER BY a") == [(11,), (12,)]
    run(context, "TRUNCATE TABLE whole")
    assert rows(context, "SELECT count(*) FROM whole") == [(0,)]


def test_snapshots_and_time_travel(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE past (a INT) STORED BY ICEBERG",
        "INSERT INTO past VALUES (1)",
        "INSERT INTO past VALUES (2)",
    )
    found = rows(context, "SELECT snapshot_id, parent_id, operation, summary['added-records'] FROM past.snapshots")
    first, second = (row[0] for row in found)
    assert [row[1:] for row in found] == [(None, "append", "1"), (first, "append", "1")]
    assert rows(context, f"SELECT a FROM past FOR SYSTEM_VERSION AS OF {first}") == [(1,)]
    assert rows(context, f"SELECT a FROM past VERSION AS OF {first}") == [(1,)]
    assert rows(context, f"SELECT a FROM past VERSION AS OF {second} ORDER BY a") == [(1,), (2,)]
    assert rows(context, "SELECT count(*) FROM past VERSION AS OF 'main'") == [(2,)]
    assert rows(context, "SELECT count(*) FROM default.past.files") == [(2,)]
    assert rows(context, f"SELECT count(*) FROM past.files VERSION AS OF {first}") == [(1,)]
    assert rows(context, "SELECT is_current_ancestor FROM past.history") == [(True,), (True,)]
    assert rows(context, "SELECT name, type FROM past.refs") == [("main", "BRANCH")]
    moment = rows(context, "SELECT max(committed_at) FROM past.snapshots")[0][0]
    assert rows(context, f"SELECT count(*) FROM past FOR SYSTEM_TIME AS OF '{moment}Z'") == [(2,)]
    with pytest.raises(BindError, match="has no snapshot version 7") as error:
        context.sql("SELECT * FROM past VERSION AS OF 7")
    assert error.value.sqlstate == "22023"
    with pytest.raises(BindError, match="has no snapshot time"):
        context.sql("SELECT * FROM past TIMESTAMP AS OF '2001-01-01 00:00:00'")


def test_files_are_pruned_by_the_figures_of_manifests(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE pruned (a INT, s STRING) STORED BY ICEBERG")
    for start in (0, 100, 200):
        context.sql(f"INSERT INTO pruned SELECT id, concat('s', id) FROM range({start}, {start + 100})")
    plan = "\n".join(row[0] for row in rows(context, "EXPLAIN SELECT * FROM pruned WHERE a = 150"))
    assert "1 of 3 files" in plan
    assert rows(context, "SELECT s FROM pruned WHERE a = 150") == [("s150",)]
    assert rows(context, "SELECT count(*) FROM pruned WHERE a >= 1000") == [(0,)]
    assert rows(context, "SELECT count(*) FROM pruned WHERE s LIKE 's25%'") == [(11,)]


def test_columns_change(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE columns (a INT, b STRING, c FLOAT) STORED BY ICEBERG",
        "INSERT INTO columns VALUES (1, 'x', 1.5)",
        "ALTER TABLE columns ADD COLUMNS (d STRING COMMENT 'new')",
        "ALTER TABLE columns CHANGE a first BIGINT",
        "ALTER TABLE columns CHANGE c c DOUBLE FIRST",
        "INSERT INTO columns VALUES (2.5, 20000000000, 'y', 'z')",
    )
    assert rows(context, "SELECT * FROM columns ORDER BY first") == [
        (1.5, 1, "x", None),
        (2.5, 20_000_000_000, "y", "z"),
    ]
    run(
        context,
        "ALTER TABLE columns REPLACE COLUMNS (first BIGINT, d STRING)",
        "ALTER TABLE columns ADD COLUMNS (b STRING)",
    )
    assert rows(context, "SELECT * FROM columns ORDER BY first") == [(1, None, None), (20_000_000_000, "z", None)]
    first = rows(context, "SELECT snapshot_id FROM columns.snapshots ORDER BY committed_at LIMIT 1")[0][0]
    assert rows(context, f"SELECT a, b, c FROM columns VERSION AS OF {first}") == [(1, "x", 1.5)]


def test_columns_that_replace_others_are_new(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE replaced (a INT, b INT) STORED BY ICEBERG", "INSERT INTO replaced VALUES (1, 2)")
    run(context, "ALTER TABLE replaced REPLACE COLUMNS (b INT, c INT)")
    assert rows(context, "SELECT * FROM replaced") == [(2, None)]
    run(context, "ALTER TABLE replaced CHANGE b c1 INT AFTER c")
    assert rows(context, "SELECT * FROM replaced") == [(None, 2)]


def test_partitions(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE divided (a INT) PARTITIONED BY (day DATE, kind STRING) STORED BY ICEBERG",
        "INSERT INTO divided SELECT id, date_add('2026-01-01', CAST(id % 2 AS INT)), "
        "CASE id % 3 WHEN 0 THEN '' WHEN 2 THEN 'k' END FROM range(12)",
    )
    assert rows(context, "SELECT kind, count(*) FROM divided GROUP BY kind ORDER BY kind") == [
        (None, 4),
        ("", 4),
        ("k", 4),
    ]
    assert rows(context, "SELECT count(*) FROM divided.files") == [(6,)]
    plan = "\n".join(row[0] for row in rows(context, "EXPLAIN SELECT * FROM divided WHERE day = '2026-01-02'"))
    assert "3 of 6 files" in plan
    run(context, "INSERT OVERWRITE divided VALUES (1000, DATE '2026-01-01', 'k')")
    assert rows(context, "SELECT count(*), max(a) FROM divided WHERE kind = 'k'") == [(3, 1000)]
    assert own_catalog(context).load_table("default.divided").scan("kind = 'k'").to_arrow().num_rows == 3


def test_tables_in_memory_follow_snapshots(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE cached (a INT) STORED BY ICEBERG TBLPROPERTIES ('shark.cache'='MEMORY')")
    run(context, "INSERT INTO cached SELECT CAST(id AS INT) FROM range(100)")
    assert rows(context, "SELECT sum(a) FROM cached") == [(4950,)]
    assert context.table_cache.is_loaded(context.catalog.table("default", "cached"))
    found = own_catalog(context).load_table("default.cached")
    found.append(pa.table({"a": [1000]}, pa.schema([("a", pa.int32())])))
    assert rows(context, "SELECT sum(a) FROM cached") == [(5950,)]
    found.delete("a >= 50 and a < 1000")
    assert rows(context, "SELECT sum(a), count(*) FROM cached") == [(1225 + 1000, 51)]
    run(context, "ALTER TABLE cached CHANGE a b BIGINT")
    assert rows(context, "SELECT sum(b) FROM cached") == [(2225,)]


def test_rows_change(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE changing STORED BY ICEBERG AS SELECT id, 'old' AS word FROM range(6)")
    run(context, "UPDATE changing SET word = 'new' WHERE id > 3", "DELETE FROM changing WHERE id = 0")
    assert rows(context, "SELECT * FROM changing ORDER BY id") == [(i, "new" if i > 3 else "old") for i in range(1, 6)]
    run(
        context,
        "MERGE INTO changing t USING (SELECT id FROM range(5, 8)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET word = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'added')",
    )
    assert rows(context, "SELECT * FROM changing WHERE id >= 5 ORDER BY id") == [
        (5, "merged"),
        (6, "added"),
        (7, "added"),
    ]
    assert rows(context, "SELECT count(*) FROM changing") == [(7,)]


def test_drop_as_hive_does(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE gone STORED BY ICEBERG AS SELECT 1 AS a")
    folder = Path(context.catalog.table("default", "gone").location or "")
    with pytest.raises(TableExistsError):
        context.sql("CREATE TABLE gone (a INT) STORED BY ICEBERG")
    run(context, "CREATE TABLE IF NOT EXISTS gone (b INT) STORED BY ICEBERG", "DROP TABLE gone")
    assert not folder.exists()
    assert not own_catalog(context).table_exists("default.gone")
    run(
        context,
        "CREATE EXTERNAL TABLE stays (a INT) STORED BY ICEBERG",
        "INSERT INTO stays VALUES (1)",
        "DROP TABLE stays",
    )
    assert own_catalog(context).load_table("default.stays").scan().to_arrow().num_rows == 1
    with pytest.raises(TableExistsError, match="leave the columns out"):
        context.sql("CREATE EXTERNAL TABLE stays (a INT) STORED BY ICEBERG")
    run(context, "CREATE EXTERNAL TABLE stays STORED BY ICEBERG")
    assert rows(context, "SELECT * FROM stays") == [(1,)]
    own_catalog(context).drop_table("default.stays")
    with pytest.raises(TableNotFoundError, match="has no table"):
        context.sql("SELECT * FROM stays")
    run(context, "DROP TABLE stays")
    assert ("stays",) not in rows(context, "SHOW TABLES")


def test_rename_keeps_the_name_in_the_catalog(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE before STORED BY ICEBERG AS SELECT 1 AS a", "ALTER TABLE before RENAME TO after")
    run(context, "INSERT INTO after VALUES (2)")
    assert rows(context, "SELECT count(*) FROM after") == [(2,)]
    assert own_catalog(context).load_table("default.before").scan().to_arrow().num_rows == 2
    run(
        context,
        "ALTER TABLE after SET TBLPROPERTIES ('write.parquet.compression-codec'='snappy', 'shark.cache'='MEMORY')",
    )
    assert own_catalog(context).load_table("default.before").properties["write.parquet.compression-codec"] == "snappy"
    assert context.catalog.table("default", "after").cache_mode.value == "MEMORY"


def test_files_of_a_path_are_a_table(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE placed STORED BY ICEBERG AS SELECT id FROM range(3)")
    folder = context.catalog.table("default", "placed").location
    assert rows(context, f"SELECT count(*) FROM iceberg.`{folder}`") == [(3,)]
    run(
        context,
        f"CREATE EXTERNAL TABLE by_place STORED BY ICEBERG LOCATION '{folder}'",
        "INSERT INTO placed VALUES (7)",
    )
    assert rows(context, "SELECT max(id) FROM by_place") == [(7,)]
    assert rows(context, f"SELECT count(*) FROM iceberg.`{folder}`") == [(4,)]
    with pytest.raises(UnsupportedError, match="in no catalog"):
        context.sql("INSERT INTO by_place VALUES (8)")
    run(context, "DROP TABLE by_place")
    assert rows(context, "SELECT count(*) FROM placed") == [(4,)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("LOAD DATA LOCAL INPATH '/tmp/x' INTO TABLE refused", "LOAD DATA into"),
        ("ANALYZE TABLE refused COMPUTE STATISTICS", "ANALYZE of"),
        ("ALTER TABLE refused SET LOCATION '/tmp/other'", "this clause"),
        ("FROM refused INSERT INTO refused SELECT a INSERT INTO refused SELECT a + 1", "one of several targets"),
        ("CREATE TABLE other (a INT) STORED BY ICEBERG STORED AS ORC", "files that are orc"),
        ("CREATE TEMPORARY TABLE other (a INT) STORED BY ICEBERG", "a temporary table"),
        ("CREATE TABLE other (a INT) CLUSTERED BY (a) INTO 2 BUCKETS STORED BY ICEBERG", "the buckets"),
        ("CREATE EXTERNAL TABLE far STORED BY ICEBERG LOCATION 'https://b/x'", 'scheme "https"'),
        ("CREATE TABLE far (a INT) STORED BY ICEBERG LOCATION 'https://b/x'", 'scheme "https"'),
        ("SELECT * FROM iceberg.`https://b/x`", 'scheme "https"'),
    ],
)
def test_what_such_tables_do_not_have(context: sharkpy.SharkContext, statement: str, message: str) -> None:
    run(context, "CREATE TABLE IF NOT EXISTS refused (a INT) STORED BY ICEBERG")
    with pytest.raises(UnsupportedError, match=message):
        context.sql(statement)


def test_it_is_described(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE described (a INT COMMENT 'x') PARTITIONED BY (b STRING) STORED BY ICEBERG")
    assert rows(context, "DESCRIBE described") == [("a", "int", "x"), ("b", "string", "")]
    facts = {row[0].strip(): row[1] for row in rows(context, "DESCRIBE FORMATTED described") if row[0]}
    assert facts["SerDe Library:"] == "org.apache.iceberg.mr.hive.HiveIcebergSerDe"
    text = "\n".join(row[0] for row in rows(context, "SHOW CREATE TABLE described"))
    assert "STORED BY ICEBERG" in text
    assert "lake." not in text
