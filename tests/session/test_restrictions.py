"""A session with restrictions stays within its folders and leaves the owner's settings alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, NotAllowedError
from sharkpy.base.settings import SETTINGS, is_guarded
from sharkpy.execution.restrictions import Restrictions


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        yield context


@pytest.fixture
def guest(owner: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    (tmp_path / "open").mkdir()
    session = owner.new_session(shark_user="ann")
    warehouse, state = Path(owner.catalog.warehouse_dir), Path(owner.catalog.state_dir)
    session.restrictions = Restrictions((warehouse, tmp_path / "open"), (state,), guards_settings=True)
    return session


PLACES = [
    "CREATE EXTERNAL TABLE x (a INT) LOCATION '{}'",
    "CREATE TABLE x LOCATION '{}' AS SELECT 1 AS a",
    "CREATE OR REPLACE TABLE t LOCATION '{}' AS SELECT 1 AS a",
    "CREATE TABLE x LIKE t LOCATION '{}'",
    "CREATE DATABASE x LOCATION '{}'",
    "LOAD DATA LOCAL INPATH '{}' INTO TABLE t",
    "LOAD DATA INPATH '{}' INTO TABLE p PARTITION (ds='x')",
    "ALTER TABLE p ADD PARTITION (ds='x') LOCATION '{}'",
    "ALTER TABLE p PARTITION (ds='one') SET LOCATION '{}'",
]


@pytest.mark.parametrize("statement", PLACES)
def test_paths_out_of_bounds(
    owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, tmp_path: Path, statement: str
) -> None:
    guest.sql(
        "CREATE TABLE t (a INT) STORED AS TEXTFILE;CREATE TABLE p (a INT) PARTITIONED BY (ds STRING) STORED AS TEXTFILE"
    )
    guest.sql("ALTER TABLE p ADD PARTITION (ds='one')")
    outside, inside = tmp_path / "closed" / "f", tmp_path / "open" / "f"
    for folder in (outside, inside):
        folder.mkdir(parents=True)
        (folder / "rows.txt").write_text("1\n")
    (tmp_path / "open" / "link").symlink_to(tmp_path / "closed")
    state = owner.catalog.state_dir
    for place in (
        str(outside),
        f"file:{outside}",
        f"{tmp_path}/open/../closed/f",
        f"{tmp_path}/open/link/f",
        f"{state}/blocks",
        owner.catalog.warehouse_dir,
        "/",
    ):
        with pytest.raises(NotAllowedError) as caught:
            guest.sql(statement.format(place))
        assert caught.value.sqlstate == "42501"
    guest.sql(statement.format(inside))


def test_load_data_does_not_follow_links(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    guest.sql("CREATE TABLE t (a INT) STORED AS TEXTFILE")
    (tmp_path / "secret.txt").write_text("7\n")
    (tmp_path / "open" / "rows.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(NotAllowedError):
        guest.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/open/*' INTO TABLE t")
    assert guest.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_everywhere_but_the_engines_own_folder(
    owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, tmp_path: Path
) -> None:
    guest.restrictions = Restrictions((Path("/"),), (Path(owner.catalog.state_dir),))
    guest.sql(f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{tmp_path}/closed'")
    with pytest.raises(NotAllowedError, match="belongs to the engine"):
        guest.sql("CREATE EXTERNAL TABLE y (a INT) LOCATION '/'")


@pytest.mark.parametrize(
    "key",
    [
        "shark.user",
        "shark.master",
        "SHARK.WAREHOUSE.DIR",
        "shark.task.memory",
        "shark.store.memory.limit",
        "shark.java.home",
        "shark.pool.weight",
        "shark.test.join",
        "shark.test.anything",
        "shark.debug.record",
        "shark.temp.dir",
        "spark.executor.memory",
        "spark.driver.extraJavaOptions",
    ],
)
def test_settings_of_the_owner(owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, key: str) -> None:
    before = guest.conf.changes()
    for statement in (f"SET {key}=1", f"RESET {key}"):
        with pytest.raises(NotAllowedError, match=f"(?i){key}"):
            guest.sql(statement)
    assert guest.conf.changes() == before
    owner.new_session().sql(f"SET {key}=1")


@pytest.mark.parametrize(
    "key", ["shark.pruning", "hive.exec.parallel", "spark.sql.sources.partitionOverwriteMode", "mapred.job.name"]
)
def test_settings_of_the_session(guest: sharkpy.SharkContext, key: str) -> None:
    guest.sql(f"SET {key}=true")
    assert guest.sql(f"SET {key}").fetchall() == [(f"{key}=true",)]


def test_reset_keeps_what_the_owner_set(guest: sharkpy.SharkContext) -> None:
    guest.sql("SET shark.pruning=false; SET my.key=1; RESET")
    assert guest.conf["shark.pruning"] == "true"
    assert "my.key" not in guest.conf
    assert guest.sql("SELECT current_user()").fetchall() == [("ann",)]


def test_every_path_and_memory_setting_is_guarded() -> None:
    words = ("dir", "memory", "home", "master", "test", "record", "user", "weight")
    unguarded = [one.key for one in SETTINGS if set(words) & set(one.key.split(".")) and not is_guarded(one.key)]
    assert unguarded == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE `../../out` (a INT)",
        "CREATE TABLE `a/b` AS SELECT 1 AS a",
        "CREATE TABLE `..` (a INT)",
        "CREATE DATABASE `../out`",
        "CREATE VIEW `a/../b` AS SELECT 1 AS a",
        "CACHE TABLE `x/y` AS SELECT 1 AS a",
        "ALTER TABLE t RENAME TO `../../out`",
        "CREATE OR REPLACE TEMPORARY TABLE `../t` AS SELECT 1 AS a",
    ],
)
def test_no_name_leads_out_of_the_warehouse(owner: sharkpy.SharkContext, tmp_path: Path, statement: str) -> None:
    owner.sql("CREATE TABLE t (a INT)")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BindError) as caught:
        owner.sql(statement)
    assert caught.value.sqlstate == "42602"
    assert sorted(tmp_path.iterdir()) == before


def test_a_user_without_a_name_has_a_number(owner: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise OSError("no username set in the environment")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert owner.sql("SELECT current_user()").fetchall() == [(str(os.getuid()),)]
