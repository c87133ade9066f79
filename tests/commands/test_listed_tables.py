"""Managed tables of earlier formats of the catalog: their folders are listed, and all statements work as before."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.catalog import Catalog
from tests.files import files_of
from tests.rows import rows


def run(context: sharkpy.SharkContext, *statements: str) -> None:
    for statement in statements:
        context.sql(statement).close()


@pytest.fixture
def listed(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> sharkpy.SharkContext:
    """Session with tables that an earlier release has made."""
    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "can_log", lambda *_: False)
        run(
            context,
            "CREATE TABLE t (a INT, b STRING)",
            "INSERT INTO t VALUES (1, 'one')",
            "INSERT INTO t VALUES (2, 'two')",
            "CREATE TABLE p (a INT) PARTITIONED BY (d STRING)",
            "INSERT INTO p VALUES (1, 'x'), (2, 'y')",
            "CREATE TABLE m TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 5 AS a",
        )
    assert {Path(file.path).parent.name for file in files_of(context)} == {"delta_0000001", "delta_0000002"}
    return context


def test_rows_are_read_and_written(listed: sharkpy.SharkContext) -> None:
    run(listed, "INSERT INTO t VALUES (3, 'three')")
    Path(listed.catalog.table("default", "t").location or "", "by_hand").write_text("9\x01nine\n")
    assert rows(listed, "SELECT max(a) FROM t") == [(9,)]
    run(listed, "DELETE FROM t WHERE a = 9", "UPDATE t SET b = 'zwei' WHERE a = 2")
    run(listed, "INSERT OVERWRITE TABLE m SELECT 6", "INSERT INTO m VALUES (7)")
    assert rows(listed, "SELECT * FROM t ORDER BY a") == [(1, "one"), (2, "zwei"), (3, "three")]
    assert rows(listed, "SELECT a FROM m ORDER BY a") == [(6,), (7,)]


def test_partitions(listed: sharkpy.SharkContext) -> None:
    run(
        listed,
        "INSERT INTO p VALUES (3, 'x'), (4, 'z')",
        "ALTER TABLE p DROP PARTITION (d = 'y')",
        "INSERT INTO p VALUES (9, 'y')",
        "ALTER TABLE p PARTITION (d = 'z') RENAME TO PARTITION (d = 'w')",
    )
    assert rows(listed, "SELECT * FROM p ORDER BY a") == [(1, "x"), (3, "x"), (4, "w"), (9, "y")]
    run(listed, "CREATE TABLE q LIKE p", "ALTER TABLE q EXCHANGE PARTITION (d = 'x') WITH TABLE p")
    run(listed, "INSERT INTO q VALUES (5, 'x'), (6, 'v')", "INSERT INTO p VALUES (7, 'x')")
    assert rows(listed, "SELECT * FROM q ORDER BY a") == [(1, "x"), (3, "x"), (5, "x"), (6, "v")]
    assert rows(listed, "SELECT * FROM p ORDER BY a") == [(4, "w"), (7, "x"), (9, "y")]


def test_partitions_move_between_both(listed: sharkpy.SharkContext) -> None:
    """From a logged table into a listed one, and back."""
    run(listed, "CREATE TABLE q (a INT) PARTITIONED BY (d STRING)", "INSERT INTO q VALUES (10, 'v')")
    run(listed, "ALTER TABLE p EXCHANGE PARTITION (d = 'v') WITH TABLE q", "INSERT INTO p VALUES (11, 'v')")
    assert rows(listed, "SELECT a FROM p WHERE d = 'v' ORDER BY a") == [(10,), (11,)]
    run(listed, "INSERT OVERWRITE TABLE p PARTITION (d = 'v') VALUES (12)", "DROP TABLE q")
    assert rows(listed, "SELECT a FROM p WHERE d = 'v'") == [(12,)]


def test_names_are_taken_again(listed: sharkpy.SharkContext) -> None:
    run(listed, "ALTER TABLE t RENAME TO u", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (8)")
    assert rows(listed, "SELECT a FROM t") == [(8,)]
    assert rows(listed, "SELECT a FROM u ORDER BY a") == [(1,), (2,)]
    run(listed, "DROP TABLE u", "DROP TABLE t", "CREATE TABLE t AS SELECT 4 AS a", "INSERT INTO t VALUES (5)")
    assert rows(listed, "SELECT a FROM t ORDER BY a") == [(4,), (5,)]


def test_a_stream_fills_them(listed: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"a": 20, "b": "s"}\n')
    run(
        listed,
        f"CREATE STREAM s (a INT, b STRING) STORED AS JSONFILE FROM FOLDER '{tmp_path}/in'",
        "CREATE CONTINUOUS INSERT c TRIGGER AVAILABLE NOW AS INSERT INTO t SELECT * FROM s",
        "INSERT INTO t VALUES (21, 'u')",
    )
    (tmp_path / "in/2.json").write_text('{"a": 22, "b": "s"}\n')
    run(listed, "RESUME CONTINUOUS INSERT c")
    assert rows(listed, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (20,), (21,), (22,)]


def test_files_that_another_warehouse_has_logged_stay(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """An external table writes into a Hive partition of a managed table of the other one."""
    theirs = tmp_path / "far" / "d=x" / "_files" / "w" / "part-0"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("7\n")
    run(context, f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (d STRING) LOCATION '{tmp_path}/far'")
    run(context, "INSERT INTO e VALUES (1, 'x')", "INSERT OVERWRITE TABLE e PARTITION (d = 'x') VALUES (2)")
    assert rows(context, "SELECT * FROM e") == [(2, "x")]
    assert theirs.exists()
