"""A session with restrictions stays within its folders and does not change the owner's settings."""

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


SCHEMA = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}'
PLACES = [
    "CREATE EXTERNAL TABLE x (a INT) LOCATION '{}'",
    "CREATE TABLE x LOCATION '{}' AS SELECT 1 AS a",
    "CREATE OR REPLACE TABLE t LOCATION '{}' AS SELECT 1 AS a",
    "CREATE TABLE x LIKE t LOCATION '{}'",
    "CREATE TABLE x USING csv OPTIONS (path '{}')",
    "CREATE DATABASE x LOCATION '{}'",
    "LOAD DATA LOCAL INPATH '{}' INTO TABLE t",
    "LOAD DATA INPATH '{}' INTO TABLE p PARTITION (ds='x')",
    "ALTER TABLE p ADD PARTITION (ds='x') LOCATION '{}'",
    "ALTER TABLE p PARTITION (ds='one') SET LOCATION '{}'",
    "ALTER TABLE t SET LOCATION '{}'",
    "CREATE TABLE x (a INT) USING csv OPTIONS (path '{}')",
    "CREATE TEMPORARY TABLE x (a INT) LOCATION '{}'",
    "ALTER DATABASE other SET LOCATION '{}'",
    "SELECT * FROM text.`{}`",
    "SELECT * FROM csv.`{}/*`",
    "CREATE TABLE x LIKE FILE CSV '{}'",
]
"""Statements that name a folder."""


