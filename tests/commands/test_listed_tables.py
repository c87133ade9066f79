"""Managed tables of earlier formats of the catalog, whose folders were listed: after the upgrade the log has their
files, and all statements work as for other tables. Folders outside the warehouse are still listed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.execution.backup.make_backup import make_backup
from sharkpy.execution.backup.restore_backup import restore_backup
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import table_folder
from tests.files import files_of
from tests.older_formats import with_generations
from tests.rows import rows


def run(context: sharkpy.SharkContext, *statements: str) -> None:
    for statement in statements:
        context.sql(statement).close()


def location(context: sharkpy.SharkContext, name: str) -> Path:
    return Path(context.catalog.table("default", name).location or "")


def is_logged(context: sharkpy.SharkContext, name: str, partition: str = "") -> bool:
    return isinstance(table_folder(str(location(context, name) / partition), context.catalog), LoggedFolder)


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.exists() else []


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    """Session in a warehouse of format 9, which its first start upgrades."""
    (tmp_path / "in").mkdir()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(
            context,
            "CREATE TABLE t (a INT, b STRING)",
            "INSERT INTO t VALUES (1, 'one')",
            "INSERT INTO t VALUES (2, 'two')",
            "CREATE TABLE p (a INT) PARTITIONED BY (d STRING)",
            "INSERT INTO p VALUES (1, 'x'), (2, 'y')",
            "CREATE TABLE m TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 5 AS a",
            f"CREATE TABLE far (a INT) PARTITIONED BY (d STRING) LOCATION '{tmp_path}/far'",
            "INSERT INTO far VALUES (1, 'x')",
            f"CREATE STREAM s (a INT, b STRING) STORED AS JSONFILE FROM FOLDER '{tmp_path}/in'",
            "CREATE CONTINUOUS TABLE c TRIGGER AVAILABLE NOW AS SELECT a, b FROM s",
            "CREATE CONTINUOUS TABLE n TRIGGER AVAILABLE NOW WITH UNBOUNDED STATE"
            " AS SELECT b, count(*) AS n FROM s GROUP BY b",
        )
        for number in (1, 2, 3):
            arrive(tmp_path, number)
            run(context, "RESUME CONTINUOUS TABLE c", "RESUME CONTINUOUS TABLE n")
    with_generations(tmp_path / "w")
    with sharkpy.connect("local[2]", tmp_path / "w", shark_table_retention="0") as context:
        yield context


def arrive(root: Path, number: int) -> None:
    (root / f"in/{number}.json").write_text(f'{{"a": {number}, "b": "{"odd" if number % 2 else "even"}"}}\n')


def test_tables_of_the_warehouse_are_logged(upgraded: sharkpy.SharkContext) -> None:
    state = upgraded.catalog.table("default", "n").state_name
    assert [is_logged(upgraded, name) for name in ("t", "p", "m", "c", state)] == [True] * 5
    assert is_logged(upgraded, "p", "d=x")
    assert not is_logged(upgraded, "far")
    assert not is_logged(upgraded, "far", "d=x")
    assert rows(upgraded, "SELECT * FROM t ORDER BY a") == [(1, "one"), (2, "two")]
    assert rows(upgraded, "SELECT * FROM p ORDER BY a") == [(1, "x"), (2, "y")]
    assert rows(upgraded, "SELECT a FROM m") == [(5,)]
    assert all(Path(file.path).parent.name.startswith("delta_") for file in files_of(upgraded))


def test_rows_are_read_and_written(upgraded: sharkpy.SharkContext) -> None:
    run(upgraded, "INSERT INTO t VALUES (3, 'three')")
    (location(upgraded, "t") / "by_hand").write_text("9\x01nine\n")
    assert rows(upgraded, "SELECT max(a) FROM t") == [(3,)]
    run(upgraded, "DELETE FROM t WHERE a = 1", "UPDATE t SET b = 'zwei' WHERE a = 2")
    run(upgraded, "INSERT OVERWRITE TABLE m SELECT 6", "INSERT INTO m VALUES (7)")
    assert rows(upgraded, "SELECT * FROM t ORDER BY a") == [(2, "zwei"), (3, "three")]
    assert rows(upgraded, "SELECT a FROM m ORDER BY a") == [(6,), (7,)]
    assert names_in(location(upgraded, "t")) == ["_files", "by_hand"]
    run(upgraded, "TRUNCATE TABLE t", "INSERT INTO t VALUES (4, 'four')", "ALTER TABLE t CONCATENATE")
    assert rows(upgraded, "SELECT * FROM t") == [(4, "four")]


def test_small_files_are_folded(upgraded: sharkpy.SharkContext) -> None:
    run(upgraded, "ALTER TABLE t CONCATENATE")
    assert len(files_of(upgraded)) == 1
    assert rows(upgraded, "SELECT * FROM t ORDER BY a") == [(1, "one"), (2, "two")]


def test_partitions(upgraded: sharkpy.SharkContext) -> None:
    run(
        upgraded,
        "INSERT INTO p VALUES (3, 'x'), (4, 'z')",
        "ALTER TABLE p DROP PARTITION (d = 'y')",
        "INSERT INTO p VALUES (9, 'y')",
        "ALTER TABLE p PARTITION (d = 'z') RENAME TO PARTITION (d = 'w')",
    )
    assert all(is_logged(upgraded, "p", f"d={name}") for name in "xyw")
    assert rows(upgraded, "SELECT * FROM p ORDER BY a") == [(1, "x"), (3, "x"), (4, "w"), (9, "y")]
    run(upgraded, "CREATE TABLE q LIKE p", "ALTER TABLE q EXCHANGE PARTITION (d = 'x') WITH TABLE p")
    run(upgraded, "INSERT INTO q VALUES (5, 'x'), (6, 'v')", "INSERT INTO p VALUES (7, 'x')")
    assert rows(upgraded, "SELECT * FROM q ORDER BY a") == [(1, "x"), (3, "x"), (5, "x"), (6, "v")]
    assert rows(upgraded, "SELECT * FROM p ORDER BY a") == [(4, "w"), (7, "x"), (9, "y")]
    run(upgraded, "INSERT OVERWRITE TABLE q PARTITION (d = 'x') VALUES (8)")
    assert rows(upgraded, "SELECT * FROM q ORDER BY a") == [(6, "v"), (8, "x")]
    assert names_in(location(upgraded, "q") / "d=x") == ["_files"]


def test_partitions_move_between_both(upgraded: sharkpy.SharkContext) -> None:
    """From a logged table into a listed one, which is outside the warehouse, and back."""
    run(upgraded, "ALTER TABLE far EXCHANGE PARTITION (d = 'y') WITH TABLE p", "INSERT INTO far VALUES (11, 'y')")
    assert rows(upgraded, "SELECT a FROM far WHERE d = 'y' ORDER BY a") == [(2,), (11,)]
    run(upgraded, "INSERT OVERWRITE TABLE far PARTITION (d = 'y') VALUES (12)", "INSERT INTO p VALUES (13, 'y')")
    assert rows(upgraded, "SELECT a FROM far WHERE d = 'y'") == [(12,)]
    assert rows(upgraded, "SELECT * FROM p ORDER BY a") == [(1, "x"), (13, "y")]
    run(upgraded, "ALTER TABLE p DROP PARTITION (d = 'x')")
    run(upgraded, "ALTER TABLE p EXCHANGE PARTITION (d = 'x') WITH TABLE far", "INSERT INTO p VALUES (14, 'x')")
    assert rows(upgraded, "SELECT a FROM p WHERE d = 'x' ORDER BY a") == [(1,), (14,)]


def test_names_are_taken_again(upgraded: sharkpy.SharkContext) -> None:
    run(upgraded, "ALTER TABLE t RENAME TO u", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (8)")
    assert rows(upgraded, "SELECT a FROM t") == [(8,)]
    assert rows(upgraded, "SELECT a FROM u ORDER BY a") == [(1,), (2,)]
    run(upgraded, "DROP TABLE u", "DROP TABLE t", "CREATE TABLE t AS SELECT 4 AS a", "INSERT INTO t VALUES (5)")
    assert rows(upgraded, "SELECT a FROM t ORDER BY a") == [(4,), (5,)]


def test_a_stream_fills_them(upgraded: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(
        upgraded,
        "CREATE CONTINUOUS INSERT i TRIGGER AVAILABLE NOW AS INSERT INTO t SELECT * FROM s",
        "INSERT INTO t VALUES (21, 'u')",
    )
    arrive(tmp_path, 22)
    run(upgraded, "RESUME CONTINUOUS INSERT i")
    assert rows(upgraded, "SELECT a FROM t WHERE a > 3 ORDER BY a") == [(21,), (22,)]


def test_epochs_keep_their_rows(upgraded: sharkpy.SharkContext, tmp_path: Path) -> None:
    """A continuous table, and one with state."""
    assert rows(upgraded, "SELECT a FROM c FOR SYSTEM_VERSION AS OF 2 ORDER BY a") == [(1,), (2,)]
    assert rows(upgraded, "SELECT * FROM n ORDER BY b") == [("even", 1), ("odd", 2)]
    arrive(tmp_path, 4)
    run(upgraded, "RESUME CONTINUOUS TABLE c", "RESUME CONTINUOUS TABLE n")
    assert rows(upgraded, "SELECT a FROM c ORDER BY a") == [(1,), (2,), (3,), (4,)]
    assert rows(upgraded, "SELECT a FROM c FOR SYSTEM_VERSION AS OF 3 ORDER BY a") == [(1,), (2,), (3,)]
    assert rows(upgraded, "SELECT * FROM n ORDER BY b") == [("even", 2), ("odd", 2)]
    run(upgraded, "ROLLBACK CONTINUOUS TABLE c TO EPOCH 2", "ROLLBACK CONTINUOUS TABLE n TO EPOCH 1")
    assert rows(upgraded, "SELECT a FROM c ORDER BY a") == [(1,), (2,)]
    assert rows(upgraded, "SELECT * FROM n") == [("odd", 1)]
    run(upgraded, "RESUME CONTINUOUS TABLE c", "RESUME CONTINUOUS TABLE n")
    assert rows(upgraded, "SELECT a FROM c ORDER BY a") == [(1,), (2,), (3,), (4,)]
    assert rows(upgraded, "SELECT * FROM n ORDER BY b") == [("even", 2), ("odd", 2)]


def test_a_restored_backup_is_logged(upgraded: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(upgraded, "INSERT INTO t VALUES (3, 'three')", "INSERT INTO p VALUES (3, 'x')")
    make_backup(upgraded.catalog, tmp_path / "backup")
    restore_backup(tmp_path / "backup", tmp_path / "again")
    with sharkpy.connect("local[2]", tmp_path / "again", shark_table_retention="0") as again:
        assert is_logged(again, "t")
        assert is_logged(again, "p", "d=x")
        assert is_logged(again, "far", "d=x"), "its files are in the warehouse now"
        assert rows(again, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]
        run(again, "INSERT INTO p VALUES (4, 'x')", "INSERT OVERWRITE TABLE t VALUES (5, 'five')")
        assert rows(again, "SELECT * FROM p ORDER BY a") == [(1, "x"), (2, "y"), (3, "x"), (4, "x")]
        assert rows(again, "SELECT a FROM t") == [(5,)]
        assert names_in(location(again, "t")) == ["_files"]


def test_files_that_another_warehouse_has_logged_stay(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """An external table writes into a Hive partition of a managed table of the other one."""
    theirs = tmp_path / "far" / "d=x" / "_files" / "w" / "part-0"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("7\n")
    run(context, f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (d STRING) LOCATION '{tmp_path}/far'")
    run(context, "INSERT INTO e VALUES (1, 'x')", "INSERT OVERWRITE TABLE e PARTITION (d = 'x') VALUES (2)")
    assert rows(context, "SELECT * FROM e") == [(2, "x")]
    assert theirs.exists()
