"""Tables in remote folders, which a catalog may hold: described, and refused by name if their files are needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import StorageRefusedError, UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from tests.commands.conftest import schema_of
from tests.rows import rows

SECRET = "s3a://KEY:SECRET@bucket/hidden"


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sharkpy.SharkContext]:
    """External tables `far`, `parts` and `hidden`, the managed ones `owned` and `here`, and the database `d`."""
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.catalog.create_database("d", location="s3a://bucket/d")
        make(context, "far", "s3a://bucket/far")
        make(context, "hidden", SECRET)
        make(context, "owned", "s3a://bucket/owned", TableKind.MANAGED)
        parts = make(context, "parts", "s3a://bucket/parts", columns=("p",))
        context.sql("CREATE TABLE here (a INT) PARTITIONED BY (p INT)").close()
        context.sql("INSERT INTO here PARTITION (p=1) VALUES (1)").close()
        with context.catalog.partition_changes(parts) as changes:
            changes.add("p=1")
        with context.catalog.partition_changes(context.catalog.table("default", "here")) as changes:
            changes.add("p=2", "s3a://bucket/here/p=2")
        yield context
    # A URI that was taken for a path is a folder of this one.
    assert not [path for path in (tmp_path / "there").iterdir() if ":" in path.name]


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "HADOOP_CONF_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")


def make(
    context: sharkpy.SharkContext,
    name: str,
    location: str,
    kind: TableKind = TableKind.EXTERNAL,
    columns: tuple[str, ...] = (),
) -> Table:
    schema, storage = schema_of("a int, p int" if columns else "a int"), StorageFormat("text")
    made = Table(new_table_id(), "default", name, kind, schema, storage, location, partition_columns=columns)
    return context.catalog.create_table(made)


def text_of(context: sharkpy.SharkContext, sql: str) -> str:
    return "\n".join(str(value) for row in rows(context, sql) for value in row)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO here PARTITION (p=2) VALUES (1)",
    ],
)
def test_what_writes_their_files_is_refused(context: sharkpy.SharkContext, tmp_path: Path, statement: str) -> None:
    (tmp_path / "rows").write_text("1\n")
    before = context.catalog.table_names("default"), context.catalog.database_names()
    with pytest.raises(UnsupportedError, match=r'file system "s3a" of "s3a://bucket/.*: only local files') as caught:
        rows(context, statement.replace("{tmp}", str(tmp_path)))
    assert caught.value.sqlstate == "0A000"
    assert (context.catalog.table_names("default"), context.catalog.database_names()) == before
    assert context.catalog.table_names("d") == []
    assert rows(context, "SELECT a FROM here WHERE p = 1") == [(1,)]
    assert not (tmp_path / "export").exists()


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM far",
        "SELECT * FROM parts",
        "SELECT * FROM here",
        "MSCK REPAIR TABLE parts SYNC PARTITIONS",
        "ANALYZE TABLE far COMPUTE STATISTICS",
        "ALTER TABLE owned SET LOCATION 's3a://bucket/x'",
        "CREATE TABLE x (a INT) LOCATION 's3a://bucket/x'",
        "SELECT * FROM parquet.`s3a://bucket/x`",
        "INSERT INTO far VALUES (1)",
        "INSERT OVERWRITE TABLE far SELECT 1",
        "INSERT INTO parts PARTITION (p=1) VALUES (1)",
        "ALTER TABLE here ADD PARTITION (p=9) LOCATION 's3a://bucket/x'",
        "ALTER TABLE here PARTITION (p=1) SET LOCATION 's3a://bucket/x'",
        "TRUNCATE TABLE owned",
        "CREATE TABLE x LOCATION 's3a://bucket/x' AS SELECT 1 AS a",
        "CREATE TABLE d.x (a INT)",
        "CREATE TABLE d.x AS SELECT 1 AS a",
        "CREATE DATABASE x LOCATION 's3a://bucket/x'",
    ],
)
@pytest.mark.usefixtures("no_keys")
def test_what_reads_or_writes_their_files_wants_keys(context: sharkpy.SharkContext, statement: str) -> None:
    with pytest.raises(StorageRefusedError, match=r'there are no keys for "s3://bucket') as caught:
        rows(context, statement)
    assert caught.value.sqlstate == "28000"


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("statement", ["DROP TABLE owned", "CREATE OR REPLACE TABLE owned (a INT)"])
def test_a_table_goes_without_keys(context: sharkpy.SharkContext, statement: str) -> None:
    """Its files are removed when a session with keys comes, and before another table gets the place."""
    rows(context, statement)
    assert ("owned" in context.catalog.table_names("default")) == ("CREATE" in statement)
    assert context.catalog.find_table("default", "owned") is None or rows(context, "SELECT * FROM owned") == []
    with pytest.raises(StorageRefusedError, match="there are no keys"):
        context.catalog.clear_garbage("s3://bucket/owned")


def test_what_names_them_alone_needs_none(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE EXTERNAL TABLE x (a INT) LOCATION 's3a://bucket/x/'").close()
    context.sql("ALTER TABLE parts ADD PARTITION (p=9)").close()
    context.sql("CREATE TABLE d.x (a INT) TBLPROPERTIES ('EXTERNAL'='TRUE')").close()
    assert context.catalog.table("d", "x").location == "s3a://bucket/d/x"
    assert context.catalog.table("default", "x").location == "s3a://bucket/x"
    assert rows(context, "SHOW PARTITIONS parts") == [("p=1",), ("p=9",)]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DESCRIBE FORMATTED far", "s3a://bucket/far"),
        ("DESCRIBE EXTENDED far", "s3a://bucket/far"),
        ("SHOW CREATE TABLE far", "'s3a://bucket/far'"),
        ("SHOW TABLE EXTENDED LIKE 'far'", "Location: s3a://bucket/far"),
        ("DESCRIBE FORMATTED parts PARTITION (p=1)", "s3a://bucket/parts/p=1"),
        ("DESCRIBE EXTENDED parts PARTITION (p=1)", "location:s3a://bucket/parts/p=1"),
        ("SHOW TABLE EXTENDED LIKE 'parts' PARTITION (p=1)", "Location: s3a://bucket/parts/p=1"),
        ("SHOW PARTITIONS parts", "p=1"),
        ("DESCRIBE DATABASE d", "s3a://bucket/d"),
        ("SHOW CREATE DATABASE d", "'s3a://bucket/d'"),
        ("DESCRIBE FORMATTED hidden", "s3a://***@bucket/hidden"),
        ("DESCRIBE EXTENDED hidden", "s3a://***@bucket/hidden"),
        ("SHOW CREATE TABLE hidden", "s3a://***@bucket/hidden"),
        ("SHOW TABLE EXTENDED LIKE 'hidden'", "s3a://***@bucket/hidden"),
        ("SHOW TABLES", "hidden"),
    ],
)
def test_what_the_catalog_knows_is_shown(context: sharkpy.SharkContext, statement: str, told: str) -> None:
    found = text_of(context, statement)
    assert told in found
    assert "SECRET" not in found


@pytest.mark.parametrize(
    "statement", ["SELECT * FROM hidden", f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{SECRET}'", f"ADD JAR {SECRET}"]
)
def test_secrets_are_in_no_error(context: sharkpy.SharkContext, statement: str) -> None:
    with pytest.raises(UnsupportedError, match=r"s3a://\*\*\*@bucket/hidden") as caught:
        rows(context, statement)
    assert caught.value.hint is not None
    assert "SECRET" not in str(caught.value)


def test_the_catalog_alone_is_changed(context: sharkpy.SharkContext) -> None:
    for statement in (
        "ALTER TABLE far SET TBLPROPERTIES ('k'='v')",
        "ALTER TABLE far RENAME TO near",
        "ALTER TABLE near ADD COLUMNS (b STRING)",
        "DROP TABLE near",
        "ALTER TABLE parts PARTITION (p=1) RENAME TO PARTITION (p=5)",
    ):
        context.sql(statement).close()
    (one,) = context.catalog.partitions(context.catalog.table("default", "parts"))
    assert (one.name, one.location) == ("p=5", "s3a://bucket/parts/p=1")
    context.sql("ALTER TABLE parts DROP PARTITION (p=5)").close()
    context.sql("DROP TABLE parts").close()
    context.sql("DROP TABLE hidden").close()
    context.sql("DROP DATABASE d").close()
    assert context.catalog.table_names("default") == ["here", "owned"]


@pytest.mark.usefixtures("no_keys")
def test_a_remote_partition_leaves_the_others_alone(context: sharkpy.SharkContext) -> None:
    """MSCK asks for its folder and does not take it for a missing one; DROP deletes only the local files."""
    context.sql("INSERT OVERWRITE TABLE here PARTITION (p=1) VALUES (10)").close()
    with pytest.raises(StorageRefusedError, match="there are no keys"):
        context.sql("MSCK REPAIR TABLE here SYNC PARTITIONS")
    assert rows(context, "SHOW PARTITIONS here") == [("p=1",), ("p=2",)]
    assert rows(context, "SELECT a FROM here WHERE p < 2") == [(10,)]
    folder = Path(context.catalog.table("default", "here").location or "")
    context.sql("DROP TABLE here PURGE").close()
    assert not folder.exists()


def test_local_tables_live_beside_them(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for statement in (
        f"CREATE TABLE t (a INT) LOCATION '{tmp_path}/t'",
        "INSERT OVERWRITE TABLE t SELECT 1",
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT * FROM t",
        "CREATE TABLE u AS SELECT * FROM t",
        "DROP TABLE t",
    ):
        context.sql(statement).close()
    assert rows(context, "SELECT * FROM u") == [(1,)]
