"""Tables of Iceberg that Spark, with Iceberg's own runtime, and statements here write in turn, by the warehouse's own
catalog: each reads what the other has written.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import sharkpy
from tests.hadoop import HadoopCluster
from tests.lake.iceberg_spark import IcebergSpark
from tests.lake.tables import run
from tests.rows import rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
_ON_READ = ", ".join(f"'write.{what}.mode' = 'merge-on-read'" for what in ("delete", "update", "merge"))
Texts = list[tuple[str | None, ...]]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        run(opened, "CREATE TABLE first_of_all (k INT) STORED BY ICEBERG")
        yield opened


@pytest.fixture(scope="module")
def spark(context: sharkpy.SharkContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSpark]:
    catalog = context.catalog
    opened = IcebergSpark(
        tmp_path_factory.mktemp("spark"),
        "default",
        f"{catalog.state_dir}/iceberg.sqlite",
        f"file://{catalog.warehouse_dir}",
    )
    yield opened
    opened.close()


@pytest.fixture
def name() -> str:
    return f"t{uuid4().hex}"


class Both:
    """A table that both engines know."""

    def __init__(self, context: sharkpy.SharkContext, spark: IcebergSpark, name: str) -> None:
        self.context = context
        self.spark = spark
        self.name = name
        self.in_spark = spark.name(name)

    def check(self, rest: str = "", *, columns: str = "*") -> Texts:
        """Rows of a query that both have answered the same, as texts, in the order of the first column."""
        theirs = self.spark.rows(f"SELECT {columns} FROM {self.in_spark} {rest} ORDER BY 1")
        ours = rows(self.context, f"SELECT {columns} FROM {self.name} {rest} ORDER BY 1")
        assert [tuple(None if value is None else str(value) for value in row) for row in ours] == theirs
        return theirs

    def write(self, *statements: str) -> None:
        """Run statements here, on the table `t`."""
        run(self.context, *(one.replace("{t}", self.name) for one in statements))

    def write_there(self, *statements: str) -> None:
        """Run statements in Spark, on the table `t`."""
        self.spark.run(*(one.replace("{t}", self.in_spark) for one in statements))


@pytest.fixture
def both(context: sharkpy.SharkContext, spark: IcebergSpark, name: str) -> Both:
    return Both(context, spark, name)


def test_rows_that_spark_deletes_and_columns_that_it_changes(both: Both) -> None:
    both.write(
        "CREATE TABLE {t} (id BIGINT, word STRING, price DECIMAL(10,2), day DATE, at TIMESTAMP) STORED BY ICEBERG",
        "INSERT INTO {t} VALUES (1, 'a', 1.50, DATE '2026-01-01', TIMESTAMP '2026-01-01 10:00:00.123456'),"
        " (2, NULL, NULL, NULL, NULL), (3, 'käse', -2.25, DATE '1583-01-01', TIMESTAMP '1970-01-01 00:00:00')",
    )
    assert len(both.check()) == 3
    both.write_there(
        f"ALTER TABLE {{t}} SET TBLPROPERTIES ({_ON_READ})",
        "INSERT INTO {t} SELECT id, concat('w', id), id / 2, DATE '2026-02-01', NULL FROM range(10, 20)",
    )
    before = both.check()
    snapshot = both.spark.rows(f"SELECT snapshot_id FROM {both.in_spark}.snapshots ORDER BY committed_at DESC")[0][0]
    both.write_there("DELETE FROM {t} WHERE id IN (2, 15)", "UPDATE {t} SET word = 'new' WHERE id = 11")
    assert len(both.check()) == 11
    # Spark has not written the rows again: it has added files of deletes.
    assert rows(both.context, f"SELECT count(*) FROM {both.name}.files WHERE content <> 0") != [(0,)]
    both.write_there(
        "ALTER TABLE {t} RENAME COLUMN word TO text",
        "ALTER TABLE {t} ADD COLUMN more INT AFTER id",
        "ALTER TABLE {t} ALTER COLUMN price TYPE DECIMAL(12,2)",
        "INSERT INTO {t} VALUES (30, 7, 'n', 1234567890.25, NULL, NULL)",
        "ALTER TABLE {t} DROP COLUMN day",
        # Another one than the column that had this name.
        "ALTER TABLE {t} ADD COLUMN day STRING",
        "MERGE INTO {t} USING (SELECT 30L AS id UNION ALL SELECT 31L) AS other ON {t}.id = other.id "
        "WHEN MATCHED THEN UPDATE SET day = 'Monday' WHEN NOT MATCHED THEN INSERT (id, more) VALUES (other.id, 8)",
    )
    found = both.check()
    assert [row[0] for row in found][-2:] == ["30", "31"]
    assert "NULL" not in str(found)
    assert [row[-1] for row in found] == [None] * 11 + ["Monday", None]
    then = f"SELECT * FROM {both.name} VERSION AS OF {snapshot} ORDER BY 1"
    assert [row[1] for row in rows(both.context, then)] == [row[1] for row in before]


def test_rows_that_are_written_here(both: Both) -> None:
    both.write(
        "CREATE TABLE {t} (id BIGINT, part STRING, value DOUBLE) PARTITIONED BY SPEC (part) STORED BY ICEBERG "
        f"TBLPROPERTIES ({_ON_READ})"
    )
    both.write_there(
        "INSERT INTO {t} SELECT id, concat('p', id % 3), id FROM range(0, 30)",
        "DELETE FROM {t} WHERE id % 10 = 7",
    )
    both.write("INSERT INTO {t} VALUES (100, 'new/ one', 0.5), (101, NULL, NULL)")
    assert len(both.check()) == 29
    both.check("WHERE part = 'p1'")
    both.check("WHERE part IS NULL")
    # In the partitions that get rows, all other rows are removed, with their deletes.
    both.write("INSERT OVERWRITE {t} SELECT id + 1000, part, value FROM {t} WHERE part = 'p1' AND id > 5")
    assert len(both.check("WHERE part = 'p1'")) == 7
    both.write(
        "ALTER TABLE {t} ADD COLUMNS (more STRING)",
        "UPDATE {t} SET more = 'here' WHERE id < 3",
        "DELETE FROM {t} WHERE id = 0",
    )
    both.check()
    both.write_there("INSERT INTO {t} VALUES (200, 'p1', 7, 'there')", "DELETE FROM {t} WHERE id = 2")
    assert both.check("WHERE more IS NOT NULL", columns="id, more") == [("200", "there")]
    both.write("TRUNCATE TABLE {t}")
    assert both.check() == []


def test_deletion_vectors_and_fields_that_divide(both: Both) -> None:
    both.write_there(
        "CREATE TABLE {t} (id BIGINT, word STRING, at TIMESTAMP_NTZ) USING iceberg "
        "PARTITIONED BY (bucket(4, id), days(at)) "
        f"TBLPROPERTIES ('format-version' = '3', {_ON_READ})",
        "INSERT INTO {t} SELECT id, concat('w', id), TIMESTAMP_NTZ '2026-01-01 00:00:00' + make_interval(0, 0, 0, id) "
        "FROM range(0, 40)",
        "DELETE FROM {t} WHERE id % 10 = 3",
        "ALTER TABLE {t} ADD PARTITION FIELD truncate(2, word)",
        "INSERT INTO {t} VALUES (1000, 'word', NULL)",
    )
    both.write("CREATE EXTERNAL TABLE {t} STORED BY ICEBERG TBLPROPERTIES ('name' = 'default.{t}')")
    assert len(both.check()) == 37
    assert both.check("WHERE id = 14", columns="id, word") == [("14", "w14")]
    assert len(both.check("WHERE at >= TIMESTAMP '2026-02-01 00:00:00'", columns="id")) == 8
    formats = both.spark.rows(f"SELECT DISTINCT file_format FROM {both.in_spark}.all_delete_files")
    assert formats == [("PUFFIN",)]


def test_months_that_are_overwritten(both: Both) -> None:
    both.write_there(
        "CREATE TABLE {t} (id BIGINT, at TIMESTAMP_NTZ) USING iceberg PARTITIONED BY (months(at))",
        "INSERT INTO {t} SELECT id, TIMESTAMP_NTZ '1969-12-15 00:00:00' + make_interval(0, 0, 0, id) FROM range(0, 60)",
    )
    both.write(
        "CREATE EXTERNAL TABLE {t} STORED BY ICEBERG TBLPROPERTIES ('name' = 'default.{t}')",
        "INSERT OVERWRITE {t} VALUES (1000, TIMESTAMP '1970-01-31 23:59:59.999999')",
    )
    assert len(both.check()) == 60 - 31 + 1
    assert len(both.check("WHERE at < TIMESTAMP '1970-01-01 00:00:00'")) == 17
    found = both.check("WHERE at >= TIMESTAMP '1970-01-01' AND at < TIMESTAMP '1970-02-01'", columns="id")
    assert found == [("1000",)]


def test_a_table_in_hdfs(both: Both, hdfs: HadoopCluster) -> None:
    pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")
    both.write(
        f"CREATE TABLE {{t}} (id BIGINT, part STRING) PARTITIONED BY SPEC (part) STORED BY ICEBERG LOCATION "
        f"'{hdfs.hdfs}/spark/{both.name}' TBLPROPERTIES ({_ON_READ})",
        "INSERT INTO {t} VALUES (1, 'a b'), (2, 'käse'), (3, NULL)",
    )
    both.write_there("INSERT INTO {t} VALUES (4, 'a b'), (5, 'x/y=z%20')", "DELETE FROM {t} WHERE id = 1")
    assert [row[0] for row in both.check()] == ["2", "3", "4", "5"]
    both.write("INSERT OVERWRITE {t} SELECT id + 10, part FROM {t} WHERE id > 3")
    assert [row[0] for row in both.check()] == ["2", "3", "14", "15"]
    both.write_there("DELETE FROM {t} WHERE id = 14", "INSERT OVERWRITE {t} VALUES (7, 'käse')")
    both.check()
