"""Copied, moved and linked warehouses: each works on its own files."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import TableKind
from sharkpy.execution.commands.table_statistics import current_statistics


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A closed warehouse with tables in it and outside of it."""
    place, outside = tmp_path / "original", tmp_path / "outside"
    (place / "lib").mkdir(parents=True)
    (place / "lib" / "arithmetic.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    with sharkpy.connect("local[2]", place) as context:
        run(
            context,
            "CREATE TABLE t (a INT) STORED AS PARQUET",
            "INSERT INTO t VALUES (1), (2)",
            "CREATE DATABASE shop",
            "CREATE TABLE shop.sales (a INT) PARTITIONED BY (d STRING) STORED AS PARQUET",
            "INSERT INTO shop.sales PARTITION (d='x') VALUES (1)",
            f"ALTER TABLE shop.sales ADD PARTITION (d='y') LOCATION '{place}/elsewhere/y'",
            "INSERT INTO shop.sales PARTITION (d='y') VALUES (2)",
            f"CREATE EXTERNAL TABLE inside (a INT) STORED AS PARQUET LOCATION '{place}/given'",
            "INSERT INTO inside VALUES (3)",
            f"CREATE EXTERNAL TABLE facts (a INT) STORED AS PARQUET LOCATION '{outside}/facts'",
            "INSERT INTO facts VALUES (4)",
            "CREATE VIEW v AS SELECT * FROM t",
            f"CREATE FUNCTION twice AS 'arithmetic.twice' USING FILE '{place}/lib/arithmetic.py'",
            "CREATE TABLE kept (a INT) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')",
            "INSERT INTO kept VALUES (5), (6)",
            "SELECT sum(a) FROM kept",
            "ANALYZE TABLE t COMPUTE STATISTICS",
        )
    return place


def run(context: sharkpy.SharkContext, *statements: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for statement in statements:
        rows = [tuple(row) for row in context.sql(statement).fetchall()]
    return rows


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Files of a folder with their sizes and times, those apart that the engine keeps for itself."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(".")
    }


ALL = "SELECT a FROM t UNION ALL SELECT a FROM shop.sales UNION ALL SELECT a FROM inside UNION ALL SELECT a FROM facts"


def values(context: sharkpy.SharkContext) -> list[object]:
    return sorted(str(row[0]) for row in run(context, f"{ALL} UNION ALL SELECT a FROM v UNION ALL SELECT a FROM kept"))


WHOLE = sorted("1212341256")


def test_a_copy_leaves_the_original_alone(original: Path, tmp_path: Path) -> None:
    before = state(original)
    shutil.copytree(original, tmp_path / "copy")
    with sharkpy.connect("local[2]", tmp_path / "copy") as copy:
        assert values(copy) == WHOLE
        assert run(copy, "SELECT twice(21)") == [(42,)]
        run(
            copy,
            "INSERT INTO t VALUES (10)",
            "INSERT OVERWRITE TABLE inside VALUES (30)",
            "INSERT OVERWRITE TABLE shop.sales PARTITION (d='y') VALUES (20)",
            "INSERT INTO kept VALUES (50)",
            "ALTER TABLE t RENAME TO u",
            "DROP TABLE u",
            "ALTER TABLE shop.sales DROP PARTITION (d='y')",
            "TRUNCATE TABLE kept",
            "DROP DATABASE shop CASCADE",
        )
        assert run(copy, "SELECT a FROM inside") == [(30,)]
    assert state(original) == before
    assert not (tmp_path / "copy" / "elsewhere" / "y").exists()
    with sharkpy.connect("local[2]", original) as context:
        assert values(context) == WHOLE


@pytest.mark.variants(3)
@pytest.mark.parametrize("form", ["other", "deep/er", "../w/place", "link"])
def test_a_moved_warehouse_has_its_tables(
    original: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warehouse is also opened by a relative path, by one with `..`, and by a link."""
    (tmp_path / "w").mkdir()
    target = tmp_path / "w" / ("real" if form == "link" else form)
    target.parent.mkdir(exist_ok=True)
    original.rename(target)
    if form == "link":
        (tmp_path / "w" / "link").symlink_to(target)
    monkeypatch.chdir(tmp_path / "w")
    with sharkpy.connect("local[2]", form) as context:
        assert values(context) == WHOLE
        run(context, "INSERT INTO t VALUES (7)", "CREATE TABLE made (a INT)", "INSERT INTO made VALUES (8)")
        assert context.catalog.table("default", "made").location == f"{Path(form).absolute()}/made"
    assert not original.exists()
    with sharkpy.connect("local[2]", target) as context:
        assert run(context, "SELECT sum(a) FROM t UNION ALL SELECT a FROM made ORDER BY 1") == [(8,), (10,)]


def test_a_location_named_by_a_link_is_in_the_warehouse(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "w")
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{tmp_path}/link/x'", "INSERT INTO x VALUES (1)")
        run(context, f"CREATE EXTERNAL TABLE y (a INT) LOCATION '{tmp_path}/other/../w/y'", "INSERT INTO y VALUES (2)")
    (tmp_path / "w").rename(tmp_path / "moved")
    with sharkpy.connect("local[2]", tmp_path / "moved") as context:
        assert run(context, "SELECT a FROM x UNION ALL SELECT a FROM y ORDER BY a") == [(1,), (2,)]


def test_blocks_of_cached_tables_move_along(original: Path, tmp_path: Path) -> None:
    def blocks(folder: Path) -> list[str]:
        return sorted(path.name for path in (folder / ".sharkpy" / "blocks").rglob("*.arrow"))

    before = blocks(original)
    original.rename(tmp_path / "moved")
    with sharkpy.connect("local[2]", tmp_path / "moved") as context:
        assert run(context, "SELECT sum(a) FROM kept") == [(11,)]
        assert blocks(tmp_path / "moved") == before != []
        version = context.table_cache.loaded_version(context.catalog.table("default", "kept"))
        assert version is not None
        assert {origin.path for block in version.origins for origin in block} <= {
            str(path) for path in (tmp_path / "moved" / "kept").rglob("*")
        }


def test_statistics_move_along(original: Path, tmp_path: Path) -> None:
    original.rename(tmp_path / "moved")
    with sharkpy.connect("local[2]", tmp_path / "moved") as context:
        found = current_statistics(context.catalog.table("default", "t"), None, context)
        assert found is not None
        assert found.num_rows == 2


OUTSIDE = (
    "CREATE TABLE own (a INT) STORED AS PARQUET LOCATION '{outside}/own'",
    "INSERT INTO own VALUES (1)",
    "CREATE DATABASE far LOCATION '{outside}/far.db'",
    "CREATE TABLE far.t (a INT) STORED AS PARQUET",
    "INSERT INTO far.t VALUES (2)",
    "CREATE EXTERNAL TABLE purged (a INT) STORED AS PARQUET LOCATION '{outside}/purged'"
    " TBLPROPERTIES ('external.table.purge' = 'true')",
    "INSERT INTO purged VALUES (3)",
    "CREATE TABLE parts (a INT) PARTITIONED BY (d STRING) STORED AS PARQUET",
    "ALTER TABLE parts ADD PARTITION (d='x') LOCATION '{outside}/x'",
    "INSERT INTO parts PARTITION (d='x') VALUES (4)",
    "CREATE TABLE gone (a INT) STORED AS PARQUET LOCATION '{outside}/gone'",
)


def test_a_copy_owns_nothing_outside_of_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outside = tmp_path / "outside"
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, *(statement.format(outside=outside) for statement in OUTSIDE))
        context.catalog.drop_table(context.catalog.table("default", "gone"))
    shutil.copytree(tmp_path / "w", tmp_path / "copy")
    (outside / "gone" / "of_another").touch()
    before = state(outside)
    with sharkpy.connect("local[2]", tmp_path / "copy") as copy:
        assert "default.own, default.parts, default.purged, far.t" in caplog.text
        kinds = [copy.catalog.table(*name).kind for name in (("default", "own"), ("default", "parts"), ("far", "t"))]
        assert kinds == [TableKind.EXTERNAL] * 3
        run(copy, "CREATE TABLE far.new (a INT)", "INSERT INTO far.new VALUES (1)")
        run(copy, "ALTER TABLE parts DROP PARTITION (d='x')", "DROP TABLE own", "DROP TABLE purged")
        run(copy, "DROP DATABASE far CASCADE")
        copy.catalog.collect_garbage()
    assert state(outside) == before
    caplog.clear()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        text = " UNION ALL ".join(f"SELECT a FROM {name}" for name in ("own", "far.t", "purged", "parts"))
        assert sorted(run(context, text)) == [(1,), (2,), (3,), (4,)]
        assert context.catalog.table("default", "own").kind is TableKind.MANAGED
    assert caplog.text == ""


def test_a_moved_warehouse_owns_what_is_outside(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, f"CREATE TABLE own (a INT) LOCATION '{tmp_path}/outside/own'", "INSERT INTO own VALUES (1)")
    for name in ("moved", "again"):
        (tmp_path / "w").rename(tmp_path / name)
        Catalog(tmp_path / name).close()
        (tmp_path / name).rename(tmp_path / "w")
    # As a move to another file system does.
    shutil.copytree(tmp_path / "w", tmp_path / "far")
    shutil.rmtree(tmp_path / "w")
    with sharkpy.connect("local[2]", tmp_path / "far") as context:
        assert context.catalog.table("default", "own").kind is TableKind.MANAGED
        run(context, "DROP TABLE own")
    assert not (tmp_path / "outside" / "own").exists()


def test_a_copy_of_a_moved_warehouse_is_a_copy(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, f"CREATE TABLE own (a INT) LOCATION '{tmp_path}/outside/own'", "INSERT INTO own VALUES (1)")
    (tmp_path / "w").rename(tmp_path / "moved")
    Catalog(tmp_path / "moved").close()
    shutil.copytree(tmp_path / "moved", tmp_path / "copy")
    with closing(Catalog(tmp_path / "copy")) as copy:
        assert copy.table("default", "own").kind is TableKind.EXTERNAL


def test_a_warehouse_of_two_names_is_no_copy(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, f"CREATE TABLE own (a INT) LOCATION '{tmp_path}/outside/own'")
    (tmp_path / "hard" / ".sharkpy").mkdir(parents=True)
    # As another mount of the folder shows it.
    os.link(tmp_path / "w" / ".sharkpy" / "catalog.sqlite", tmp_path / "hard" / ".sharkpy" / "catalog.sqlite")
    with closing(Catalog(tmp_path / "hard")) as other:
        assert other.table("default", "own").kind is TableKind.MANAGED
    with closing(sqlite3.connect(tmp_path / "w" / ".sharkpy" / "catalog.sqlite")) as file:
        assert file.execute("SELECT warehouse FROM place_").fetchall() == [(str(tmp_path / "w"),)]


def test_garbage_of_a_copy_is_its_own(tmp_path: Path) -> None:
    """The original has another table in the folder by the time that the copy deletes the dropped one's."""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
        context.catalog.drop_table(context.catalog.table("default", "t"), is_purged=True)
    shutil.copytree(tmp_path / "w", tmp_path / "copy")
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        run(context, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (2)")
        with closing(Catalog(tmp_path / "copy")) as copy:
            copy.collect_garbage()
        assert run(context, "SELECT a FROM t") == [(2,)]
    assert not (tmp_path / "copy" / "t").exists()


WRITER = """
import sys
from sharkpy.catalog.catalog import Catalog
catalog = Catalog(sys.argv[1])
for folder in sys.argv[2:]:
    catalog.unfinished.begin(folder)
print("noted", flush=True)
sys.stdin.read(1)
"""


def test_writes_of_the_original_go_on_beside_a_copy(tmp_path: Path) -> None:
    """The copy takes its own folders for abandoned, and none of the original's."""
    place, copy = tmp_path / "w", tmp_path / "copy"
    inside, outside = place / "t" / ".staging-x-1-a", tmp_path / "data" / ".staging-x-1-b"
    inside.mkdir(parents=True)
    outside.mkdir(parents=True)
    command = [sys.executable, "-c", WRITER, str(place), str(inside), str(outside)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "noted\n"
        shutil.copytree(place, copy)
        sharkpy.connect("local[2]", copy).stop()
        assert inside.exists()
        assert outside.exists()
        assert not (copy / "t" / ".staging-x-1-a").exists()
        writer.kill()
        writer.wait()
    sharkpy.connect("local[2]", place).stop()
    assert not inside.exists()
    assert not outside.exists()


def test_the_catalog_keeps_no_path_of_the_warehouse(original: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), closing(Catalog(original)) as catalog:
        catalog.drop_table(catalog.table("default", "t"), is_purged=True)
    with closing(sqlite3.connect(original / ".sharkpy" / "catalog.sqlite")) as file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [(table, row) for table in tables for row in file.execute(f"SELECT * FROM {table}")]
    # As the place that is noted, and in the texts of statements.
    assert {table for table, row in rows if str(original) in str(row)} == {"place_", "commit_"}
    for manifest in (original / ".sharkpy" / "blocks").rglob("manifest*"):
        assert str(original) not in manifest.read_text()
    assert caplog.text == ""


def test_a_copy_may_have_other_times(original: Path, tmp_path: Path) -> None:
    """`cp -r` does not keep the times of files."""
    copy = tmp_path / "copy"
    shutil.copytree(original, copy, copy_function=shutil.copyfile)
    with sharkpy.connect("local[2]", copy) as context:
        run(context, "INSERT INTO t VALUES (7)", "INSERT INTO shop.sales PARTITION (d='x') VALUES (8)")
        assert sorted(run(context, "SELECT a FROM t")) == [(1,), (2,), (7,)]
        assert sorted(run(context, "SELECT a FROM shop.sales")) == [(1,), (2,), (8,)]
        assert run(context, "SELECT sum(a) FROM kept") == [(11,)]
