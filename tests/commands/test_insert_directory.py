"""INSERT OVERWRITE DIRECTORY: formats, replaced content, and limits on its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import NotAllowedError, SharkError
from sharkpy.execution.restrictions import Restrictions


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    warehouse = tmp_path_factory.mktemp("directory") / "warehouse"
    with sharkpy.connect(warehouse=warehouse, shark_table_retention="0") as made:
        made.sql("CREATE TABLE t (a INT, b STRING, c ARRAY<INT>)")
        made.sql("INSERT INTO t SELECT 1, 'x', array(1, 2) UNION ALL SELECT 2, NULL, NULL")
        yield made


def texts(folder: Path) -> list[str]:
    assert not [name for name in os.listdir(folder.parent) if name.startswith(".staging")]
    return sorted(line for path in folder.iterdir() for line in path.read_text().splitlines())


def test_text_with_hives_delimiters(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/deep/out' SELECT * FROM t")
    assert texts(tmp_path / "deep" / "out") == ["1\x01x\x011\x022", "2\x01\\N\x01\\N"]


def test_a_row_format_and_a_file_uri(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    clause = "ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' NULL DEFINED AS 'none'"
    context.sql(f"INSERT OVERWRITE LOCAL DIRECTORY 'file://{tmp_path}/out' {clause} SELECT a, b FROM t")
    assert texts(tmp_path / "out") == ["1,x", "2,none"]


@pytest.mark.parametrize("form", ["PARQUET", "ORC", "JSONFILE", "AVRO", "SEQUENCEFILE", "TEXTFILE"])
def test_what_is_written_is_read_by_a_table(context: sharkpy.SharkContext, tmp_path: Path, form: str) -> None:
    context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' STORED AS {form} SELECT * FROM t")
    columns = "(a INT, b STRING, c ARRAY<INT>)"
    context.sql(f"CREATE EXTERNAL TABLE back_{form} {columns} STORED AS {form} LOCATION '{tmp_path}/out'")
    rows = context.sql(f"SELECT * FROM back_{form} ORDER BY a").fetchall()
    assert [tuple(row) for row in rows] == [(1, "x", [1, 2]), (2, None, None)]


def test_all_that_was_there_is_replaced(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "below").mkdir(parents=True)
    (out / "below" / "old").write_text("old")
    (out / ".hidden").write_text("old")
    out.chmod(0o750)
    context.sql(f"INSERT OVERWRITE DIRECTORY '{out}' SELECT a FROM t WHERE a = 1")
    assert texts(out) == ["1"]
    assert out.stat().st_mode & 0o777 == 0o750
    context.sql(f"INSERT OVERWRITE DIRECTORY '{out}' SELECT a FROM t WHERE a = 9")
    assert texts(out) == []


def test_a_link_is_followed(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/link' SELECT 5")
    assert (tmp_path / "link").is_symlink()
    assert texts(tmp_path / "real") == ["5"]


def test_a_failure_leaves_the_old_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT 1")
    with pytest.raises(SharkError, match="more than one row"):
        context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT (SELECT a FROM t)")
    assert texts(tmp_path / "out") == ["1"]


def test_a_folder_read_and_replaced_by_one_statement(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT 1")
    context.sql(f"CREATE EXTERNAL TABLE seen (a INT) LOCATION '{tmp_path}/out'")
    for _ in range(2):
        context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT a + 1 FROM seen UNION ALL SELECT 0")
    assert [a for (a,) in context.sql("SELECT a FROM seen ORDER BY a").fetchall()] == [0, 1, 3]


def test_where_it_may_not_be(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SharkError, match="is a file"):
        context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/file' SELECT 1")
    for place in (context.catalog.warehouse_dir, f"{context.catalog.warehouse_dir}/.."):
        with pytest.raises(SharkError, match="would delete the warehouse"):
            context.sql(f"INSERT OVERWRITE DIRECTORY '{place}' SELECT 1")
    with pytest.raises(SharkError, match='would replace all of "/"'):
        context.sql("INSERT OVERWRITE DIRECTORY '/' SELECT 1")
    assert (tmp_path / "file").read_text() == "mine"


def content(folder: str | Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.variants(3)
@pytest.mark.parametrize("verb", ["INSERT OVERWRITE DIRECTORY", "INSERT OVERWRITE LOCAL DIRECTORY", "EXPORT"])
@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("{warehouse}/.blocks", "belongs to the engine"),
        ("{warehouse}/.blocks/deep/below", "belongs to the engine"),
        ("{warehouse}/.sharkpy/new", "belongs to the engine"),
        ("{outer}/link/.blocks", "belongs to the engine"),
        ("{warehouse}/kept.db", 'the database "kept"'),
        ("{warehouse}/kept.db/orders", 'the table "kept.orders"'),
        ("{warehouse}/kept.db/orders/", 'the table "kept.orders"'),
        ("{warehouse}/kept.db/other/../orders/below", 'the table "kept.orders"'),
        ("file:{warehouse}/kept.db/orders/ds=1", 'the table "kept.orders"'),
        ("{outer}/link/kept.db/orders", 'the table "kept.orders"'),
        ("{outer}/far", 'the table "kept.far"'),
        ("{outer}/holds", "the partition ds=2 of the table"),
    ],
)
def test_folders_of_tables_are_not_replaced(
    context: sharkpy.SharkContext, tmp_path: Path, verb: str, place: str, error: str
) -> None:
    warehouse = context.catalog.warehouse_dir
    (tmp_path / "link").symlink_to(warehouse)
    context.sql("CREATE DATABASE IF NOT EXISTS kept")
    context.sql("CREATE OR REPLACE TABLE kept.orders (a INT) PARTITIONED BY (ds INT)")
    orders = context.catalog.table("kept", "orders").location or ""
    context.sql("INSERT INTO kept.orders VALUES (1, 1)")
    context.sql(f"ALTER TABLE kept.orders ADD PARTITION (ds=2) LOCATION '{tmp_path}/holds/two'")
    context.sql("INSERT INTO kept.orders VALUES (2, 2)")
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "far" / "away" / "rows").write_text("7\n")
    context.sql(f"CREATE EXTERNAL TABLE kept.far (a INT) LOCATION '{tmp_path}/far/away'")
    path = place.format(warehouse=warehouse, outer=tmp_path).replace(
        "kept.db/orders", orders.removeprefix(f"{warehouse}/")
    )
    before = content(warehouse), content(tmp_path)
    statement = f"EXPORT TABLE t TO '{path}'" if verb == "EXPORT" else f"{verb} '{path}' SELECT 1"
    with pytest.raises(SharkError, match=f"{error}|is not empty"):
        context.sql(statement)
    assert (content(warehouse), content(tmp_path)) == before
    assert context.sql("SELECT a FROM kept.orders ORDER BY a").fetchall() == [(1,), (2,)]
    context.sql("DROP DATABASE kept CASCADE")


def test_a_folder_of_an_external_table_is_replaced(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """INSERT OVERWRITE DIRECTORY is the usual way to write files for other programs; a managed table has INSERT
    OVERWRITE.
    """
    context.sql(f"CREATE EXTERNAL TABLE rest (a INT) PARTITIONED BY (ds INT) LOCATION '{tmp_path}/rest'")
    context.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/rest/ds=1' SELECT 5")
    context.sql("MSCK REPAIR TABLE rest")
    assert context.sql("SELECT a, ds FROM rest").fetchall() == [(5, 1)]


def test_what_is_put_in_a_dropped_tables_folder_stays(context: sharkpy.SharkContext) -> None:
    """The folder waits for its readers to be deleted."""
    context.sql("CREATE TABLE gone AS SELECT 1 AS a")
    folder = Path(context.catalog.table("default", "gone").location or "")
    reading = context.catalog.readers.enter(str(folder))
    context.sql("DROP TABLE gone")
    context.sql(f"INSERT OVERWRITE DIRECTORY '{folder}/below' SELECT 8")
    context.catalog.readers.leave(reading)
    context.catalog.collect_garbage()
    assert texts(folder / "below") == ["8"]


def test_a_session_with_bounds(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    session = context.new_session()
    session.restrictions = Restrictions(folders=(tmp_path / "mine",))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "way_out").symlink_to(tmp_path)
    session.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/mine/out' SELECT 1")
    for place in (f"{tmp_path}/mine", f"{tmp_path}/mine/out/..", f"{tmp_path}/mine/./"):
        with pytest.raises(NotAllowedError, match="cannot be replaced completely"):
            session.sql(f"INSERT OVERWRITE DIRECTORY '{place}' SELECT 1")
    assert texts(tmp_path / "mine" / "out") == ["1"]
    for place in (f"{tmp_path}/theirs", f"{tmp_path}/mine/../theirs", f"{tmp_path}/mine/way_out/theirs"):
        with pytest.raises(NotAllowedError):
            session.sql(f"FROM t INSERT OVERWRITE DIRECTORY '{place}' SELECT a INSERT INTO t SELECT 99, '', NULL")
    assert not (tmp_path / "theirs").exists()
    assert context.sql("SELECT count(*) FROM t WHERE a = 99").fetchall()[0][0] == 0