@pytest.mark.variants(3)
@pytest.mark.parametrize("statement", PLACES)
def test_paths_out_of_bounds(
    owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, tmp_path: Path, statement: str
) -> None:
    guest.sql(
        "CREATE DATABASE other; CREATE TABLE t (a INT) STORED AS TEXTFILE;"
        "CREATE TABLE p (a INT) PARTITIONED BY (ds STRING) STORED AS TEXTFILE"
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
    if " AS SELECT" in statement:
        (inside / "rows.txt").unlink()
    guest.sql(statement.format(inside)).close()


def test_access_to_a_local_path_is_bounded_if_a_statement_names_it(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "open" / "link").symlink_to(tmp_path)
    assert guest.catalog.named_access_id(f"{tmp_path}/open/x") == ""
    assert guest.catalog.access_id(f"{tmp_path}/x") == ""
    for path in (f"{tmp_path}/x", f"{tmp_path}/open/link/x", f"file:{tmp_path}/x"):
        with pytest.raises(NotAllowedError):
            guest.catalog.named_access_id(path)


NAMED = [
    "EXPORT TABLE t TO '{}/e'",
    "IMPORT TABLE u FROM '{}/f'",
    "INSERT OVERWRITE DIRECTORY '{}/d' SELECT 1",
    "LOAD DATA LOCAL INPATH '{}/f/rows.txt' INTO TABLE t",
]


@pytest.mark.parametrize("statement", NAMED)
def test_files_of_folders_out_of_bounds(guest: sharkpy.SharkContext, tmp_path: Path, statement: str) -> None:
    guest.sql("CREATE TABLE t (a INT) STORED AS TEXTFILE")
    guest.sql(f"EXPORT TABLE t TO '{tmp_path}/open/f'")
    (tmp_path / "open" / "f" / "rows.txt").write_text("1\n")
    (tmp_path / "closed").mkdir()
    (tmp_path / "open" / "link").symlink_to(tmp_path / "closed")
    for place in (tmp_path / "closed", tmp_path / "open" / "link", tmp_path / "open" / ".." / "closed"):
        with pytest.raises(NotAllowedError):
            guest.sql(statement.format(place))
    guest.sql(statement.format(tmp_path / "open")).close()


def test_load_data_does_not_follow_links(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    guest.sql("CREATE TABLE t (a INT) STORED AS TEXTFILE")
    (tmp_path / "secret.txt").write_text("7\n")
    (tmp_path / "open" / "rows.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(NotAllowedError):
        guest.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/open/*' INTO TABLE t")
    assert guest.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


OPENED = [
    "CREATE TABLE x STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{}')",
    "CREATE TABLE x STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='file://{}')",
    "CREATE TABLE x (a INT) STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{}')",
    "CREATE TABLE x ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.avro.AvroSerDe'"
    " WITH SERDEPROPERTIES ('avro.schema.url'='{}') STORED AS AVRO",
    "CREATE TABLE x STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{}') AS SELECT 1 AS a",
    "CREATE TABLE x LIKE t STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{}')",
    "ALTER TABLE t SET TBLPROPERTIES ('avro.schema.url'='{}')",
    "ALTER TABLE t SET SERDEPROPERTIES ('avro.schema.url'='{}')",
    "ALTER TABLE p PARTITION (ds='one') SET SERDEPROPERTIES ('avro.schema.url'='{}')",
    "ADD FILE '{}'",
    "ADD ARCHIVE '{}'",
    "ADD JAR '{}'",
    "LOAD DATA LOCAL INPATH '{}' INTO TABLE t",
    "LOAD DATA INPATH '{}' INTO TABLE t",
    "LOAD DATA LOCAL INPATH '{}*' INTO TABLE t",
    "IMPORT TABLE x FROM '{}'",
    "EXPORT TABLE t TO '{}'",
    "INSERT OVERWRITE DIRECTORY '{}' SELECT 1",
    "CREATE CONTINUOUS SINK x TO FOLDER '{}' AS SELECT a FROM s",
    "CREATE STREAM x (a INT) STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{}') FROM FOLDER '/tmp'",
    "CREATE EXTERNAL TABLE x (a INT) LOCATION '{}'",
    "CREATE FUNCTION f AS 'm.f' USING FILE '{}'",
    "SELECT * FROM '{}'",
    "SELECT * FROM parquet.`{}`",
    "SELECT * FROM csv.`{}/*`",
    "SELECT * FROM iceberg.`{}`",
    "SELECT * FROM delta.`{}`",
    "CREATE EXTERNAL TABLE x STORED BY ICEBERG LOCATION '{}'",
    "CREATE EXTERNAL TABLE x (a INT) USING delta LOCATION '{}'",
    "CREATE TABLE x LIKE PARQUET '{}'",
    "CREATE EXTERNAL TABLE x STORED AS PARQUET LOCATION '{}'",
]


@pytest.mark.variants(3)
@pytest.mark.parametrize("statement", OPENED)
def test_a_refusal_tells_nothing(guest: sharkpy.SharkContext, tmp_path: Path, statement: str) -> None:
    """The error of a file out of bounds is the same whether there is one, and whatever it is."""
    guest.sql("CREATE TABLE t (a INT) STORED AS AVRO; CREATE TABLE p (a INT) PARTITIONED BY (ds STRING) STORED AS AVRO")
    guest.sql("ALTER TABLE p ADD PARTITION (ds='one')")
    guest.sql(f"CREATE STREAM s (a INT) FROM FOLDER '{tmp_path}/open'")
    outside = tmp_path / "closed"
    outside.mkdir()
    (outside / "here").write_text(SCHEMA)
    (outside / "folder").mkdir()
    os.mkfifo(outside / "pipe")
    (tmp_path / "open" / "way").symlink_to(outside)
    told = set()
    for name in ("here", "missing", "folder", "pipe", "here/below"):
        for place in (outside / name, tmp_path / "open" / "way" / name, f"{tmp_path}/open/../closed/{name}"):
            with pytest.raises(NotAllowedError) as caught:
                guest.sql(statement.format(place))
            assert caught.value.sqlstate == "42501"
            told.add((str(caught.value).replace(str(place), "…"), caught.value.hint))
    homes = () if "file:" in statement else ("~/x", "~root/x", "~nobody/x", "~no-such-user/x")
    for place in ("/dev/zero", "/dev/stdin", "/proc/self/mem", "/etc/shadow", "/root/x", *homes):
        with pytest.raises(NotAllowedError) as caught:
            guest.sql(statement.format(place))
        told.add((str(caught.value).replace(place, "…"), caught.value.hint))
    assert len(told) == 1, told


def test_links_among_the_files_of_a_table(
    guest: sharkpy.SharkContext, owner: sharkpy.SharkContext, tmp_path: Path
) -> None:
    """A link that leads out of the table's folder is followed for the owner, and for other sessions within their
    bounds.
    """
    rows = tmp_path / "open" / "rows"
    rows.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "x").write_text("7\n")
    (tmp_path / "open" / "shared.txt").write_text("5\n")
    (rows / "own.txt").write_text("1\n")
    (rows / "inner.txt").symlink_to(rows / "own.txt")
    (rows / "shared.txt").symlink_to(tmp_path / "open" / "shared.txt")
    place = f"LOCATION '{rows}'"
    guest.sql(f"CREATE EXTERNAL TABLE e (a INT) {place}")
    guest.sql(f"CREATE EXTERNAL TABLE c (a INT) {place} TBLPROPERTIES ('shark.cache'='MEMORY')")
    guest.sql("CREATE TABLE p (a INT) PARTITIONED BY (ds INT)")
    guest.sql(f"ALTER TABLE p ADD PARTITION (ds=1) {place}")
    queries = [f"SELECT sum(a) FROM {name}" for name in ("e", "c", "p", "p WHERE ds = 1")]
    for query in queries:
        assert guest.sql(query).fetchall() == [(7,)]
    for name, target in (("x.txt", "secret/x"), ("folder", "secret")):
        (rows / name).symlink_to(tmp_path / target)
        for statement in (*queries, f"EXPORT TABLE e TO '{tmp_path}/open/exported'"):
            with pytest.raises(NotAllowedError, match="out of this session's bounds"):
                guest.sql(statement).fetchall()
        assert owner.sql("SELECT sum(a) FROM e").fetchall() == [(14,)]
        (rows / name).unlink()


def test_an_export_names_no_file_out_of_bounds(
    guest: sharkpy.SharkContext, owner: sharkpy.SharkContext, tmp_path: Path
) -> None:
    (tmp_path / "schema").write_text(SCHEMA)
    owner.sql(f"CREATE TABLE t STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{tmp_path}/schema')")
    owner.sql("INSERT INTO t VALUES (1)")
    owner.sql(f"EXPORT TABLE t TO '{tmp_path}/open/t'")
    assert guest.sql("SELECT * FROM t").fetchall() == [(1,)]
    with pytest.raises(NotAllowedError, match="schema"):
        guest.sql(f"IMPORT TABLE u FROM '{tmp_path}/open/t'")


def test_purge_is_for_files_within_the_bounds(
    guest: sharkpy.SharkContext, owner: sharkpy.SharkContext, tmp_path: Path
) -> None:
    """DROP TABLE by anybody would delete the files."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rows").write_text("1\n")
    owner.sql(f"CREATE EXTERNAL TABLE e (a INT) LOCATION '{tmp_path}/mine'")
    for properties in ("'external.table.purge'='true'", "'EXTERNAL'='FALSE'"):
        with pytest.raises(NotAllowedError):
            guest.sql(f"ALTER TABLE e SET TBLPROPERTIES ({properties})")
    guest.sql("DROP TABLE e")
    assert (tmp_path / "mine" / "rows").exists()


def test_an_allowed_folder_is_no_managed_table(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    """DROP TABLE would delete the folder, and INSERT OVERWRITE all files of other programs in it."""
    folder = tmp_path / "open"
    with pytest.raises(NotAllowedError, match="cannot be replaced completely"):
        guest.sql(f"CREATE TABLE x (a INT) LOCATION '{folder}'")
    (folder / "rows").write_text("1\n")
    guest.sql(f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{folder}'")
    for statement in ("INSERT OVERWRITE TABLE x SELECT 2", "ALTER TABLE x SET TBLPROPERTIES ('EXTERNAL'='FALSE')"):
        with pytest.raises(NotAllowedError, match="cannot be replaced completely"):
            guest.sql(statement)
    assert (folder / "rows").read_text() == "1\n"


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
        "shark.test.encoding",
        "shark.test.rules",
        "shark.test.stages",
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
