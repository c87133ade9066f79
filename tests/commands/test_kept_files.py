"""Files that were there before a table was, or that belong to another one: no statement about a table deletes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError
from tests.files import files_of


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path / "warehouse") as made:
        yield made


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Folder with a file of rows, and one that no table reads."""
    folder = tmp_path / "mine"
    (folder / "notes").mkdir(parents=True)
    (folder / "rows.txt").write_text("1\n")
    (folder / "notes" / "_todo").write_text("keep\n")
    return folder


def content(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def kind(context: sharkpy.SharkContext, table: str = "t") -> str:
    facts = {str(row[0]): row[1] for row in context.sql(f"DESCRIBE EXTENDED {table}").fetchall()}
    return str(facts["Type"])


MADE_OVER_FILES = [
    "CREATE TABLE t (a INT) LOCATION '{}'",
    "CREATE TABLE t (a INT) STORED AS TEXTFILE LOCATION '{}'",
    "CREATE TABLE t (a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' LOCATION 'file:{}'",
    "CREATE TABLE t (a STRING) USING csv LOCATION '{}'",
    "CREATE TABLE t (a STRING) USING csv OPTIONS (path '{}')",
    "CREATE TABLE t (a STRING) USING csv OPTIONS (header 'false') LOCATION '{}'",
    "CREATE TABLE t LIKE model LOCATION '{}'",
    "CREATE EXTERNAL TABLE t (a INT) LOCATION '{}'",
    "CREATE OR REPLACE TABLE t (a INT) LOCATION '{}'",
    "CREATE TEMPORARY TABLE t (a INT) LOCATION '{}'",
]
ENDS = ["DROP TABLE d.t", "DROP TABLE d.t PURGE", "DROP DATABASE d CASCADE", "CREATE OR REPLACE TABLE d.t (b INT)"]


@pytest.mark.variants(3)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("statement", MADE_OVER_FILES)
def test_files_from_before_the_table_stay(context: sharkpy.SharkContext, mine: Path, statement: str, end: str) -> None:
    if "TEMPORARY" in statement and "DATABASE" in end:
        pytest.skip("a temporary table does not go with a database")
    before = content(mine)
    context.sql("CREATE DATABASE d; USE d; CREATE TABLE model (a INT)")
    context.sql(statement.format(mine))
    assert [str(row[0]) for row in context.sql("SELECT a FROM t").fetchall()] == ["1"]
    context.sql("INSERT INTO t SELECT a FROM t")
    if "TEMPORARY" in statement and "OR REPLACE" in end:
        # A temporary table does not become another one.
        context.sql("DROP TABLE t")
    else:
        context.sql(end)
    assert set(before) <= set(content(mine))
    assert (mine / "rows.txt").read_text() == "1\n"


def test_files_of_a_temporary_table_stay_when_its_session_ends(context: sharkpy.SharkContext, mine: Path) -> None:
    with context.new_session() as session:
        session.sql(f"CREATE TEMPORARY TABLE t (a INT) LOCATION '{mine}'")
        session.sql("CREATE TEMPORARY TABLE u (a INT)")
        session.sql("INSERT INTO u VALUES (1)")
        (own,) = [one.location for one in session.catalog.temporary_tables() if one.name == "u"]
    assert (mine / "rows.txt").exists()
    assert not Path(own or "").exists()


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("LOCATION '{}'", "MANAGED"),
        ("LOCATION '{}' TBLPROPERTIES ('EXTERNAL'='FALSE')", "MANAGED"),
        ("USING parquet LOCATION '{}'", "EXTERNAL"),
        ("USING parquet OPTIONS (path '{}')", "EXTERNAL"),
        ("USING parquet LOCATION '{}' TBLPROPERTIES ('EXTERNAL'='FALSE')", "MANAGED"),
        ("USING parquet", "MANAGED"),
    ],
)
def test_a_new_folder_is_hives_or_sparks(
    context: sharkpy.SharkContext, tmp_path: Path, clauses: str, expected: str
) -> None:
    """Hive's form makes a managed table, Spark's an external one; both make the folder."""
    folder = tmp_path / "fresh"
    context.sql(f"CREATE TABLE t (a INT) {clauses.format(folder)}")
    assert kind(context) == expected
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
    context.sql("INSERT INTO t VALUES (1)")
    assert context.sql("SELECT a FROM t").fetchall() == [(1,)]
    context.sql("DROP TABLE t")
    assert folder.exists() == (expected == "EXTERNAL")


