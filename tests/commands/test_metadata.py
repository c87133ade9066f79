"""ANALYZE TABLE, MSCK, SHOW CREATE TABLE, ALTER DATABASE and SET: metadata in the catalog, and its uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError, TableChangedError
from sharkpy.catalog.model import Table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.restrictions import Restrictions


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    context = sharkpy.connect("local[2]", tmp_path / "w")
    yield context
    context.stop()


def run(context: sharkpy.SharkContext, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements; returns the rows of the last one."""
    rows: list[tuple[Any, ...]] = []
    for statement in statements:
        with context.sql(statement) as result:
            rows = [tuple(row) for row in result.fetchall()]
    return rows


def facts(context: sharkpy.SharkContext, statement: str) -> dict[str, str]:
    """Parameters that DESCRIBE FORMATTED shows."""
    return {row[1]: row[2] for row in run(context, statement) if row[0] == "" and row[1]}


def num_rows(context: sharkpy.SharkContext, name: str) -> int | None:
    return context.snapshot().num_rows(context.catalog.table("default", name))


# ANALYZE TABLE


def test_figures_hold_until_the_next_write(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT, b STRING) STORED AS TEXTFILE", "INSERT INTO t VALUES (1, 'x'), (7, NULL)")
    assert num_rows(context, "t") is None
    run(context, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a")
    assert num_rows(context, "t") == 2
    table = context.catalog.table("default", "t")
    column = context.snapshot().column(table, "a")
    assert column is not None
    assert (column.min, column.max, column.ndv, column.null_fraction) == (1, 7, 2.0, 0.0)
    shown = facts(context, "DESCRIBE FORMATTED t")
    assert (shown["numFiles"], shown["numRows"], shown["totalSize"], shown["rawDataSize"]) == ("1", "2", "9", "7")
    run(context, "INSERT INTO t VALUES (9, 'z')")
    assert num_rows(context, "t") is None
    assert "numRows" not in facts(context, "DESCRIBE FORMATTED t")


def test_a_file_put_there_by_hand_outdates_figures(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(context, f"CREATE EXTERNAL TABLE t (a INT) STORED AS TEXTFILE LOCATION '{tmp_path}/t'")
    run(context, "INSERT INTO t VALUES (1)", "ANALYZE TABLE t COMPUTE STATISTICS")
    (tmp_path / "t/more.txt").write_text("2\n3\n")
    assert num_rows(context, "t") is None


def test_noscan_keeps_what_was_counted_before(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT) STORED AS TEXTFILE", "INSERT INTO t VALUES (1), (2)")
    run(context, "ANALYZE TABLE t COMPUTE STATISTICS NOSCAN")
    assert (num_rows(context, "t"), facts(context, "DESCRIBE FORMATTED t")["numFiles"]) == (None, "1")
    run(context, "ANALYZE TABLE t COMPUTE STATISTICS", "ANALYZE TABLE t COMPUTE STATISTICS NOSCAN")
    assert num_rows(context, "t") == 2


def test_a_partitioned_table_needs_the_figures_of_all_its_partitions(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE p (a INT) PARTITIONED BY (ds STRING) STORED AS TEXTFILE")
    run(context, "INSERT INTO p VALUES (1, 'x'), (2, 'x'), (30, 'y')")
    run(context, "ANALYZE TABLE p PARTITION (ds='x') COMPUTE STATISTICS FOR COLUMNS")
    assert num_rows(context, "p") is None
    assert facts(context, "DESCRIBE FORMATTED p PARTITION (ds='x')")["numRows"] == "2"
    run(context, "ANALYZE TABLE p PARTITION (ds) COMPUTE STATISTICS FOR COLUMNS")
    assert num_rows(context, "p") == 3
    column = context.snapshot().column(context.catalog.table("default", "p"), "a")
    assert column is not None
    assert (column.min, column.max) == (1, 30)
    run(context, "INSERT INTO p PARTITION (ds='y') VALUES (4)")
    assert num_rows(context, "p") is None
    assert "numRows" not in facts(context, "DESCRIBE FORMATTED p PARTITION (ds='y')")
    assert facts(context, "DESCRIBE FORMATTED p PARTITION (ds='x')")["numRows"] == "2"


def test_figures_change_the_estimate_and_the_plan_that_is_kept(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT) STORED AS TEXTFILE", "INSERT INTO t VALUES (1), (2), (3), (3)")
    query = "SELECT a FROM t WHERE a = 3"
    run(context, query)
    before = run(context, f"EXPLAIN COST {query}")[-1][0]
    assert len(context._shared.plans) == 1
    run(context, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    assert len(context._shared.plans) == 0
    after = run(context, f"EXPLAIN COST {query}")[-1][0]
    assert before.endswith(": 5,000 rows")
    assert after.endswith(": 1 rows")


def test_rdd_tasks_find_the_same_figures(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_placement_driver=False) as context:
        run(context, "CREATE TABLE t (a INT, b STRING) STORED AS TEXTFILE", "INSERT INTO t VALUES (1, 'xy'), (7, NULL)")
        run(context, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
        shown = {row[0]: row[1] for row in run(context, "DESCRIBE FORMATTED t b")}
        assert (shown["num_nulls"], shown["avg_col_len"], shown["max_col_len"]) == ("1", "2.0", "2")
        assert num_rows(context, "t") == 2


def test_dropped_tables_leave_no_figures(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT) STORED AS TEXTFILE", "ANALYZE TABLE t COMPUTE STATISTICS")
    table = context.catalog.table("default", "t")
    assert context.catalog.statistics(table)
    run(context, "DROP TABLE t")
    assert context.catalog.statistics(table) == {}


# Tables in memory


def test_blocks_follow_columns_format_and_buckets(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT, b STRING) STORED AS TEXTFILE TBLPROPERTIES ('shark.cache'='true')")
    run(context, "INSERT INTO t VALUES (1, '1'), (2, '2'), (3, '3')", "SELECT count(*) FROM t")
    table = context.catalog.table("default", "t")
    assert context.table_cache.is_loaded(table)
    run(context, "ALTER TABLE t CLUSTERED BY (a) INTO 3 BUCKETS")
    assert run(context, "SELECT sum(a) FROM t") == [(6,)]
    version = context.table_cache.version(context.catalog.table("default", "t"))
    assert version is not None
    assert {block.bucket for block in version.blocks} <= {0, 1, 2}
    run(context, "ALTER TABLE t NOT CLUSTERED", "ALTER TABLE t CHANGE b b DOUBLE FIRST")
    assert run(context, "SELECT b + 1, a FROM t ORDER BY a") == [(2.0, 1), (3.0, 2), (4.0, 3)]


# Several sessions alter one table


def test_no_change_of_another_session_is_lost(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT)")
    with context.new_session() as other:
        first = context.prepare("ALTER TABLE t ADD COLUMNS (b INT)")
        second = other.prepare("ALTER TABLE t SET TBLPROPERTIES ('k'='v')")
        third = other.prepare("ALTER TABLE t RENAME TO u")
        first.run().close()
        for late in (second, third):
            with pytest.raises(TableChangedError, match='"t" was changed by another session'):
                late.run()
        run(other, "ALTER TABLE t SET TBLPROPERTIES ('k'='v')")
    assert run(context, "SHOW COLUMNS IN t") == [("a",), ("b",)]
    assert run(context, "SHOW TBLPROPERTIES t") == [("k", "v")]


# MSCK


def test_repair_tells_what_it_does_and_leaves_bad_names_alone(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT) PARTITIONED BY (ds DATE, hr INT) STORED AS TEXTFILE")
    root = Path(context.catalog.table("default", "t").location or "")
    bad = ("ds=2024-01-01/hr=one", "ds=yesterday/hr=1", "other", "ds=2024-01-02/x=1", "_tmp")
    for name in ("ds=2024-01-01/hr=1", *bad):
        (root / name).mkdir(parents=True)
        (root / name / "f.txt").write_text("5\n")
    told = [line for (line,) in run(context, "MSCK TABLE t")]
    assert told[0] == "Partitions not in metastore:\tt:ds=2024-01-01/hr=1"
    assert [line.split(" is ")[0].rsplit("/t/", 1)[1] for line in told[1:]] == [
        "ds=2024-01-01/hr=one",
        "ds=2024-01-02/x=1",
        "ds=yesterday/hr=1",
        "other",
    ]
    assert run(context, "SHOW PARTITIONS t") == []
    told = [line for (line,) in run(context, "MSCK REPAIR TABLE t")]
    assert told[-1] == "Repair: Added partition to metastore t:ds=2024-01-01/hr=1"
    assert run(context, "SELECT a, hr FROM t") == [(5, 1)]
    (root / "ds=2024-01-01/hr=1/f.txt").unlink()
    (root / "ds=2024-01-01/hr=1").rmdir()
    told = [line for (line,) in run(context, "MSCK REPAIR TABLE t SYNC PARTITIONS")]
    assert told[-1] == "Repair: Dropped partition from metastore default.t:ds=2024-01-01/hr=1"
    assert run(context, "SHOW PARTITIONS t") == []


# Statements that make existing objects again


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT NOT NULL COMMENT 'x', b STRING DEFAULT 'it''s', c DOUBLE, CONSTRAINT k PRIMARY KEY (a)"
        " DISABLE NOVALIDATE RELY, CONSTRAINT c CHECK (c > 0)) SKEWED BY (a, b) ON ((1, 'x'), (2, 'y'))"
        " STORED AS DIRECTORIES STORED AS ORC TBLPROPERTIES ('p'='q')",
        "CREATE TABLE t (a INT) COMMENT 'c' PARTITIONED BY (ds STRING COMMENT 'day') CLUSTERED BY (a)"
        " SORTED BY (a DESC) INTO 4 BUCKETS ROW FORMAT DELIMITED FIELDS TERMINATED BY ';' STORED AS TEXTFILE",
        "CREATE VIEW t (x COMMENT 'an x', y) COMMENT 'about' PARTITIONED ON (y) TBLPROPERTIES ('p'='q')"
        " AS SELECT 1, 'a'",
    ],
)
def test_show_create_makes_the_same_again(context: sharkpy.SharkContext, statement: str) -> None:
    run(context, statement)
    text = "\n".join(line for (line,) in run(context, "SHOW CREATE TABLE t"))
    formatted = run(context, "DESCRIBE FORMATTED t")
    run(context, "DROP VIEW t" if "VIEW" in statement else "DROP TABLE t", text)
    assert "\n".join(line for (line,) in run(context, "SHOW CREATE TABLE t")) == text
    again = run(context, "DESCRIBE FORMATTED t")
    hidden = ("CreateTime:", "Constraint Name:")
    assert [row for row in again if row[0] not in hidden] == [row for row in formatted if row[0] not in hidden]


def test_databases_keep_owner_and_properties(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(context, "CREATE DATABASE d COMMENT 'c' WITH DBPROPERTIES ('a'='1')", "ALTER DATABASE d SET OWNER ROLE r")
    run(context, "ALTER DATABASE d SET DBPROPERTIES ('a'='2', 'b'='3')")
    run(context, f"ALTER DATABASE d SET LOCATION '{tmp_path / 'elsewhere'}'", "CREATE TABLE d.t (a INT)")
    place = str(tmp_path / "elsewhere")
    assert run(context, "DESCRIBE DATABASE EXTENDED d") == [("d", "c", place, "r", "ROLE", "{a=2, b=3}")]
    assert run(context, "DESCRIBE DATABASE d") == [("d", "c", place, "r", "ROLE", "")]
    assert (context.catalog.table("d", "t").location or "").startswith(place)
    text = "\n".join(line for (line,) in run(context, "SHOW CREATE DATABASE d"))
    run(context, "DROP DATABASE d CASCADE", text)
    assert run(context, "DESCRIBE DATABASE EXTENDED d")[0][-1] == "{a=2, b=3}"


def test_a_partition_is_placed_below_its_table(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE t (a INT) PARTITIONED BY (ds STRING)")
    run(context, "ALTER TABLE t ADD PARTITION (ds='x') LOCATION 'part/x'", "INSERT INTO t VALUES (1, 'x')")
    table = context.catalog.table("default", "t")
    assert context.catalog.partitions(table)[0].location == str(Path(table.location or "", "part/x"))


def test_partitions_stay_where_they_are_when_the_table_moves(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(context, "CREATE TABLE t (a INT) PARTITIONED BY (ds STRING)", "INSERT INTO t VALUES (1, 'x')")
    run(context, f"ALTER TABLE t SET LOCATION '{tmp_path / 'other'}'", "INSERT INTO t VALUES (2, 'y')")
    assert run(context, "SELECT * FROM t ORDER BY a") == [(1, "x"), (2, "y")]
    assert (tmp_path / "other" / "ds=y").is_dir()


def test_settings_of_the_machine_are_not_for_remote_users(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARKPY_TEST_SECRET", "s")
    assert run(context, "SELECT '${env:SHARKPY_TEST_SECRET}' AS x") == [("s",)]
    assert run(context, "SET env:SHARKPY_TEST_SECRET") == [("env:SHARKPY_TEST_SECRET=s",)]
    context.restrictions = Restrictions(guards_settings=True)
    assert run(context, "SELECT '${env:SHARKPY_TEST_SECRET}' AS x") == [("${env:SHARKPY_TEST_SECRET}",)]
    assert run(context, "SET env:SHARKPY_TEST_SECRET") == [("env:SHARKPY_TEST_SECRET is undefined",)]


@pytest.mark.parametrize("key", ["hive.exec.x", "mapred.reduce.tasks", "io.sort.mb", "dfs.replication", "spark.x"])
def test_any_key_is_kept(context: sharkpy.SharkContext, key: str) -> None:
    assert run(context, f"SET {key}=7", f"SET {key}") == [(f"{key}=7",)]
    assert run(context, f"SET {key}=", f"SET {key}") == [(f"{key}=",)]
    assert run(context, f"RESET {key}", f"SET {key}") == [(f"{key} is undefined",)]


def test_exchange_leaves_both_tables_as_they_were_where_it_fails(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sharkpy.execution.commands import partitions

    run(context, "CREATE TABLE a (x INT) PARTITIONED BY (ds STRING, hr INT)", "CREATE TABLE b LIKE a")
    run(context, "INSERT INTO a VALUES (1, 'd', 1), (2, 'd', 2)")
    moves: list[str] = []
    real = partitions._move

    def fail_at_second(folder: str, target: str, table: Table, session: EngineSession) -> None:
        moves.append(target)
        if len(moves) == 2:
            raise BindError("no")
        real(folder, target, table, session)

    monkeypatch.setattr(partitions, "_move", fail_at_second)
    with pytest.raises(SharkError, match="no"):
        run(context, "ALTER TABLE b EXCHANGE PARTITION (ds='d') WITH TABLE a")
    assert run(context, "SELECT x FROM a ORDER BY x") == [(1,), (2,)]
    assert run(context, "SELECT * FROM b") == []
    monkeypatch.setattr(partitions, "_move", real)
    run(context, "ALTER TABLE b EXCHANGE PARTITION (ds='d') WITH TABLE a")
    assert run(context, "SELECT x FROM b ORDER BY x") == [(1,), (2,)]


def test_a_view_shows_its_text_as_written_and_expanded(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE t (a INT, b INT)",
        "CREATE VIEW v AS SELECT * FROM t",
        "ALTER TABLE t ADD COLUMNS (c INT)",
    )
    written, expanded = "SELECT * FROM t", "SELECT `t`.`a`, `t`.`b` FROM t"
    rows = {str(row[0]).strip(): row[1] for row in run(context, "DESCRIBE FORMATTED v")}
    assert (rows["View Original Text:"], rows["View Expanded Text:"]) == (written, expanded)
    (text,) = run(context, "SHOW CREATE TABLE v")[0]
    run(context, "DROP VIEW v", text)
    assert run(context, "DESCRIBE v") == [("a", "int", ""), ("b", "int", "")]
