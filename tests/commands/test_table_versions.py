"""Earlier versions of managed tables: AS OF, DESCRIBE HISTORY, RESTORE, CLONE, VACUUM, UNDROP and retention."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import (
    BindError,
    ConfigurationError,
    ParseError,
    SharkError,
    TableChangedError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from tests.files import files_of

FORMATS = ("PARQUET", "ORC", "TEXTFILE", "JSONFILE", "AVRO", "SEQUENCEFILE")


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "warehouse") as context:
        yield context


def rows(context: sharkpy.SharkContext, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in context.sql(text).fetchall()]


def versions(context: sharkpy.SharkContext, table: str = "t") -> list[int]:
    """Versions of a table, the oldest first."""
    return [row[0] for row in reversed(rows(context, f"DESCRIBE HISTORY {table}"))]


def numbers(context: sharkpy.SharkContext, table: str = "t", version: int | None = None) -> list[int]:
    as_of = "" if version is None else f" VERSION AS OF {version}"
    return [row[0] for row in rows(context, f"SELECT a FROM {table}{as_of} ORDER BY a")]


def make(context: sharkpy.SharkContext, table: str = "t", form: str = "PARQUET", properties: str = "") -> list[int]:
    """Make a table by four statements, and return its versions after the first one."""
    context.sql(f"CREATE TABLE {table} (a INT, s STRING) STORED AS {form} {properties}")
    context.sql(f"INSERT INTO {table} VALUES (1, 'x'), (2, 'y')")
    context.sql(f"INSERT INTO {table} VALUES (3, 'z')")
    context.sql(f"DELETE FROM {table} WHERE a = 1")
    return versions(context, table)[1:]


EXPECTED = ([1, 2], [1, 2, 3], [2, 3])
"""Rows of the versions of `make`."""


def files_below(folder: str | None) -> list[Path]:
    return [path for path in Path(folder or "").rglob("*") if path.is_file()]


def location(context: sharkpy.SharkContext, table: str = "t") -> str:
    return context.catalog.table("default", table).location or ""


# AS OF


@pytest.mark.parametrize("form", FORMATS)
def test_each_version_is_read(context: sharkpy.SharkContext, form: str) -> None:
    made = make(context, form=form)
    assert [numbers(context, version=one) for one in made] == list(EXPECTED)
    words = ("FOR SYSTEM_VERSION AS OF {}", "FOR VERSION AS OF {}", "VERSION AS OF {}")
    for word in words:
        assert rows(context, f"SELECT count(*) FROM t {word.format(made[0])}") == [(2,)]
    assert rows(context, f"SELECT count(*) FROM t@v{made[0]}") == [(2,)]


def test_the_version_of_a_moment(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT)")
    context.sql("INSERT INTO t VALUES (1)")
    time.sleep(0.01)
    [(moment,)] = rows(context, "SELECT cast(current_timestamp() AS STRING)")
    time.sleep(0.01)
    context.sql("INSERT OVERWRITE TABLE t VALUES (2)")
    assert numbers(context) == [2]
    for word in ("FOR SYSTEM_TIME AS OF", "TIMESTAMP AS OF"):
        assert rows(context, f"SELECT a FROM t {word} '{moment}'") == [(1,)]
    with pytest.raises(BindError, match="is not available"):
        rows(context, "SELECT a FROM t TIMESTAMP AS OF '2001-01-01'")


def test_versions_are_joined_and_compared(context: sharkpy.SharkContext) -> None:
    first, _, last = make(context)
    gone = f"SELECT a FROM t VERSION AS OF {first} EXCEPT SELECT a FROM t"
    assert rows(context, gone) == [(1,)]
    joined = f"SELECT x.a FROM t VERSION AS OF {first} x JOIN t VERSION AS OF {last} y ON x.a = y.a"
    assert rows(context, joined) == [(2,)]


def test_a_version_has_the_columns_of_its_time(context: sharkpy.SharkContext) -> None:
    first = make(context)[0]
    context.sql("ALTER TABLE t REPLACE COLUMNS (s STRING)")
    context.sql("INSERT OVERWRITE TABLE t VALUES ('new')")
    assert rows(context, "SELECT * FROM t") == [("new",)]
    assert rows(context, f"SELECT * FROM t VERSION AS OF {first} ORDER BY a") == [(1, "x"), (2, "y")]
    context.sql("ALTER TABLE t RENAME TO u")
    assert rows(context, f"SELECT * FROM u VERSION AS OF {first} ORDER BY a") == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("mode", ["NONE", "MEMORY"])
def test_a_table_in_memory_has_versions(context: sharkpy.SharkContext, mode: str) -> None:
    made = make(context, properties=f"TBLPROPERTIES ('shark.cache'='{mode}')")
    assert numbers(context) == [2, 3]
    assert [numbers(context, version=one) for one in made] == list(EXPECTED)


def test_versions_are_read_by_tasks_on_spark(context: sharkpy.SharkContext) -> None:
    made = make(context)
    context.sql("SET shark.placement.driver=false")
    assert [numbers(context, version=one) for one in made] == list(EXPECTED)


def test_folds_keep_every_version(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) STORED AS PARQUET")
    for number in range(40):
        context.sql(f"INSERT INTO t VALUES ({number})")
    context.table_cache.settle()
    table = context.catalog.table("default", "t")
    folder = context.catalog.log.find(table.location or "")
    assert folder is not None
    assert len(context.catalog.log.files(folder)) < 40
    for count, version in enumerate(versions(context)):
        assert rows(context, f"SELECT count(*) FROM t VERSION AS OF {version}") == [(count,)]


def test_hive_partitions_of_versions(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d STRING) STORED AS PARQUET")
    changes = (
        "INSERT INTO t PARTITION (d) VALUES (1, 'x'), (2, 'y')",
        "INSERT INTO t PARTITION (d='x') VALUES (3)",
        "ALTER TABLE t DROP PARTITION (d='x')",
        "INSERT INTO t PARTITION (d='x') VALUES (4)",
        "ALTER TABLE t PARTITION (d='y') RENAME TO PARTITION (d='z')",
        "INSERT OVERWRITE TABLE t PARTITION (d='z') VALUES (5)",
        "TRUNCATE TABLE t PARTITION (d='x')",
    )
    expected = [list[tuple[int, str]]()]
    for change in changes:
        context.sql(change)
        expected.append(rows(context, "SELECT a, d FROM t ORDER BY a"))
    found = [rows(context, f"SELECT a, d FROM t VERSION AS OF {one} ORDER BY a") for one in versions(context)]
    assert found == expected
    named = rows(context, f"SELECT a FROM t VERSION AS OF {versions(context)[2]} WHERE d = 'x' ORDER BY a")
    assert named == [(1,), (3,)]
    context.sql("ALTER TABLE t RENAME TO u")
    context.sql("MSCK REPAIR TABLE u SYNC PARTITIONS")
    assert rows(context, "SELECT a, d FROM u ORDER BY a") == expected[-1]
    found = [rows(context, f"SELECT a, d FROM u VERSION AS OF {one} ORDER BY a") for one in versions(context, "u")]
    assert found[: len(expected)] == expected


def test_added_partitions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d STRING) STORED AS TEXTFILE")
    context.sql("ALTER TABLE t ADD PARTITION (d='x')")
    context.sql("INSERT INTO t PARTITION (d='x') VALUES (1)")
    context.sql("INSERT INTO t PARTITION (d='x') VALUES (2)")
    assert [numbers(context, version=one) for one in versions(context)] == [[], [], [1], [1, 2]]
    (tmp_path / "far").mkdir()
    context.sql(f"ALTER TABLE t ADD PARTITION (d='y') LOCATION '{tmp_path / 'far'}'")
    assert numbers(context, version=versions(context)[3]) == [1, 2]
    with pytest.raises(UnsupportedError, match="whose partition d=y is in"):
        numbers(context, version=versions(context)[4])


def test_exchanged_partitions(context: sharkpy.SharkContext) -> None:
    for table in ("t", "u"):
        context.sql(f"CREATE TABLE {table} (a INT) PARTITIONED BY (d STRING) STORED AS PARQUET")
    context.sql("INSERT INTO t PARTITION (d='x') VALUES (1)")
    context.sql("ALTER TABLE u EXCHANGE PARTITION (d='x') WITH TABLE t")
    context.sql("INSERT INTO u PARTITION (d='x') VALUES (2)")
    assert [numbers(context, "t", one) for one in versions(context, "t")] == [[], [1], []]
    assert [numbers(context, "u", one) for one in versions(context, "u")] == [[], [1], [1, 2]]


def test_partitions_keep_their_columns(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT, s STRING) PARTITIONED BY (d INT) STORED AS TEXTFILE")
    context.sql("INSERT INTO t PARTITION (d=1) VALUES (1, 'x')")
    version = versions(context)[-1]
    context.sql("SET hive.metastore.disallow.incompatible.col.type.changes=false")
    context.sql("ALTER TABLE t REPLACE COLUMNS (s STRING, a INT)")
    context.sql("INSERT INTO t PARTITION (d=2) VALUES ('y', 2)")
    assert rows(context, f"SELECT * FROM t VERSION AS OF {version}") == [(1, "x", 1)]
    context.sql(f"RESTORE TABLE t TO VERSION AS OF {version}")
    assert rows(context, "SELECT * FROM t") == [(1, "x", 1)]


def test_tables_without_versions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    context.sql(f"CREATE EXTERNAL TABLE e (a INT) LOCATION '{tmp_path / 'data'}'")
    context.sql("CREATE TEMPORARY TABLE m (a INT)")
    context.sql("CREATE VIEW v AS SELECT 1 AS a")
    for table in ("e", "m"):
        with pytest.raises(UnsupportedError, match=r"whose changes are not recorded \(line 1"):
            rows(context, f"SELECT * FROM {table} VERSION AS OF 1")
    for statement in ("DESCRIBE HISTORY e", "VACUUM e", "RESTORE TABLE e TO VERSION AS OF 1", "CREATE TABLE c CLONE e"):
        with pytest.raises(UnsupportedError, match="whose changes are not recorded"):
            context.sql(statement)
    for statement in ("VACUUM v", "RESTORE TABLE v TO VERSION AS OF 1", "CREATE TABLE c CLONE v"):
        with pytest.raises(BindError, match="needs a table"):
            context.sql(statement)


# DESCRIBE HISTORY


def test_history(context: sharkpy.SharkContext) -> None:
    make(context)
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('k'='v')")
    found = rows(context, "DESCRIBE HISTORY t")
    texts = [row[3] for row in found]
    assert [text.split()[0] for text in texts] == ["ALTER", "DELETE", "INSERT", "INSERT", "CREATE"]
    assert [row[4:] for row in found] == [(0, 0, 0, 0), (1, 2, 2, 3), (1, 0, 1, 0), (1, 0, 2, 0), (0, 0, 0, 0)]
    assert len({row[2] for row in found}) == 1
    assert found[0][2]
    assert sorted(row[1] for row in found) == [row[1] for row in reversed(found)]


def test_a_secret_is_not_in_the_history(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a STRING)")
    context.sql("INSERT INTO t VALUES ('s3a://key:hunter2hunter2@bucket/x')")
    assert "hunter2" not in rows(context, "DESCRIBE HISTORY t")[0][3]


def test_a_table_named_history(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE history (a INT)")
    assert rows(context, "DESCRIBE history") == [("a", "int", "")]
    assert rows(context, "DESCRIBE history a")[0][0] == "a"
    assert rows(context, "DESCRIBE HISTORY default.history") != []


def test_rows_of_a_program_are_in_the_history(context: sharkpy.SharkContext) -> None:
    import pyarrow as pa

    context.save_as_table(pa.table({"a": [1, 2, 3]}), "t")
    [row] = rows(context, "DESCRIBE HISTORY t")
    assert row[4:] == (1, 0, 3, 0)


# RESTORE


@pytest.mark.parametrize("mode", ["NONE", "MEMORY"])
def test_restore(context: sharkpy.SharkContext, mode: str) -> None:
    made = make(context, properties=f"TBLPROPERTIES ('shark.cache'='{mode}')")
    for version, expected in zip(made, EXPECTED, strict=True):
        context.sql(f"RESTORE TABLE t TO VERSION AS OF {version}")
        assert numbers(context) == expected
    context.sql("INSERT INTO t VALUES (9, 'n')")
    assert numbers(context) == [2, 3, 9]
    last = versions(context)
    assert [numbers(context, version=one) for one in last[4:7]] == list(EXPECTED)
    with pytest.raises(BindError, match=f"version {last[-1] + 1} of default.t is not available"):
        context.sql(f"RESTORE t TO VERSION AS OF {last[-1] + 1}")
    assert versions(context) == last


def test_restore_of_columns_and_partitions(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d STRING) STORED AS PARQUET")
    context.sql("INSERT INTO t PARTITION (d) VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    version = versions(context)[-1]
    context.sql("ALTER TABLE t ADD COLUMNS (b INT)")
    context.sql("INSERT INTO t PARTITION (d) VALUES (4, 4, 'w'), (5, 5, 'x')")
    context.sql("ALTER TABLE t DROP PARTITION (d='y')")
    context.sql(f"RESTORE TABLE t TO VERSION AS OF {version}")
    assert rows(context, "SELECT * FROM t ORDER BY a") == [(1, "x"), (2, "y"), (3, "z")]
    assert rows(context, "SHOW PARTITIONS t") == [("d=x",), ("d=y",), ("d=z",)]
    context.sql("INSERT INTO t PARTITION (d='y') VALUES (6)")
    assert rows(context, "SELECT * FROM t WHERE d = 'y' ORDER BY a") == [(2, "y"), (6, "y")]


def test_restore_to_a_moment(context: sharkpy.SharkContext) -> None:
    make(context)
    [(moment,)] = rows(context, "SELECT cast(current_timestamp() AS STRING)")
    time.sleep(0.01)
    context.sql("TRUNCATE TABLE t")
    assert numbers(context) == []
    context.sql(f"RESTORE TABLE t TO TIMESTAMP AS OF '{moment}'")
    assert numbers(context) == [2, 3]


def test_restore_beside_writers_loses_no_row(context: sharkpy.SharkContext) -> None:
    """Each insert is before the restore, and undone by it, or after it, and kept."""
    context.sql("CREATE TABLE t (a INT) STORED AS PARQUET")
    context.sql("INSERT INTO t VALUES (0)")
    version = versions(context)[-1]

    def insert() -> None:
        for number in range(1, 12):
            context.sql(f"INSERT INTO t VALUES ({number})").close()

    writer = threading.Thread(target=insert)
    writer.start()
    for _ in range(3):
        with suppress(TableChangedError):
            context.sql(f"RESTORE TABLE t TO VERSION AS OF {version}").close()
    writer.join()
    found = numbers(context)
    assert found == [0, *range(12 - len(found) + 1, 12)]


# CLONE


@pytest.mark.parametrize("partitioned", [False, True])
def test_clone(context: sharkpy.SharkContext, partitioned: bool) -> None:
    context.sql(f"CREATE TABLE t (a INT) {'PARTITIONED BY (d INT)' if partitioned else ''} STORED AS PARQUET")
    into = "PARTITION (d=1) " if partitioned else ""
    context.sql(f"INSERT INTO t {into}VALUES (1)")
    context.sql(f"INSERT INTO t {into}VALUES (2)")
    version = versions(context)[1]
    context.sql("CREATE TABLE c CLONE t")
    context.sql(f"CREATE TABLE e CLONE t FOR SYSTEM_VERSION AS OF {version}")
    context.sql("CREATE TABLE IF NOT EXISTS e CLONE t")
    assert (numbers(context, "c"), numbers(context, "e")) == ([1, 2], [1])
    files = {table: {file.path for file in files_of(context, table)} for table in "tce"}
    assert files["t"] == files["c"] > files["e"], "a clone has the same files"
    context.sql(f"INSERT INTO c {into}VALUES (3)")
    context.sql("DELETE FROM t")
    context.sql("DROP TABLE t PURGE")
    assert (numbers(context, "c"), numbers(context, "e")) == ([1, 2, 3], [1])
    context.sql("CREATE TABLE t (a INT)")
    context.sql("INSERT INTO t VALUES (9)")
    context.sql("DROP TABLE t PURGE")
    assert (numbers(context, "c"), numbers(context, "e")) == ([1, 2, 3], [1])
    assert [row[6] for row in rows(context, "DESCRIBE HISTORY c")] == [1, 2]
    with pytest.raises(TableExistsError):
        context.sql("CREATE TABLE c CLONE e")
    context.sql("ALTER TABLE c SET TBLPROPERTIES ('shark.table.retention'='0')")
    context.sql("CREATE OR REPLACE TABLE c CLONE e")
    assert numbers(context, "c") == [1]
    context.sql("DROP TABLE e PURGE")
    assert numbers(context, "c") == [1]
    assert all(map(os.path.exists, files["e"]))
    context.sql("VACUUM c RETAIN 0 HOURS")
    context.sql("DROP TABLE c PURGE")
    assert not any(map(os.path.exists, files["t"])), "the last table that needs a file deletes it"


def test_a_clone_is_like_its_source(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT COMMENT 'c') COMMENT 'k' STORED AS ORC TBLPROPERTIES ('p'='1', 'q'='2')")
    context.sql("CREATE TABLE c CLONE t TBLPROPERTIES ('q'='3')")
    made, source = (context.catalog.table("default", name) for name in "ct")
    assert (made.schema, made.storage, made.comment) == (source.schema, source.storage, source.comment)
    assert dict(made.properties) == {"p": "1", "q": "3"}
    for statement in ("CREATE EXTERNAL TABLE x CLONE t", "CREATE TEMPORARY TABLE x CLONE t"):
        with pytest.raises(UnsupportedError):
            context.sql(statement)
    with pytest.raises(ParseError):
        context.sql("CREATE TABLE x CLONE t AS SELECT 1")
    with pytest.raises(UnsupportedError, match="the file of a table of CLONE"):
        context.sql("CREATE TABLE x CLONE t STORED AS PARQUET")


# Retention and VACUUM


def test_vacuum(context: sharkpy.SharkContext) -> None:
    made = make(context)
    assert rows(context, "VACUUM t DRY RUN") == []
    listed = rows(context, "VACUUM t RETAIN 0 HOURS DRY RUN")
    assert len(listed) == 2
    assert all(Path(path).stat().st_size == size for path, size in listed)
    assert len(files_below(location(context))) == 3
    assert rows(context, "VACUUM TABLE t RETAIN 0 HOURS") == listed
    assert len(files_below(location(context))) == 1
    assert numbers(context) == [2, 3]
    assert versions(context) == [made[-1]]
    with pytest.raises(BindError, match="is not available"):
        numbers(context, version=made[0])
    assert numbers(context, version=made[-1]) == [2, 3]


def test_vacuum_waits_for_readers(context: sharkpy.SharkContext) -> None:
    first = make(context)[0]
    result = context.sql(f"SELECT a FROM t VERSION AS OF {first} ORDER BY a")
    context.sql("VACUUM t RETAIN 0 HOURS")
    assert [tuple(row) for row in result.fetchall()] == [(1,), (2,)]
    context.sql("VACUUM t RETAIN 0 HOURS")
    assert len(files_below(location(context))) == 1


def test_no_retention_deletes_at_once(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_table_retention="0") as context:
        make(context)
        assert len(files_below(location(context))) == 1
        folder = Path(location(context))
        context.sql("DROP TABLE t")
        assert not folder.exists()
        with pytest.raises(TableNotFoundError, match="no dropped table"):
            context.sql("UNDROP TABLE t")
        context.sql("CREATE TABLE p (a INT) PARTITIONED BY (d INT, e INT) STORED AS PARQUET")
        context.sql("INSERT INTO p PARTITION (d, e) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1)")
        context.sql("ALTER TABLE p DROP PARTITION (d=1, e=1)")
        assert sorted(path.name for path in Path(location(context, "p"), "d=1").iterdir()) == ["e=2"]
        context.sql("ALTER TABLE p DROP PARTITION (d=1)")
        assert sorted(path.name for path in Path(location(context, "p")).glob("d=*")) == ["d=2"]
        context.sql("INSERT INTO p PARTITION (d, e) VALUES (4, 1, 1)")
        assert numbers(context, "p") == [3, 4]


def test_a_property_sets_the_retention(context: sharkpy.SharkContext) -> None:
    make(context, properties="TBLPROPERTIES ('shark.table.retention'='0')")
    assert len(files_below(location(context))) == 1
    with pytest.raises(ConfigurationError, match='"soon" is not a duration') as caught:
        context.sql("ALTER TABLE t SET TBLPROPERTIES ('shark.table.retention'='soon')")
    assert caught.value.sqlstate == "22023"


def test_the_next_write_deletes_what_is_over(context: sharkpy.SharkContext) -> None:
    make(context)
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('shark.table.retention'='0.3 seconds')")
    time.sleep(0.4)
    context.sql("INSERT OVERWRITE TABLE t VALUES (7, 'x')")
    assert len(files_below(location(context))) == 2
    time.sleep(0.4)
    context.sql("INSERT OVERWRITE TABLE t VALUES (8, 'x')")
    assert len(files_below(location(context))) == 2


def test_the_next_start_deletes_what_is_over(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make(context, properties="TBLPROPERTIES ('shark.table.retention'='0.1 seconds')")
        make(context, "d", properties="TBLPROPERTIES ('shark.table.retention'='0.1 seconds')")
        folder = location(context, "d")
        context.sql("DROP TABLE d")
        time.sleep(0.2)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        deadline = time.monotonic() + 60
        while len(files_below(location(context))) > 1 or Path(folder).exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert numbers(context) == [2, 3]


# UNDROP


def test_undrop_table(context: sharkpy.SharkContext) -> None:
    made = make(context)
    folder = location(context)
    context.sql("DROP TABLE t")
    with pytest.raises(TableNotFoundError):
        numbers(context)
    context.sql("CREATE TABLE t (z INT)")
    assert location(context) != folder
    context.sql("INSERT INTO t VALUES (1)")
    with pytest.raises(TableExistsError):
        context.sql("UNDROP TABLE t")
    context.sql("DROP TABLE t PURGE")
    context.sql("UNDROP TABLE t")
    assert numbers(context) == [2, 3]
    assert [numbers(context, version=one) for one in made] == list(EXPECTED)
    with pytest.raises(TableExistsError):
        context.sql("UNDROP TABLE t")
    with pytest.raises(TableNotFoundError, match=r"no dropped table default\.u is retained"):
        context.sql("UNDROP TABLE u")


def test_the_last_dropped_table_comes_back_first(context: sharkpy.SharkContext) -> None:
    for number in (1, 2):
        context.sql(f"CREATE TABLE t AS SELECT {number} AS a")
        context.sql("DROP TABLE t")
    context.sql("UNDROP TABLE t")
    assert numbers(context) == [2]
    context.sql("ALTER TABLE t RENAME TO u")
    context.sql("UNDROP TABLE t")
    assert (numbers(context), numbers(context, "u")) == ([1], [2])


def test_undrop_of_partitions(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
    context.sql("INSERT INTO t PARTITION (d) VALUES (1, 1), (2, 2)")
    context.sql("DROP TABLE t")
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
    assert numbers(context) == []
    context.sql("INSERT INTO t PARTITION (d) VALUES (3, 1)")
    assert numbers(context) == [3]
    context.sql("DROP TABLE t")
    context.sql("UNDROP TABLE t")
    assert numbers(context) == [3]


def test_a_table_renamed_to_a_dropped_name(context: sharkpy.SharkContext) -> None:
    make(context)
    context.sql("CREATE TABLE u (a INT)")
    context.sql("INSERT INTO u VALUES (5)")
    context.sql("DROP TABLE t")
    context.sql("ALTER TABLE u RENAME TO t")
    assert numbers(context) == [5]
    context.sql("ALTER TABLE t RENAME TO u")
    context.sql("UNDROP TABLE t")
    assert (numbers(context), numbers(context, "u")) == ([2, 3], [5])


def test_a_named_location_ends_the_retention(context: sharkpy.SharkContext) -> None:
    make(context)
    folder = location(context)
    context.sql("DROP TABLE t")
    context.sql(f"CREATE TABLE n (a INT) LOCATION '{folder}'")
    assert numbers(context, "n") == []
    with pytest.raises(TableNotFoundError):
        context.sql("UNDROP TABLE t")


def test_undrop_database(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE DATABASE d COMMENT 'k'")
    make(context, "d.t")
    context.sql("CREATE TABLE d.early (a INT)")
    context.sql("DROP TABLE d.early")
    context.sql("DROP DATABASE d CASCADE")
    with pytest.raises(SharkError):
        numbers(context, "d.t")
    context.sql("CREATE DATABASE d")
    with pytest.raises(BindError, match="already exists"):
        context.sql("UNDROP DATABASE d")
    context.sql("DROP DATABASE d")
    context.sql("UNDROP DATABASE d")
    assert rows(context, "SHOW TABLES IN d") == []
    context.sql("DROP DATABASE d")
    with pytest.raises(SharkError, match="no dropped database nowhere is retained"):
        context.sql("UNDROP DATABASE nowhere")


def test_undrop_database_with_its_tables(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE DATABASE d COMMENT 'k'")
    made = make(context, "d.t")
    context.sql("DROP DATABASE d CASCADE")
    context.sql("UNDROP DATABASE d")
    assert context.catalog.database("d").comment == "k"
    assert [numbers(context, "d.t", one) for one in made] == list(EXPECTED)


def test_dropped_tables_survive_a_restart(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        made = make(context)
        context.sql("DROP TABLE t")
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("UNDROP TABLE t")
        assert [numbers(context, version=one) for one in made] == list(EXPECTED)


def test_a_table_that_became_external_keeps_its_files(context: sharkpy.SharkContext) -> None:
    make(context)
    folder = location(context)
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL'='TRUE', 'shark.table.retention'='0.1 seconds')")
    context.sql("DROP TABLE t")
    time.sleep(0.2)
    context.sql("CREATE TABLE u (a INT)")
    context.sql("DROP TABLE u")
    assert files_below(folder)
