"""Backups: one state of a warehouse, whatever happens meanwhile, and its restoring."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError, CorruptionError, SharkError, SourceError, UnsupportedError
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.model import Table, TableKind
from sharkpy.cli.main import main
from sharkpy.execution.backup import file_copies as copying
from sharkpy.execution.backup import make_backup as making
from sharkpy.execution.backup.file_copies import Copy, copy_file, local_file
from sharkpy.execution.backup.make_backup import make_backup
from sharkpy.execution.backup.restore_backup import restore_backup
from sharkpy.sources.layout import DataFile
from sharkpy.values.types import INT, Field, Schema


def run(context: sharkpy.SharkContext, *statements: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for statement in statements:
        rows = [tuple(row) for row in context.sql(statement).fetchall()]
    return rows


def restored(tmp_path: Path, *queries: str) -> list[list[tuple[object, ...]]]:
    """Answers of the warehouse that is made from the backup."""
    shutil.rmtree(tmp_path / "restored", ignore_errors=True)
    restore_backup(tmp_path / "backup", tmp_path / "restored")
    with sharkpy.connect("local[2]", tmp_path / "restored") as context:
        return [sorted(run(context, query)) for query in queries]


def backup(tmp_path: Path) -> list[str]:
    """Make a backup as another process does. Return the names of omitted objects."""
    shutil.rmtree(tmp_path / "backup", ignore_errors=True)
    with closing(Catalog(tmp_path / "w")) as catalog:
        return list(make_backup(catalog, tmp_path / "backup").left_out)


def test_a_backup_holds_all_that_the_warehouse_owns(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "w" / "lib").mkdir()
    for folder in (tmp_path / "w" / "lib", tmp_path):
        (folder / "numbers_of_mine.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    run(
        context,
        "CREATE TABLE t (a INT, b STRING)",
        "INSERT INTO t VALUES (1, 'one')",
        "INSERT INTO t VALUES (2, 'two')",
        "DELETE FROM t WHERE a = 1",
        "CREATE TABLE none (a INT)",
        "CREATE DATABASE shop COMMENT 'goods'",
        "CREATE TABLE shop.sales (a INT) PARTITIONED BY (d STRING)",
        "INSERT INTO shop.sales PARTITION (d='x') VALUES (1)",
        "INSERT OVERWRITE TABLE shop.sales PARTITION (d='x') VALUES (3)",
        f"ALTER TABLE shop.sales ADD PARTITION (d='y') LOCATION '{outside}/y'",
        "INSERT INTO shop.sales PARTITION (d='y') VALUES (4)",
        f"CREATE TABLE own (a INT) LOCATION '{outside}/own'",
        "INSERT INTO own VALUES (5)",
        f"CREATE DATABASE far LOCATION '{outside}/far.db'",
        "CREATE TABLE far.t (a INT) PARTITIONED BY (d STRING)",
        "INSERT INTO far.t PARTITION (d='z') VALUES (6)",
        f"CREATE EXTERNAL TABLE facts (a INT) LOCATION '{outside}/facts'",
        "INSERT INTO facts VALUES (7)",
        f"CREATE EXTERNAL TABLE inside (a INT) LOCATION '{tmp_path}/w/given'",
        "INSERT INTO inside VALUES (8)",
        f"CREATE EXTERNAL TABLE later (a INT) LOCATION '{tmp_path}/w/later'",
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE TABLE kept (a INT) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
        "INSERT INTO kept VALUES (9)",
        f"CREATE FUNCTION mine AS 'numbers_of_mine.twice' USING FILE '{tmp_path}/w/lib/numbers_of_mine.py'",
        f"CREATE FUNCTION yours AS 'numbers_of_mine.twice' USING FILE '{tmp_path}/numbers_of_mine.py'",
    )
    assert backup(tmp_path) == [
        f"files of table default.facts: {outside}/facts",
        f"file of function default.yours: {tmp_path}/numbers_of_mine.py",
    ]
    assert not list((tmp_path / "w" / ".sharkpy").glob("backup*"))
    context.stop()
    shutil.rmtree(tmp_path / "w")
    shutil.rmtree(outside / "own")
    shutil.rmtree(outside / "far.db")
    shutil.rmtree(outside / "y")
    assert restored(
        tmp_path,
        "SELECT * FROM v",
        "SELECT count(*) FROM none",
        "SELECT a, d FROM shop.sales",
        "SELECT a FROM own",
        "SELECT a, d FROM far.t",
        "SELECT a FROM facts UNION ALL SELECT a FROM inside UNION ALL SELECT a FROM kept",
        "SELECT mine(21)",
    ) == [[(2, "two")], [(0,)], [(3, "x"), (4, "y")], [(5,)], [(6, "z")], [(7,), (8,), (9,)], [(42,)]]
    with sharkpy.connect("local[2]", tmp_path / "restored", shark_table_retention="0") as again:
        places = ("t", "none", "shop.db/sales", "shop.db/sales/d=x", "kept")
        assert all(again.catalog.log.find(str(tmp_path / "restored" / place)) is not None for place in places)
        run(again, "INSERT INTO shop.sales PARTITION (d='y') VALUES (40)", "INSERT INTO own VALUES (50)")
        assert sorted(run(again, "SELECT a FROM shop.sales UNION ALL SELECT a FROM own")) == [
            (3,),
            (4,),
            (5,),
            (40,),
            (50,),
        ]
        assert again.catalog.table("default", "own").kind is TableKind.MANAGED
        run(again, "DROP TABLE shop.sales", "DROP TABLE own", "DROP DATABASE far CASCADE", "DROP TABLE facts")
        assert not list((tmp_path / "restored").glob("outside-*/*"))
    assert (outside / "facts").exists()


def test_remote_files_of_others_are_left_out(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """The files stay in their places, and so do the tables and Hive partitions that have them."""
    schema, catalog = Schema((Field("a", INT), Field("p", INT))), context.catalog
    catalog.create_database("d", location="gs://bucket/d")
    for name, location in (("one", "s3a://KEY:SECRET@bucket/one"), ("two", "hdfs://nn/two")):
        table = Table(
            new_table_id(), "default", name, TableKind.EXTERNAL, schema, location=location, partition_columns=("p",)
        )
        with catalog.partition_changes(catalog.create_table(table)) as changes:
            changes.add("p=1", f"s3a://bucket/{name}")
    assert backup(tmp_path) == [
        "files of table default.one: s3a://***@bucket/one",
        "files of table default.one: s3a://bucket/one",
        "files of table default.two: hdfs://nn/two",
        "files of table default.two: s3a://bucket/two",
    ]
    restore_backup(tmp_path / "backup", tmp_path / "restored")
    with closing(Catalog(tmp_path / "restored")) as again:
        # New tables of the database are in the restored warehouse, not next to the original's tables.
        assert again.database("d").location == f"{tmp_path}/restored/d.db"
        for name, location in (("one", "s3a://KEY:SECRET@bucket/one"), ("two", "hdfs://nn/two")):
            found = again.table("default", name)
            assert (found.kind, found.location) == (TableKind.EXTERNAL, location)
            assert [one.location for one in again.partitions(found)] == [f"s3a://bucket/{name}"]


def test_a_backup_is_one_state_while_others_write(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement of the writer puts equal rows into two tables, one of them partitioned."""
    run(
        context,
        "CREATE TABLE seed AS SELECT 1 AS a",
        "CREATE TABLE plain (a INT)",
        "CREATE TABLE parts (a INT) PARTITIONED BY (d INT)",
        "SET hive.exec.dynamic.partition.mode=nonstrict",
    )
    failures: list[SharkError] = []
    is_over = threading.Event()
    has_written = threading.Semaphore(0)

    def write() -> None:
        session = context.new_session()
        run(session, "SET hive.exec.dynamic.partition.mode=nonstrict")
        number = 0
        try:
            while not is_over.is_set():
                number += 1
                kind = "OVERWRITE TABLE" if number % 4 == 0 else "INTO TABLE"
                sources = (
                    f"INSERT {kind} plain SELECT {number} INSERT {kind} parts PARTITION (d) SELECT {number}, a % 2"
                )
                run(session, f"FROM seed {sources}")
                has_written.release()
        except SharkError as error:
            failures.append(error)
            has_written.release()

    copy_catalog = Catalog.copy_file

    def copy_slowly(catalog: Catalog, path: str) -> None:
        copy_catalog(catalog, path)
        # The writer has the time for two statements, and must wait.
        for _ in range(2):
            has_written.acquire(timeout=0.3)

    monkeypatch.setattr(Catalog, "copy_file", copy_slowly)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            for _ in range(3):
                has_written.acquire()
            backup(tmp_path)
            plain, parts = restored(tmp_path, "SELECT a FROM plain", "SELECT a FROM parts")
            assert plain == parts != []
    finally:
        is_over.set()
        writer.join()
    assert failures == []


