"""LOAD DATA of files that cannot become the table's unchanged: their rows are inserted."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError, UnsupportedError

TEXT = "org.apache.hadoop.mapred.TextInputFormat"
LINES = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part-1.txt").write_text("1\x01a\x01x\n2\x01b\x01y\n")
    (tmp_path / "in" / "part-2.txt").write_text("3\x01c\x01\\N\n")
    (tmp_path / "in" / "other").write_text("9\x01z\x01z\n")
    context.sql("CREATE TABLE t (a INT, b STRING) PARTITIONED BY (p STRING) STORED AS TEXTFILE")
    return context


def rows(context: sharkpy.SharkContext) -> list[tuple[object, ...]]:
    return [tuple(row) for row in context.sql("SELECT * FROM t ORDER BY a").fetchall()]


def test_the_last_columns_are_the_partition(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/in/part-*' INTO TABLE t")
    assert rows(context) == [(1, "a", "x"), (2, "b", "y"), (3, "c", None)]
    assert len(list((tmp_path / "in").iterdir())) == 3
    context.sql(f"LOAD DATA INPATH '{tmp_path}/in/other' OVERWRITE INTO TABLE t PARTITION (p)")
    assert rows(context)[-1] == (9, "z", "z")
    assert not (tmp_path / "in" / "other").exists()


def test_a_pattern_matches_no_hidden_names(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for name in ("_part-3.txt", ".part-4.txt"):
        (tmp_path / "in" / name).write_text("7\x01h\x01h\n")
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/in/*part*' INTO TABLE t")
    assert [row[0] for row in rows(context)] == [1, 2, 3]
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/in/_part*' INTO TABLE t")
    assert [row[0] for row in rows(context)] == [1, 2, 3, 7]


def test_files_of_another_format(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("ALTER TABLE t SET FILEFORMAT PARQUET")
    load = f"LOAD DATA LOCAL INPATH '{tmp_path}/in' INTO TABLE t"
    with pytest.raises(SharkError):
        context.sql(load)
    assert rows(context) == []
    context.sql(f"{load} INPUTFORMAT '{TEXT}' SERDE '{LINES}'")
    assert [a for a, *_ in rows(context)] == [1, 2, 3, 9]
    with pytest.raises(UnsupportedError, match=r"the input format x\.y"):
        context.sql(f"{load} INPUTFORMAT 'x.y'")


def test_a_part_of_the_partition(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("DROP TABLE t")
    context.sql("CREATE TABLE t (a INT, b STRING) PARTITIONED BY (o INT, p STRING) STORED AS TEXTFILE")
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/in/part-1.txt' INTO TABLE t PARTITION (o = 5, p)")
    assert rows(context) == [(1, "a", 5, "x"), (2, "b", 5, "y")]
    with pytest.raises(BindError, match="lacks the partition column"):
        context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/in' INTO TABLE t PARTITION (o = 5)")


def test_a_failure_leaves_table_and_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("SET hive.exec.max.dynamic.partitions=1")
    with pytest.raises(SharkError, match="more than 1 partitions"):
        context.sql(f"LOAD DATA INPATH '{tmp_path}/in/part-1.txt' INTO TABLE t")
    assert rows(context) == []
    assert (tmp_path / "in" / "part-1.txt").exists()
    folder = Path(context.catalog.table("default", "t").location or "")
    assert [path for path in folder.iterdir() if path.name.startswith(".staging")] == []
