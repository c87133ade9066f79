"""Folders that links have taken the place of: a session with restrictions stays within its bounds, at each use."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import NotAllowedError
from sharkpy.execution.restrictions import Restrictions

OUT = "out of this session's bounds"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("replaced") / "w") as context:
        yield context


@pytest.fixture
def guest(owner: sharkpy.SharkContext, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    for name in ("open", "secret"):
        (tmp_path / name).mkdir()
    (tmp_path / "secret" / "x.txt").write_text("7\n")
    session = owner.new_session(shark_user="ann")
    warehouse, state = Path(owner.catalog.warehouse_dir), Path(owner.catalog.state_dir)
    session.restrictions = Restrictions((warehouse, tmp_path / "open"), (state,), guards_settings=True)
    yield session
    for table in ("t", "p", "c", "copied"):
        owner.sql(f"DROP TABLE IF EXISTS {table}")
    owner.sql("DROP DATABASE IF EXISTS d CASCADE")


def replaced(folder: Path, secret: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.symlink_to(secret)


def refused(guest: sharkpy.SharkContext, secret: Path, *statements: str) -> None:
    """Each statement is refused, and nothing in the folder changes."""
    for statement in statements:
        with pytest.raises(NotAllowedError, match=OUT):
            guest.sql(statement).fetchall()
        assert [(one.name, one.read_text()) for one in secret.iterdir()] == [("x.txt", "7\n")], statement


@pytest.mark.parametrize("kind", ["", "EXTERNAL"])
def test_a_tables_folder(guest: sharkpy.SharkContext, owner: sharkpy.SharkContext, tmp_path: Path, kind: str) -> None:
    folder, secret = tmp_path / "open" / "t", tmp_path / "secret"
    guest.sql(f"CREATE {kind} TABLE t (a INT) STORED AS TEXTFILE LOCATION '{folder}'")
    guest.sql("INSERT INTO t VALUES (1)")
    replaced(folder, secret)
    refused(
        guest,
        secret,
        "SELECT * FROM t",
        "SELECT count(*) FROM t",
        "INSERT INTO t VALUES (2)",
        "INSERT OVERWRITE TABLE t VALUES (2)",
        "CREATE TABLE copied AS SELECT * FROM t",
        f"EXPORT TABLE t TO '{tmp_path}/open/exported'",
        *(() if kind else ("TRUNCATE TABLE t", "DELETE FROM t WHERE a = 7", "UPDATE t SET a = 8")),
    )
    assert owner.sql("SELECT * FROM t").fetchall() == [(7,)]
    guest.sql("DROP TABLE t")
    assert (secret / "x.txt").exists()


def test_a_folder_above_a_tables(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    above, secret = tmp_path / "open" / "above", tmp_path / "secret"
    guest.sql(f"CREATE DATABASE d LOCATION '{above}'")
    guest.sql("CREATE TABLE d.t (a INT); CREATE TABLE d.u (a INT)")
    (secret / "x.txt").unlink()
    (secret / "t").mkdir()
    (secret / "t" / "x.txt").write_text("7\n")
    replaced(above, secret)
    for statement in (
        "SELECT * FROM d.t",
        "INSERT INTO d.t VALUES (1)",
        "DROP TABLE d.t",
        "ALTER TABLE d.t RENAME TO d.v",
        "CREATE TABLE d.w (a INT)",
        "CREATE TABLE d.w AS SELECT 1 AS a",
        "CREATE TABLE d.w LIKE d.t",
        "DROP DATABASE d CASCADE",
    ):
        with pytest.raises(NotAllowedError, match=OUT):
            guest.sql(statement).fetchall()
        assert [one.name for one in secret.iterdir()] == ["t"], statement
        assert (secret / "t" / "x.txt").read_text() == "7\n"


def test_the_folder_of_a_partition(guest: sharkpy.SharkContext, owner: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder, secret = tmp_path / "open" / "p", tmp_path / "secret"
    guest.sql(f"CREATE TABLE p (a INT) PARTITIONED BY (ds INT) STORED AS TEXTFILE LOCATION '{folder}'")
    guest.sql("INSERT INTO p PARTITION (ds=1) VALUES (1)")
    guest.sql("INSERT INTO p PARTITION (ds=2) VALUES (2)")
    replaced(folder / "ds=1", secret)
    refused(
        guest,
        secret,
        "SELECT * FROM p",
        "SELECT count(*) FROM p WHERE ds = 1",
        "INSERT INTO p PARTITION (ds=1) VALUES (3)",
        "INSERT OVERWRITE TABLE p PARTITION (ds=1) VALUES (3)",
        "INSERT OVERWRITE TABLE p PARTITION (ds) SELECT 3, 1",
        "TRUNCATE TABLE p PARTITION (ds=1)",
        "TRUNCATE TABLE p",
        "ALTER TABLE p PARTITION (ds=1) RENAME TO PARTITION (ds=3)",
        "CREATE TABLE copied AS SELECT * FROM p",
    )
    (tmp_path / "open" / "rows.txt").write_text("3\n")
    refused(guest, secret, f"LOAD DATA LOCAL INPATH '{tmp_path}/open/rows.txt' INTO TABLE p PARTITION (ds=1)")
    assert guest.sql("SELECT a FROM p WHERE ds = 2").fetchall() == [(2,)]
    guest.sql("ALTER TABLE p DROP PARTITION (ds=1)")
    assert (secret / "x.txt").exists()
    assert guest.sql("SELECT a FROM p").fetchall() == [(2,)]


@pytest.mark.parametrize("is_cached", [False, True])
def test_a_link_that_becomes_a_partition(
    guest: sharkpy.SharkContext, owner: sharkpy.SharkContext, tmp_path: Path, is_cached: bool
) -> None:
    folder, secret = tmp_path / "open" / "p", tmp_path / "secret"
    cached = "TBLPROPERTIES ('shark.cache'='MEMORY')" if is_cached else ""
    guest.sql(f"CREATE TABLE p (a INT) PARTITIONED BY (ds INT) STORED AS TEXTFILE LOCATION '{folder}' {cached}")
    (folder / "ds=1").symlink_to(secret)
    refused(guest, secret, "ALTER TABLE p ADD PARTITION (ds=1)")
    (line,) = guest.sql("MSCK REPAIR TABLE p").fetchall()
    assert str(line[0]).startswith(f"Skipped folder: {folder}/ds=1")
    assert guest.sql("SHOW PARTITIONS p").fetchall() == []
    owner.sql("MSCK REPAIR TABLE p").close()
    refused(guest, secret, "SELECT * FROM p", "INSERT INTO p PARTITION (ds=1) VALUES (3)")
    assert owner.sql("SELECT a FROM p").fetchall() == [(7,)]


def test_what_a_linked_folder_holds_is_not_told(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder, secret = tmp_path / "open" / "p", tmp_path / "secret"
    (secret / "of nobody").mkdir()
    guest.sql(f"CREATE TABLE p (a INT) PARTITIONED BY (ds INT, hr INT) LOCATION '{folder}'")
    (folder / "ds=1").symlink_to(secret)
    assert "of nobody" not in str(guest.sql("MSCK REPAIR TABLE p").fetchall())


def test_the_folder_of_a_stream(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder, secret = tmp_path / "open" / "s", tmp_path / "secret"
    folder.mkdir()
    guest.sql(f"CREATE STREAM s (a INT) STORED AS TEXTFILE FROM FOLDER '{folder}'")
    try:
        assert guest.sql("SELECT * FROM s").fetchall() == []
        replaced(folder, secret)
        with pytest.raises(NotAllowedError, match=OUT):
            guest.sql("SELECT * FROM s").fetchall()
    finally:
        guest.sql("DROP STREAM s")


def test_links_within_the_bounds(guest: sharkpy.SharkContext, owner: sharkpy.SharkContext, tmp_path: Path) -> None:
    """A link may lead from one allowed folder to another, and links to other places may lead to the owner's tables."""
    place = tmp_path / "open" / "there"
    place.mkdir()
    (tmp_path / "open" / "t").symlink_to(place)
    guest.sql(f"CREATE EXTERNAL TABLE t (a INT) STORED AS TEXTFILE LOCATION '{tmp_path}/open/t'")
    guest.sql("INSERT INTO t VALUES (1)")
    assert guest.sql("SELECT * FROM t").fetchall() == [(1,)]
    (tmp_path / "way").symlink_to(tmp_path / "secret")
    owner.sql(f"CREATE EXTERNAL TABLE c (a INT) STORED AS TEXTFILE LOCATION '{tmp_path}/way'")
    assert guest.sql("SELECT * FROM c").fetchall() == [(7,)]