def test_files_are_the_tables_where_somebody_says_so(context: sharkpy.SharkContext, mine: Path) -> None:
    context.sql(f"CREATE MANAGED TABLE t (a INT) LOCATION '{mine}'")
    assert kind(context) == "MANAGED"
    context.sql("DROP TABLE t")
    assert not mine.exists()


@pytest.mark.parametrize("clauses", ["", "STORED AS PARQUET", "USING csv", "PARTITIONED BY (p)"])
def test_a_query_makes_no_table_over_files(context: sharkpy.SharkContext, mine: Path, clauses: str) -> None:
    """Its rows would hide them, and hidden files are deleted."""
    before = content(mine)
    for verb in ("CREATE TABLE", "CREATE EXTERNAL TABLE", "CREATE OR REPLACE TABLE", "CREATE TEMPORARY TABLE"):
        if "TEMPORARY" in verb and "PARTITIONED" in clauses:
            continue
        with pytest.raises(BindError, match="is not empty") as caught:
            context.sql(f"{verb} t {clauses} LOCATION '{mine}' AS SELECT 1 AS a, 2 AS p")
        assert caught.value.sqlstate == "42710"
    assert content(mine) == before


def test_files_left_at_a_tables_usual_place_stay(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE EXTERNAL TABLE t (a INT)")
    context.sql("INSERT INTO t VALUES (1)")
    folder = Path(context.catalog.warehouse_dir, "t")
    context.sql("DROP TABLE t")
    before = content(folder)
    for statement in ("CREATE TABLE t AS SELECT 2 AS a", "CREATE TABLE t PARTITIONED BY (p) AS SELECT 2 AS a, 1 AS p"):
        context.sql(statement)
        assert context.sql("SELECT a FROM t").fetchall() == [(2,)]
        context.sql("DROP TABLE t")
        assert content(folder) == before


@pytest.mark.parametrize("end", ["DROP TABLE d.t", "DROP DATABASE d CASCADE"])
def test_a_database_elsewhere(context: sharkpy.SharkContext, mine: Path, end: str) -> None:
    """Its folder may hold files that look like a table's."""
    context.sql(f"CREATE DATABASE d LOCATION '{mine.parent}'; CREATE TABLE d.mine (a INT); CREATE TABLE d.t (a INT)")
    context.sql("INSERT INTO d.t VALUES (2)")
    assert (kind(context, "d.mine"), kind(context, "d.t")) == ("EXTERNAL", "MANAGED")
    context.sql("DROP TABLE d.mine")
    context.sql(end)
    assert content(mine) == ["notes/_todo", "rows.txt"]
    assert not (mine.parent / "t").exists()


def test_set_location(context: sharkpy.SharkContext, mine: Path, tmp_path: Path) -> None:
    context.sql("CREATE TABLE t (a INT)")
    context.sql(f"ALTER TABLE t SET LOCATION '{tmp_path}/fresh'")
    assert kind(context) == "MANAGED"
    context.sql(f"ALTER TABLE t SET LOCATION '{mine}'")
    assert kind(context) == "EXTERNAL"
    context.sql("DROP TABLE t")
    assert content(mine) == ["notes/_todo", "rows.txt"]


@pytest.mark.variants(3)
@pytest.mark.parametrize("end", ["ALTER TABLE t DROP PARTITION (p=1)", "DROP TABLE t", "DROP DATABASE d CASCADE"])
@pytest.mark.parametrize("way", ["ADD PARTITION (p=1) LOCATION '{}'", "PARTITION (p=1) SET LOCATION '{}'"])
def test_partitions_elsewhere(context: sharkpy.SharkContext, mine: Path, way: str, end: str) -> None:
    context.sql("CREATE DATABASE d; USE d; CREATE TABLE t (a INT) PARTITIONED BY (p INT)")
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('shark.table.retention' = '0')")
    context.sql("INSERT INTO t VALUES (9, 2)")
    if "SET" in way:
        context.sql("ALTER TABLE t ADD PARTITION (p=1)")
    context.sql(f"ALTER TABLE t {way.format(mine)}")
    context.sql("INSERT INTO t VALUES (2, 1)")
    assert context.sql("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (2,), (9,)]
    own = Path(context.catalog.table("d", "t").location or "")
    context.sql(end)
    assert set(content(mine)) >= {"notes/_todo", "rows.txt"}
    assert own.exists() == ("PARTITION" in end)


def test_a_partition_below_its_table_goes_with_it(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (p INT)")
    context.sql("ALTER TABLE t ADD PARTITION (p=1) LOCATION 'some/where'")
    context.sql("INSERT INTO t VALUES (2, 1)")
    folder = Path(context.catalog.table("default", "t").location or "", "some", "where")
    assert folder.is_dir()
    context.sql("ALTER TABLE t DROP PARTITION (p=1)")
    assert not folder.exists()


@pytest.fixture
def shop(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    """Session with a database `shop` of a managed table, and an external one of files below `tmp_path`/far."""
    context.sql("CREATE DATABASE shop; CREATE TABLE shop.orders (a INT); INSERT INTO shop.orders VALUES (1)")
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "far" / "away" / "rows").write_text("7\n")
    context.sql(f"CREATE EXTERNAL TABLE shop.far (a INT) LOCATION '{tmp_path}/far/away'")
    return context


def is_whole(context: sharkpy.SharkContext) -> bool:
    rows = context.sql("SELECT a FROM shop.orders UNION ALL SELECT a FROM shop.far").fetchall()
    return sorted(rows) == [(1,), (7,)]


@pytest.mark.variants(3)
@pytest.mark.parametrize("place", ["{warehouse}", "{warehouse}/shop.db", "{warehouse}/shop.db/orders", "{outer}/far"])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OVERWRITE TABLE t SELECT 5",
        "FROM (SELECT 5 AS a) x INSERT OVERWRITE TABLE t SELECT a",
        "LOAD DATA LOCAL INPATH '{rows}' OVERWRITE INTO TABLE t",
        "TRUNCATE TABLE t",
        "ALTER TABLE t CONCATENATE",
    ],
)
def test_a_table_around_others_is_not_emptied(
    shop: sharkpy.SharkContext, tmp_path: Path, place: str, statement: str
) -> None:
    (tmp_path / "rows.txt").write_text("5\n")
    folder = place.format(warehouse=shop.catalog.warehouse_dir, outer=tmp_path)
    shop.sql(f"CREATE EXTERNAL TABLE t (a INT) LOCATION '{folder}'")
    if statement.startswith("TRUNCATE"):
        with pytest.raises(BindError, match=r"the files of|holds the warehouse"):
            shop.sql("ALTER TABLE t SET TBLPROPERTIES ('external.table.purge'='true')")
    with pytest.raises(SharkError, match=r"would delete|not a managed table|is external"):
        shop.sql(statement.format(rows=tmp_path / "rows.txt"))
    shop.sql("DROP TABLE t")
    assert is_whole(shop)


def test_a_partition_around_others_is_not_emptied(shop: sharkpy.SharkContext) -> None:
    warehouse = shop.catalog.warehouse_dir
    shop.sql("CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (p INT)")
    shop.sql(f"ALTER TABLE t ADD PARTITION (p=1) LOCATION '{warehouse}/shop.db'")
    with pytest.raises(BindError, match=r'would delete the files of the (database|table) "shop'):
        shop.sql("INSERT OVERWRITE TABLE t PARTITION (p=1) SELECT 1")
    shop.sql("ALTER TABLE t DROP PARTITION (p=1)")
    assert is_whole(shop)


@pytest.mark.parametrize("place", ["{warehouse}/shop.db", "{warehouse}/shop.db/orders", "{outer}/far"])
def test_no_managed_table_around_others(shop: sharkpy.SharkContext, tmp_path: Path, place: str) -> None:
    folder = place.format(warehouse=shop.catalog.warehouse_dir, outer=tmp_path)
    for statement in (
        "CREATE MANAGED TABLE t (a INT) LOCATION '{}'",
        "CREATE TABLE t (a INT) LOCATION '{}' TBLPROPERTIES ('EXTERNAL'='FALSE')",
        "ALTER TABLE e SET TBLPROPERTIES ('EXTERNAL'='FALSE')",
    ):
        shop.sql(f"CREATE EXTERNAL TABLE IF NOT EXISTS e (a INT) LOCATION '{folder}'")
        with pytest.raises(BindError, match="only an external table can be there"):
            shop.sql(statement.format(folder))
    shop.sql("CREATE TABLE p (a INT) PARTITIONED BY (x INT)")
    with pytest.raises(BindError, match="only an external table can be there"):
        shop.sql(f"ALTER TABLE p ADD PARTITION (x=1) LOCATION '{folder}'")
    assert is_whole(shop)


def test_a_table_made_later_in_the_folder_of_one_that_is_dropped(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"CREATE TABLE t (a INT) LOCATION '{tmp_path}/place'")
    context.sql("INSERT INTO t VALUES (1)")
    context.sql(f"CREATE TABLE nested (a INT) LOCATION '{tmp_path}/place/inner'")
    context.sql("INSERT INTO nested VALUES (2)")
    context.sql("DROP TABLE t")
    assert context.sql("SELECT a FROM nested").fetchall() == [(2,)]
    context.sql("DROP TABLE nested")
    assert not (tmp_path / "place" / "inner").exists()


@pytest.mark.parametrize("source", ["{folder}", "{folder}/*"])
def test_load_data_moves_no_files_of_tables(shop: sharkpy.SharkContext, source: str) -> None:
    table = shop.catalog.table("shop", "orders")
    path = source.format(folder=Path(files_of(shop, table)[0].path).parent)
    shop.sql("CREATE TABLE t (a INT)")
    with pytest.raises(BindError, match=r'would take files of the table "shop\.orders"'):
        shop.sql(f"LOAD DATA INPATH '{path}' INTO TABLE t")
    shop.sql(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE t")
    assert shop.sql("SELECT a FROM t").fetchall() == [(1,)]
    assert is_whole(shop)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT) LOCATION '{}'",
        "CREATE EXTERNAL TABLE t (a INT) LOCATION '{}'",
        "CREATE TABLE t LOCATION '{}' AS SELECT 1 AS a",
        "CREATE TABLE t (a INT) USING csv OPTIONS (path '{}')",
        "CREATE DATABASE d LOCATION '{}'",
        "ALTER DATABASE d0 SET LOCATION '{}'",
        "ALTER TABLE p ADD PARTITION (x=2) LOCATION '{}'",
        "ALTER TABLE p PARTITION (x=1) SET LOCATION '{}'",
        "ALTER TABLE p SET LOCATION '{}'",
        "LOAD DATA INPATH '{}' INTO TABLE p PARTITION (x=1)",
        "EXPORT TABLE p TO '{}'",
        "IMPORT TABLE q FROM '{}'",
        "ADD FILE '{}'",
    ],
)
def test_folders_of_the_engine_are_named_by_nobody(
    context: sharkpy.SharkContext, tmp_path: Path, statement: str
) -> None:
    warehouse = context.catalog.warehouse_dir
    context.sql("CREATE DATABASE d0; CREATE TABLE p (a INT) PARTITIONED BY (x INT); ALTER TABLE p ADD PARTITION (x=1)")
    (tmp_path / "link").symlink_to(warehouse)
    for place in (".blocks", ".sharkpy", ".sharkpy/blocks", ".blocks/../.sharkpy/trash"):
        for folder in (f"{warehouse}/{place}", f"{tmp_path}/link/{place}"):
            with pytest.raises(SharkError, match="belongs to the engine"):
                context.sql(statement.format(folder))


@pytest.mark.parametrize("name", ["pipe", "device"])
def test_pipes_and_devices_are_no_data(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    """A reader would wait for ever, or never end."""
    import os

    folder = tmp_path / "data"
    folder.mkdir()
    if name == "pipe":
        os.mkfifo(folder / "pipe")
    else:
        (folder / "device").symlink_to("/dev/zero")
    context.sql(f"CREATE EXTERNAL TABLE e (a INT) LOCATION '{folder}'; CREATE TABLE t (a INT)")
    for statement in (
        "SELECT * FROM e",
        f"LOAD DATA LOCAL INPATH '{folder}' INTO TABLE t",
        f"LOAD DATA LOCAL INPATH '{folder}/{name}' INTO TABLE t",
        f"ADD FILE '{folder}/{name}'",
        f"CREATE TABLE s STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{folder}/{name}')",
        f"EXPORT TABLE e TO '{tmp_path}/out'",
    ):
        with pytest.raises(SharkError, match=r"a device or a pipe|does not exist"):
            context.sql(statement).fetchall()


def test_a_schema_is_small(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SharkError, match="more than 16 MB"):
        context.sql(f"CREATE TABLE s STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{tmp_path}/huge')")