def test_tables_that_go_while_files_are_copied_are_saved(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(context, *(f"CREATE TABLE {name} AS SELECT 1 AS a" for name in ("dropped", "renamed", "replaced")))
    copy = copying.copy_file
    changes = iter(
        [
            "DROP TABLE dropped",
            "ALTER TABLE renamed RENAME TO other",
            "INSERT OVERWRITE TABLE replaced SELECT 2",
            "CREATE TABLE dropped AS SELECT 3 AS a",
        ]
    )

    one = threading.Lock()

    def copy_after_changes(source: DataFile, target: str, access_id: str) -> Copy:
        with one:
            run(context, *changes)
        return copy(source, target, access_id)

    monkeypatch.setattr(copying, "copy_file", copy_after_changes)
    backup(tmp_path)
    assert run(context, "SELECT a FROM replaced UNION ALL SELECT a FROM dropped ORDER BY a") == [(2,), (3,)]
    names = ("dropped", "renamed", "replaced")
    assert restored(tmp_path, *(f"SELECT a FROM {name}" for name in names)) == [[(1,)]] * 3


def test_files_without_second_names_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table on another file system keeps its files until the backup, a reader of them, is made."""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, "CREATE TABLE t AS SELECT 1 AS a")
    copy = copying.copy_file
    overwrite = [sys.executable, "-m", "sharkpy.cli.main", "--warehouse", str(tmp_path / "w")]
    commands = iter([[*overwrite, "-e", "INSERT OVERWRITE TABLE t SELECT 2"]])

    one = threading.Lock()

    def copy_after_overwrite(source: DataFile, target: str, access_id: str) -> Copy:
        with one:
            for command in commands:
                subprocess.run(command, check=True)
        return copy(source, target, access_id)

    def refuse(self: Path, target: str) -> None:
        raise OSError(18, f"{self} and {target} are on different devices")

    monkeypatch.setattr(copying, "copy_file", copy_after_overwrite)
    monkeypatch.setattr(making, "_link", refuse)
    backup(tmp_path)
    assert next(commands, None) is None
    assert restored(tmp_path, "SELECT a FROM t") == [[(1,)]]


def test_a_failed_backup_leaves_no_files(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(context, "CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE u AS SELECT 2 AS a")
    copy, copied = copying.copy_file, list[str]()

    def copy_some(source: DataFile, target: str, access_id: str) -> Copy:
        if "/u/" in target:
            raise SourceError("the disk is broken")
        copied.append(target)
        return copy(source, target, access_id)

    monkeypatch.setattr(copying, "copy_file", copy_some)
    with pytest.raises(SourceError, match="the disk is broken"):
        make_backup(context.catalog, tmp_path / "backup")
    assert copied
    assert not (tmp_path / "backup").exists()


def test_a_killed_backup_leaves_no_links(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(context, "CREATE TABLE t AS SELECT 1 AS a")
    code = (
        "import os, sys; from pathlib import Path; from sharkpy.catalog.catalog import Catalog;"
        "from sharkpy.execution.backup import file_copies, make_backup as making;"
        "file_copies.copy_file = lambda *_: os.abort();"
        "making.make_backup(Catalog(sys.argv[1]), Path(sys.argv[2]))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "w", tmp_path / "backup"], check=False)
    assert done.returncode != 0
    assert len(list((tmp_path / "w" / ".sharkpy").glob("backup-*"))) == 1
    sharkpy.connect("local[2]", tmp_path / "w").stop()
    assert list((tmp_path / "w" / ".sharkpy").glob("backup-*")) == []
    with pytest.raises(SourceError, match=r"is not a backup.*backup\.json.* is missing"):
        restore_backup(tmp_path / "backup", tmp_path / "restored")
    assert run(context, "SELECT a FROM t") == [(1,)]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


@pytest.mark.parametrize("damage", [_cut, _flip, Path.unlink])
@pytest.mark.parametrize("name", ["*.parquet", "catalog.sqlite"])
def test_a_damaged_backup_is_not_restored(
    context: sharkpy.SharkContext, tmp_path: Path, damage: object, name: str
) -> None:
    run(context, "CREATE TABLE t STORED AS PARQUET AS SELECT 1 AS a")
    backup(tmp_path)
    (path,) = (tmp_path / "backup").rglob(name)
    path.chmod(0o600)
    damage(path)  # type: ignore[operator]
    with pytest.raises(CorruptionError, match=path.name):
        restore_backup(tmp_path / "backup", tmp_path / "restored")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "w"]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"format": 99, "written_by": "9.9"}, ConfigurationError, "format 99, written by sharkpy 9.9"),
        ({"files": [{"path": "../x", "size_bytes": 0, "checksum": ""}]}, CorruptionError, r'names the file "\.\./x"'),
        ({"files": [{"path": "/x", "size_bytes": 0, "checksum": ""}]}, CorruptionError, 'names the file "/x"'),
        ({"files": [{"where": "x"}]}, CorruptionError, "is damaged"),
    ],
)
def test_manifests_are_checked(tmp_path: Path, change: dict[str, object], kind: type[SharkError], message: str) -> None:
    Catalog(tmp_path / "w").close()
    backup(tmp_path)
    path = tmp_path / "backup" / "backup.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(kind, match=message):
        restore_backup(tmp_path / "backup", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_a_backup_of_an_older_catalog_is_upgraded(tmp_path: Path) -> None:
    """The backup was made by an engine of format 1, as far as its catalog goes."""
    Catalog(tmp_path / "w").close()
    backup(tmp_path)
    file = tmp_path / "backup" / "warehouse" / ".sharkpy" / "catalog.sqlite"
    path = tmp_path / "backup" / "backup.json"
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((Path(__file__).parents[1] / "catalog" / "format_1.sql").read_text())
    saved = copy_file(local_file(str(file)), str(tmp_path / "aside"))
    record = {"path": ".sharkpy/catalog.sqlite", "size_bytes": saved.file.size_bytes, "checksum": saved.checksum}
    body = {"format": 1, **{key: json.loads(path.read_text())[key] for key in ("num_tables", "left_out", "made_at")}}
    path.write_text(json.dumps(body | {"files": [record]}))
    restore_backup(tmp_path / "backup", tmp_path / "restored")
    with closing(Catalog(tmp_path / "restored")) as catalog:
        assert catalog.table_names("shop") == ["sales"]


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--warehouse", str(tmp_path / "w")]
    assert main(["backup", str(tmp_path / "b"), *place]) == 1
    assert "there is no warehouse" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, "CREATE TABLE t AS SELECT 1 AS a", f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{tmp_path}/x'")
    assert main(["backup", str(tmp_path / "b"), *place]) == 0
    out = capsys.readouterr().out
    assert out.startswith("saved 2 tables and views, 2 files, ")
    assert out.endswith(f"not saved, outside of the warehouse: files of table default.x: {tmp_path}/x\n")
    assert main(["backup", str(tmp_path / "b"), *place]) == 1
    assert "exists and is not empty" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "w" / "b"), *place]) == 1
    assert "inside the warehouse" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "b"), *place]) == 1
    assert "exists and is not empty" in capsys.readouterr().err
    (tmp_path / "new").mkdir()
    assert main(["restore", str(tmp_path / "b"), "--warehouse", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.startswith("restored 2 tables and views, 2 files, ")
    with sharkpy.connect("local[2]", tmp_path / "new") as context:
        assert run(context, "SELECT a FROM t") == [(1,)]


def test_a_metastore_is_not_saved(tmp_path: Path) -> None:
    assert main(["backup", str(tmp_path / "b"), "--metastore", "hive", "--warehouse", str(tmp_path)]) == 1
    with closing(Catalog(tmp_path)) as catalog:
        catalog._store.is_shared = True  # type: ignore[attr-defined]
        with pytest.raises(UnsupportedError, match="Hive metastore"):
            make_backup(catalog, tmp_path / "b")
    assert not (tmp_path / "b").exists()
