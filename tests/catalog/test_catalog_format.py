"""Format of the catalog: files of other formats, damaged ones, and upgrades.

`format_1.sql`, `format_5.sql` and `format_10.sql` were written by the engine when that was its format; `@ROOT@` stands
for the folder with the warehouse in it.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ConfigurationError, CorruptionError, SourceError, UnsupportedError
from sharkpy.base.uri import Locations
from sharkpy.base.version import __version__
from sharkpy.catalog import catalog_format, catalog_upgrades
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import TableKind
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.catalog.stream_store import StreamFile
from tests import older_formats

FORMAT_1 = Path(__file__).with_name("format_1.sql")
FORMAT_5 = Path(__file__).with_name("format_5.sql")
FORMAT_10 = Path(__file__).with_name("format_10.sql")
FILES = ("plain/delta_0000001/part-00000.txt", "shop.db/sales/d=x/delta_0000001/part-00000.txt", "elsewhere/z/one")


def make_old(root: Path) -> Path:
    """Make a warehouse of format 1 in `root`, with some of its files."""
    warehouse = root / "warehouse"
    (warehouse / ".sharkpy").mkdir(parents=True)
    for name in FILES:
        (warehouse / name).parent.mkdir(parents=True)
        (warehouse / name).touch()
    with closing(sqlite3.connect(warehouse / CATALOG_FILE)) as file:
        file.execute("PRAGMA journal_mode = WAL")
        file.executescript(FORMAT_1.read_text().replace("@ROOT@", str(root)))
    return warehouse


def run(warehouse: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(warehouse / CATALOG_FILE, isolation_level=None)) as file:
        return file.execute(sql).fetchall()


def script(warehouse: Path, sql: str) -> None:
    with closing(sqlite3.connect(warehouse / CATALOG_FILE)) as file:
        file.executescript(sql)


def locations(warehouse: Path) -> dict[str, str | None]:
    """Locations of tables, Hive partitions, databases and functions, by name."""
    with closing(Catalog(warehouse)) as catalog:
        tables = [table for name in catalog.database_names() for table in catalog.tables(name)]
        found = {table.qualified_name: table.location for table in tables}
        found |= {f"{table.name}/{one.name}": one.location for table in tables for one in catalog.partitions(table)}
        found |= {name: catalog.database(name).location for name in catalog.database_names()}
        return found | {entry.qualified_name: entry.resources[0][1] for entry in catalog.functions.entries()}


def expected(warehouse: Path, outside: Path) -> dict[str, str | None]:
    return {
        "default": str(warehouse),
        "default.facts": str(outside / "facts"),
        "default.inside": str(warehouse / "given"),
        "default.kept": str(warehouse / "kept"),
        "default.own": str(outside / "own"),
        "default.plain": str(warehouse / "plain"),
        "default.v": None,
        "far": str(outside / "far.db"),
        "far.t": str(outside / "far.db" / "t"),
        "sales/d=x": None,
        "sales/d=y": None,
        "sales/d=z": str(warehouse / "elsewhere" / "z"),
        "shop": str(warehouse / "shop.db"),
        "shop.sales": str(warehouse / "shop.db" / "sales"),
        "shop.twice": str(warehouse / "lib" / "more.py"),
    }


def test_a_catalog_of_format_1_is_upgraded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old = make_old(tmp_path)
    run(old, f"INSERT INTO garbage VALUES ('{old}/dropped'), ('{tmp_path}/outside/dropped')")
    assert locations(old) == expected(old, tmp_path / "outside")
    assert run(old, "PRAGMA user_version") == [(catalog_format.FORMAT,)]
    assert run(old, "SELECT written_by FROM format_") == [(__version__,)]
    assert run(old, "SELECT folder FROM garbage") == [("dropped",)]
    assert run(old, "SELECT folder FROM database_ WHERE name = 'shop'") == [("shop.db",)]
    with closing(Catalog(old)) as catalog:
        table = catalog.table("shop", "sales")
        assert [(one.partition_id, one.newest) for one in catalog.partitions(table)] == [(1, 1), (2, 1), (3, 1)]
        assert catalog.statistics(catalog.table("default", "plain"))[""].num_rows == 2
        assert catalog.table("default", "own").kind is TableKind.MANAGED
        assert catalog.database("shop").comment == "of goods"
    assert caplog.text == ""


def test_an_upgraded_catalog_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    old, new = make_old(tmp_path), tmp_path / "new"
    locations(old)
    Catalog(new).close()

    def columns(warehouse: Path) -> set[tuple[object, ...]]:
        listed = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        return set(run(warehouse, listed))

    assert columns(old) >= columns(new)


def test_the_file_of_format_1_is_kept(tmp_path: Path) -> None:
    old = make_old(tmp_path)
    before = run(old, "SELECT name, body FROM table_")
    locations(old)
    shutil.move(old / f"{CATALOG_FILE}.format-1", old / CATALOG_FILE)
    assert run(old, "SELECT name, body FROM table_") == before
    assert locations(old) == expected(old, tmp_path / "outside")


def test_the_first_catalogs_of_format_1_lack_columns_and_tables(tmp_path: Path) -> None:
    old = make_old(tmp_path)
    for change in (
        "ALTER TABLE partition_ DROP COLUMN form",
        "ALTER TABLE database_ DROP COLUMN body",
        "DROP TABLE statistics_",
        "DROP TABLE function_",
    ):
        run(old, change)
    found = expected(old, tmp_path / "outside")
    del found["shop.twice"]
    assert locations(old) == found
    with closing(Catalog(old)) as catalog:
        assert catalog.database("shop").properties == ()
        assert catalog.statistics(catalog.table("default", "plain")) == {}


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_copy_of_format_1_has_its_own_files(tmp_path: Path, is_moved: bool, caplog: pytest.LogCaptureFixture) -> None:
    old, new = make_old(tmp_path / "a"), tmp_path / "b" / "other"
    run(old, f"INSERT INTO garbage VALUES ('{old}/dropped'), ('{tmp_path}/a/outside/dropped')")
    shutil.copytree(old, new)
    if is_moved:
        shutil.rmtree(old)
    found = expected(new, tmp_path / "a" / "outside")
    if not is_moved:
        # New tables of the original's database are made here.
        found["far"] = str(new / "far.db")
    assert locations(new) == found
    assert run(new, "SELECT folder FROM garbage") == [("dropped",)]
    assert any(f'was at "{old}" before' in message for message in caplog.messages)
    with closing(Catalog(new)) as catalog:
        owned = [catalog.table(*name).owns_data for name in (("default", "own"), ("far", "t"), ("default", "plain"))]
        assert owned == [is_moved, is_moved, True]


def test_a_metastore_keeps_its_absolute_places(tmp_path: Path) -> None:
    """The file of a catalog with a Hive metastore mirrors Hive partitions."""
    old = make_old(tmp_path)
    catalog_format.upgrade(str(old / CATALOG_FILE), Locations())
    assert run(old, "SELECT folder FROM partition_ WHERE name = 'd=z'") == [(f"{old}/elsewhere/z",)]
    assert run(old, "PRAGMA user_version") == [(catalog_format.FORMAT,)]


def test_a_catalog_in_use_is_not_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_format, "_EXCLUSIVE_SECONDS", 0.5)
    old = make_old(tmp_path)
    with closing(sqlite3.connect(old / CATALOG_FILE)) as other:
        other.execute("SELECT * FROM table_").fetchall()
        with pytest.raises(ConfigurationError, match="older format and is in use by another process"):
            Catalog(old)
        assert len(other.execute("SELECT body FROM table_").fetchall()) == 8
    assert locations(old) == expected(old, tmp_path / "outside")


def test_an_upgrade_waits_for_a_short_look(tmp_path: Path) -> None:
    old = make_old(tmp_path)
    other = sqlite3.connect(old / CATALOG_FILE, check_same_thread=False)
    other.execute("SELECT * FROM table_").fetchall()
    leaving = threading.Timer(0.3, other.close)
    leaving.start()
    with closing(Catalog(old)) as catalog:
        assert [table.name for table in catalog.tables("shop")] == ["sales"]
    leaving.join()


def test_a_failed_upgrade_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = make_old(tmp_path)
    before = run(old, "SELECT name, body FROM table_")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "no disk")

    with monkeypatch.context() as patch:
        patch.setattr(catalog_upgrades, "make_relative", fail)
        with pytest.raises(ConfigurationError, match="no disk"):
            Catalog(old)
    assert run(old, "SELECT name, body FROM table_") == before
    assert locations(old) == expected(old, tmp_path / "outside")


def test_two_processes_upgrade_one_catalog(tmp_path: Path) -> None:
    old = make_old(tmp_path)
    code = "import sys; from sharkpy.catalog.catalog import Catalog; print(Catalog(sys.argv[1]).tables('shop')[0].name)"
    others = [
        subprocess.Popen([sys.executable, "-c", code, str(old)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [other.communicate()[0] for other in others] == ["sales\n"] * 3


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT table_id, body FROM table_ WHERE database = 'd' AND name = 't'",
        "SELECT name, location, comment, body FROM database_ WHERE name = 'd'",
        "SELECT path FROM garbage",
        "INSERT OR IGNORE INTO function_ (database, name, body) VALUES ('d', 'f', '{}')",
    ],
)
def test_an_engine_of_format_1_reads_nothing_of_this_format(tmp_path: Path, statement: str) -> None:
    Catalog(tmp_path).close()
    with pytest.raises(sqlite3.OperationalError, match=r"no column named|no such column"):
        run(tmp_path, statement)


@pytest.mark.parametrize("writer", ["9.1", None])
def test_a_newer_format_is_refused(tmp_path: Path, writer: str | None) -> None:
    Catalog(tmp_path).close()
    run(tmp_path, f"UPDATE format_ SET written_by = '{writer}'" if writer else "DROP TABLE format_")
    run(tmp_path, "PRAGMA user_version = 999")
    known = writer or "of an unknown version"
    message = (
        f"has format 999, written by sharkpy {known}: sharkpy {__version__} reads formats up to {catalog_format.FORMAT}"
    )
    with pytest.raises(ConfigurationError, match=message):
        Catalog(tmp_path)


def test_an_empty_file_is_no_catalog(tmp_path: Path) -> None:
    Catalog(tmp_path).close()
    (tmp_path / CATALOG_FILE).write_bytes(b"")
    with pytest.raises(CorruptionError, match="is an empty file"):
        Catalog(tmp_path)
    assert (tmp_path / CATALOG_FILE).stat().st_size == 0


def test_a_log_without_its_file_is_damage(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    (tmp_path / CATALOG_FILE).rename(tmp_path / "lost")
    with pytest.raises(CorruptionError, match="is missing, but its log exists"):
        Catalog(tmp_path)
    (tmp_path / "lost").rename(tmp_path / CATALOG_FILE)
    catalog.close()


def test_a_file_of_somebody_else_is_no_catalog(tmp_path: Path) -> None:
    (tmp_path / CATALOG_FILE).parent.mkdir()
    run(tmp_path, "CREATE TABLE t (a INT)")
    with pytest.raises(CorruptionError, match="is not a catalog of a warehouse"):
        Catalog(tmp_path)
    assert run(tmp_path, "SELECT name FROM sqlite_master") == [("t",)]


def test_processes_that_open_a_new_warehouse_meet_one_catalog(tmp_path: Path) -> None:
    code = "import sys; from sharkpy.catalog.catalog import Catalog; Catalog(sys.argv[1]).create_database(sys.argv[2])"
    names = ["a", "b", "c"]
    others = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "w"), name]) for name in names]
    assert [other.wait() for other in others] == [0, 0, 0]
    with closing(Catalog(tmp_path / "w")) as catalog:
        assert catalog.database_names() == [*names, "default"]
    assert [path.name for path in (tmp_path / "w" / CATALOG_FILE).parent.glob("*.new")] == []


def test_a_catalog_of_format_5_is_upgraded(tmp_path: Path) -> None:
    """A continuous table with Hive partitions keeps its rows; its epochs can be had from the next one on."""
    warehouse = tmp_path / "warehouse"
    (warehouse / ".sharkpy").mkdir(parents=True)
    for number in (1, 2, 3):
        (warehouse / f"plain/delta_{number:07d}").mkdir(parents=True)
        (warehouse / f"plain/delta_{number:07d}/part-00000.txt").write_text(f"{number}\x01p{number % 2}\n")
    for place, number in (("s=p1/delta_0000001", 1), ("s=p0/delta_0000001", 2), ("s=p1/delta_0000002", 3)):
        (warehouse / "parts" / place).mkdir(parents=True)
        (warehouse / "parts" / place / "part-00000.txt").write_text(f"{number}\n")
    with closing(sqlite3.connect(warehouse / CATALOG_FILE)) as file:
        file.execute("PRAGMA journal_mode = WAL")
        file.executescript(FORMAT_5.read_text().replace("@ROOT@", str(tmp_path)))
    (tmp_path / "in").mkdir()
    with sharkpy.connect("local[2]", warehouse) as context:

        def numbers(table: str) -> list[int]:
            return sorted(row[0] for row in context.sql(f"SELECT n FROM {table}").fetchall())

        assert run(warehouse, "PRAGMA user_version") == [(catalog_format.FORMAT,)]
        assert numbers("plain FOR SYSTEM_VERSION AS OF 2") == [1, 2]
        assert numbers("parts") == [1, 2, 3]
        with pytest.raises(BindError, match=r"epoch 3 of default\.parts is not available"):
            numbers("parts FOR SYSTEM_VERSION AS OF 3")
        for number in (4, 5):
            (tmp_path / f"in/{number}.json").write_text(f'{{"n": {number}, "s": "p{number}"}}\n')
            context.sql("RESUME CONTINUOUS TABLE parts")
        assert numbers("parts FOR SYSTEM_VERSION AS OF 4") == [1, 2, 3, 4]
        context.sql("ROLLBACK CONTINUOUS TABLE parts TO EPOCH 4")
        assert numbers("parts") == [1, 2, 3, 4]
        assert [row[0] for row in context.sql("SHOW PARTITIONS parts").fetchall()] == ["s=p0", "s=p1", "s=p4"]


def test_a_catalog_of_format_7_is_upgraded(tmp_path: Path) -> None:
    """The files that its streams know have no tags, and warehouses at URIs no owners."""
    with closing(Catalog(tmp_path)) as catalog, catalog.transaction():
        catalog.streams.add_files("s", [StreamFile(0, "a", 1, 2, tag="t")])
    run(tmp_path, "ALTER TABLE stream_file_ DROP COLUMN tag")
    script(tmp_path, f"{older_formats.FORMAT_9} DROP TABLE owner_; PRAGMA user_version = 7")
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.streams.files("s", 0, 9) == [StreamFile(0, "a", 1, 2)]
        with catalog.transaction():
            catalog.streams.add_files("s", [StreamFile(0, "b", 3, 4, tag="t")])
            catalog.streams.forget_files("s", [1])
            catalog.streams.add_files("s", [StreamFile(0, "c", 3, 4, tag="u")])
        assert catalog.streams.files("s", 0, 9) == [StreamFile(0, "a", 1, 2), StreamFile(2, "c", 3, 4, tag="u")]
        assert catalog.owner() == catalog.owner()
    assert run(tmp_path, "PRAGMA user_version") == [(catalog_format.FORMAT,)]


def test_histories_begin_with_an_upgrade(tmp_path: Path) -> None:
    """The history of its tables begins with the upgrade; continuous tables and their states have none."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"n": 1}\n')
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("CREATE TABLE t (a INT) STORED AS PARQUET")
        context.sql("INSERT INTO t VALUES (1)")
        context.sql("CREATE TABLE p (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
        context.sql("INSERT INTO p PARTITION (d) VALUES (1, 1), (2, 2)")
        context.sql(f"CREATE STREAM s (n INT) STORED AS JSONFILE FROM FOLDER '{tmp_path / 'in'}'")
        context.sql("CREATE CONTINUOUS TABLE c TRIGGER AVAILABLE NOW AS SELECT n FROM s")
        context.sql("RESUME CONTINUOUS TABLE c")
    script(tmp_path / "w", older_formats.FORMAT_10)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        for table in ("t", "p"):
            context.sql(f"DELETE FROM {table}")
            [(last, *_), (first, *_)] = context.sql(f"DESCRIBE HISTORY {table}").fetchall()
            assert last > first
            number = context.sql(f"SELECT count(*) FROM {table} VERSION AS OF {first}").fetchall()
            assert number == [(1 if table == "t" else 2,)]
        assert context.sql("SELECT n FROM c FOR SYSTEM_VERSION AS OF 1").fetchall() == [(1,)]
        with pytest.raises(UnsupportedError, match="whose changes are not recorded"):
            context.sql("DESCRIBE HISTORY c")


OF_FORMAT_10 = {
    "listed/delta_0000001": 1,
    "listed/base_0000002": 2,
    "listed/delta_0000003": 3,
    "parts/s=a/delta_0000001": 1,
    "parts/s=a/delta_0000002": 3,
    "parts/s=a/delta_0000003": 9,
    "parts/s=b/delta_0000001": 2,
    "logged/_files/aa4e7a02ba254151a212eb00c0f24bf7": 4,
}
"""Folders of a warehouse of format 10, each with one row: a base hides a generation, and one was never counted."""


def make_format_10(root: Path) -> Path:
    warehouse = root / "warehouse"
    for folder, number in OF_FORMAT_10.items():
        (warehouse / folder).mkdir(parents=True)
        (warehouse / folder / "part-00000.txt").write_text(f"{number}\n")
        os.utime(warehouse / folder / "part-00000.txt", ns=(1796001465064970063,) * 2)
    (warehouse / ".sharkpy").mkdir()
    with closing(sqlite3.connect(warehouse / CATALOG_FILE)) as file:
        file.executescript(FORMAT_10.read_text().replace("@ROOT@", str(root)))
    return warehouse


def test_a_catalog_of_format_10_is_upgraded(tmp_path: Path) -> None:
    """The files of all managed tables are in the log. The next commit has a number of its own."""
    warehouse = make_format_10(tmp_path)
    with sharkpy.connect("local[2]", warehouse, shark_table_retention="0") as context:

        def numbers(table: str) -> list[int]:
            return [row[0] for row in context.sql(f"SELECT n FROM {table}").fetchall()]

        assert (numbers("listed"), numbers("logged")) == ([2, 3], [4])
        assert sorted(numbers("parts")) == [1, 2, 3]
        files = "SELECT path, added FROM file_ WHERE removed IS NULL"
        assert sorted((str(Path(path).parent), added) for path, added in run(warehouse, files)) == [
            ("listed/base_0000002", 2),
            ("listed/delta_0000003", 3),
            ("logged/_files/aa4e7a02ba254151a212eb00c0f24bf7", 1),
            ("parts/s=a/delta_0000001", 1),
            ("parts/s=a/delta_0000002", 2),
            ("parts/s=b/delta_0000001", 1),
        ]
        assert run(warehouse, "SELECT commit_id FROM commit_") == [(1,), (3,), (4,)]
        context.sql("INSERT OVERWRITE TABLE listed VALUES (5)")
        context.sql("INSERT OVERWRITE TABLE parts PARTITION (s = 'a') VALUES (6)")
        assert (numbers("listed"), sorted(numbers("parts"))) == ([5], [2, 6])
        assert [path.name for path in warehouse.glob("listed/*")] == ["_files"]
        assert [path.name for path in warehouse.glob("parts/s=a/*")] == ["_files"]


def test_a_folder_that_cannot_be_read_stops_the_upgrade(tmp_path: Path) -> None:
    warehouse = make_format_10(tmp_path)
    link = warehouse / "parts/s=b"
    link.rename(tmp_path / "away")
    link.symlink_to(link)
    with pytest.raises(SourceError, match=f'the folder "{link}" of a table cannot be read: ') as caught:
        Catalog(warehouse)
    assert caught.value.sqlstate == "58030"
    assert run(warehouse, "PRAGMA user_version") == [(10,)]
    assert run(warehouse, "SELECT folder FROM folder_") == [("logged",)]
    link.unlink()
    (tmp_path / "away").rename(link)
    Catalog(warehouse).close()
    assert run(warehouse, "PRAGMA user_version") == [(catalog_format.FORMAT,)]


def test_paths_of_format_11_become_places(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path) as context:
        for statement in (
            "CREATE TABLE t (n INT)",
            "INSERT INTO t VALUES (1)",
            "UPDATE t SET n = 2",
            "CREATE TABLE p (n INT) PARTITIONED BY (s STRING)",
            "INSERT INTO p VALUES (3, 'x')",
        ):
            context.sql(statement).close()
    script(tmp_path, older_formats.FORMAT_11)
    assert all(path.startswith("_files/") for (path,) in run(tmp_path, "SELECT path FROM file_"))
    with sharkpy.connect("local[2]", tmp_path) as context:
        queries = ("SELECT n FROM t", "SELECT n FROM t VERSION AS OF 2", "SELECT n FROM p WHERE s = 'x'")
        assert [context.sql(query).fetchall()[0][0] for query in queries] == [2, 1, 3]
    assert run(tmp_path, "PRAGMA user_version") == [(catalog_format.FORMAT,)]
