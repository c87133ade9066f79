"""Streams of the rows that are appended to a table: FROM TABLE."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ParseError, SharkError, TableNotFoundError, UnsupportedError
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, state_of, until_numbers
from tests.waiting import until

KINDS = {
    "parquet": "(n BIGINT, s STRING) STORED AS PARQUET",
    "text": "(n BIGINT, s STRING) STORED AS TEXTFILE",
    "orc": "(n BIGINT, s STRING) STORED AS ORC",
    "cached": "(n BIGINT, s STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "parts": "(n BIGINT) PARTITIONED BY (s STRING) STORED AS PARQUET",
    "cached parts": "(n BIGINT) PARTITIONED BY (s STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
}


pytestmark = pytest.mark.settings({"shark.compaction.min.blocks": 4})


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    return context


def insert(context: sharkpy.SharkContext, *found: int, table: str = "a") -> None:
    values = ", ".join(f"({number}, 'p{number % 3}')" for number in found)
    context.sql(f"INSERT INTO {table} VALUES {values}").close()


def make(context: sharkpy.SharkContext, clauses: str = "", kind: str = "parquet") -> None:
    context.sql(f"CREATE TABLE a {KINDS[kind]}")
    insert(context, 1, 2)
    context.sql(f"CREATE STREAM added FROM TABLE a {clauses}")


def follow(context: sharkpy.SharkContext, clauses: str = NOW) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS SELECT n, s FROM added").close()


def go_on(context: sharkpy.SharkContext) -> None:
    context.sql("RESUME CONTINUOUS TABLE t").close()


def spool(context: sharkpy.SharkContext, stream: str = "added") -> list[Path]:
    folder = Path(context.catalog.table("default", stream).location or "")
    return [path for path in paths_below(folder) if path.is_file()]


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_from_now_on(context: sharkpy.SharkContext, kind: str) -> None:
    make(context, kind=kind)
    follow(context)
    assert numbers(context) == []
    insert(context, 3, 4)
    insert(context, 5)
    assert rows(context, "SELECT n, s FROM added ORDER BY n") == [(3, "p0"), (4, "p1"), (5, "p2")]
    go_on(context)
    assert rows(context, "SELECT n, s FROM t ORDER BY n") == [(3, "p0"), (4, "p1"), (5, "p2")]
    go_on(context)
    assert numbers(context) == [3, 4, 5]
    # All that was read is gone, and nothing of the table is.
    assert spool(context) == []
    assert numbers(context, "a") == [1, 2, 3, 4, 5]


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
def test_with_history(context: sharkpy.SharkContext, kind: str) -> None:
    make(context, "WITH HISTORY", kind)
    follow(context)
    assert rows(context, "SELECT n, s FROM t ORDER BY n") == [(1, "p1"), (2, "p2")]
    insert(context, 3)
    go_on(context)
    assert numbers(context) == [1, 2, 3]


def test_a_table_of_before_the_catalog_counted_its_generations(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE a (n BIGINT, s STRING)")
    for number in range(4):
        insert(context, number)
    context.sql("CREATE STREAM added FROM TABLE a WITH HISTORY")
    follow(context)
    insert(context, 4)
    go_on(context)
    assert numbers(context) == numbers(context, "a") == [0, 1, 2, 3, 4]


def test_streams_chain(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    make_stream(context, tmp_path / "in")
    context.sql("CREATE CONTINUOUS TABLE a TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT n, s FROM numbers")
    context.sql("CREATE STREAM added FROM TABLE a WITH HISTORY")
    follow(context, "TBLPROPERTIES ('shark.cache' = 'MEMORY')")
    context.sql("CREATE STREAM further FROM TABLE t WITH HISTORY")
    context.sql("CREATE CONTINUOUS TABLE u AS SELECT n * 2 AS n FROM further")
    for number in range(8):
        put_numbers(tmp_path / "in", f"{number}", [number])
        until_numbers(context, [2 * one for one in range(number + 1)], "u")
    until(lambda: not spool(context) and not spool(context, "further"))


def test_several_streams_and_queries(context: sharkpy.SharkContext) -> None:
    make(context)
    context.sql("CREATE STREAM other FROM TABLE a WITH HISTORY")
    follow(context)
    context.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT n FROM added WHERE n > 3")
    context.sql(f"CREATE CONTINUOUS TABLE v {NOW} AS SELECT n FROM other")
    insert(context, 3, 4)
    go_on(context)
    # One query has still to read it.
    assert spool(context)
    for name in ("u", "v"):
        context.sql(f"RESUME CONTINUOUS TABLE {name}")
    assert (numbers(context), numbers(context, "u"), numbers(context, "v")) == ([3, 4], [4], [1, 2, 3, 4])
    assert not spool(context)
    assert not spool(context, "other")


def test_the_files_of_one_write_come_in_their_order(context: sharkpy.SharkContext) -> None:
    make(context, "('max.files.per.epoch' = '1')")
    follow(context, "TRIGGER ONCE")
    for number in range(3, 6):
        insert(context, number)
    context.sql("DROP CONTINUOUS TABLE t")
    follow(context)
    assert [row[3] for row in rows(context, "SHOW EPOCHS t")] == [1, 1, 1]
    assert numbers(context) == [3, 4, 5]


def test_items_outlive_folds_of_the_table(context: sharkpy.SharkContext) -> None:
    make(context)
    follow(context, "TRIGGER EVERY 1 HOURS")
    context.sql("PAUSE CONTINUOUS TABLE t")
    for number in range(3, 40):
        insert(context, number)
    context.sql("ALTER TABLE a CONCATENATE")
    assert numbers(context, "a") == list(range(1, 40))
    context.sql(f"ALTER CONTINUOUS TABLE t {NOW}")
    go_on(context)
    assert numbers(context) == list(range(3, 40))


REWRITES = {
    "update": "UPDATE a SET s = 'x' WHERE n = 1",
    "delete": "DELETE FROM a WHERE n = 1",
    "merge": "MERGE INTO a USING (SELECT 1 AS n, 'y' AS s) b ON a.n = b.n WHEN MATCHED THEN UPDATE SET s = b.s",
    "overwrite": "INSERT OVERWRITE TABLE a SELECT 9, 'p0'",
    "truncate": "TRUNCATE TABLE a",
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", ["parquet", "cached", "parts"])
@pytest.mark.parametrize("change", REWRITES)
def test_rows_that_are_replaced(context: sharkpy.SharkContext, change: str, kind: str) -> None:
    make(context, kind=kind)
    follow(context)
    if kind == "parts" and change in ("update", "merge"):
        text = "UPDATE a SET n = 10 WHERE n = 1"
    elif kind == "parts" and change == "overwrite":
        text = "INSERT OVERWRITE TABLE a PARTITION (s) SELECT 9, 'p1'"
    else:
        text = REWRITES[change]
    insert(context, 3)
    context.sql(text)
    insert(context, 4)
    with pytest.raises(SharkError, match=r"rows of the table of default\.added were replaced or removed") as caught:
        go_on(context)
    assert caught.value.sqlstate == "55000"
    assert state_of(context)[0] == "STOPPED"
    assert numbers(context) == []
    context.sql("ALTER TABLE added SET TBLPROPERTIES ('failOnDataLoss' = 'false')")
    go_on(context)
    assert numbers(context) == [3, 4]
    insert(context, 5)
    go_on(context)
    assert numbers(context) == [3, 4, 5]


@pytest.mark.parametrize("kind", ["parquet", "parts"])
def test_rows_that_replace_nothing_are_added(context: sharkpy.SharkContext, kind: str) -> None:
    context.sql(f"CREATE TABLE a {KINDS[kind]}")
    context.sql("CREATE STREAM added FROM TABLE a")
    follow(context)
    into = "a PARTITION (s)" if kind == "parts" else "a"
    context.sql(f"INSERT OVERWRITE TABLE {into} SELECT 1, 'p1'")
    go_on(context)
    assert numbers(context) == [1]


def test_a_merge_that_only_inserts(context: sharkpy.SharkContext) -> None:
    make(context)
    follow(context)
    context.sql(
        "MERGE INTO a USING (SELECT 2 AS n, 'p2' AS s UNION ALL SELECT 7, 'p1') b ON a.n = b.n "
        "WHEN NOT MATCHED THEN INSERT VALUES (b.n, b.s)"
    )
    go_on(context)
    assert numbers(context) == [7]


@pytest.mark.parametrize("kind", ["parquet", "text", "parts"])
def test_the_table_is_altered(context: sharkpy.SharkContext, kind: str) -> None:
    make(context, kind=kind)
    follow(context)
    insert(context, 3)
    context.sql("ALTER TABLE a ADD COLUMNS (c INT)")
    context.sql("INSERT INTO a (n, c, s) VALUES (4, 40, 'p1')")
    context.sql("ALTER TABLE a RENAME TO b")
    context.sql("INSERT INTO b (n, c, s) VALUES (5, 50, 'p2')")
    go_on(context)
    assert rows(context, "SELECT n, s FROM t ORDER BY n") == [(3, "p0"), (4, "p1"), (5, "p2")]
    assert rows(context, "SHOW STREAMS") == [("default", "added", "TABLE", "default.b", None)]
    assert "FROM TABLE `default`.`b`" in [row[0] for row in rows(context, "SHOW CREATE TABLE added")]


def test_other_formats_of_the_table(context: sharkpy.SharkContext) -> None:
    make(context, kind="parts")
    follow(context)
    context.sql("ALTER TABLE a SET FILEFORMAT ORC")
    insert(context, 3, 4, 5, 7, 8)
    context.sql("ALTER TABLE a CHANGE COLUMN n m BIGINT")
    context.sql("INSERT INTO a VALUES (9, 'p9')")
    go_on(context)
    assert numbers(context) == [3, 4, 5, 7, 8, 9]


def test_load_data_and_multi_insert(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    make(context, kind="text")
    context.sql("CREATE TABLE b (n BIGINT, s STRING)")
    follow(context)
    (tmp_path / "rows.txt").write_text("3\x01p0\n4\x01p1\n")
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path / 'rows.txt'}' INTO TABLE a")
    context.sql(
        "FROM (SELECT 5 AS n) v INSERT INTO a SELECT n, 'x' INSERT INTO b SELECT n, 'y' INSERT INTO a SELECT 6, 'z'"
    )
    go_on(context)
    assert numbers(context) == [3, 4, 5, 6]


def test_a_failed_write_gives_nothing(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(context)
    follow(context)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "hardlink_to", fail)
        with pytest.raises(SharkError, match="disk full"):
            insert(context, 3)
    assert spool(context) == []
    assert numbers(context, "a") == [1, 2]
    insert(context, 4)
    go_on(context)
    assert numbers(context) == [4]
    assert numbers(context, "a") == [1, 2, 4]


def test_what_killed_writes_have_left_is_removed(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    make(context)
    insert(context, 3)
    left = Path(context.catalog.table("default", "added").location or "", "0" * 32)
    left.mkdir()
    (left / "0000000-part.parquet").write_bytes(b"torn")
    assert len(spool(context)) == 2
    context.stop()
    with sharkpy.connect("local[2]", tmp_path / "w") as again:
        follow(again)
        assert numbers(again) == [3]
        assert not left.exists()


def test_the_table_is_dropped(context: sharkpy.SharkContext) -> None:
    make(context)
    follow(context)
    insert(context, 3)
    context.sql("DROP TABLE a")
    with pytest.raises(TableNotFoundError, match=r"the table of the stream default\.added was dropped"):
        go_on(context)
    context.sql("CREATE TABLE a (n BIGINT, s STRING)")
    insert(context, 4)
    with pytest.raises(TableNotFoundError):
        go_on(context)
    context.sql("DROP TABLE a PURGE")
    context.sql("UNDROP TABLE a")
    insert(context, 5)
    go_on(context)
    assert numbers(context) == [3, 5]
    context.sql("DROP TABLE a")
    context.sql("DROP CONTINUOUS TABLE t")
    context.sql("DROP STREAM added")
    assert rows(context, "SHOW STREAMS") == []


def test_drop_stream(context: sharkpy.SharkContext) -> None:
    make(context)
    insert(context, 3)
    folder = Path(context.catalog.table("default", "added").location or "")
    context.sql("DROP STREAM added")
    assert not folder.exists()
    insert(context, 4)
    assert numbers(context, "a") == [1, 2, 3, 4]


def test_it_is_shown(context: sharkpy.SharkContext) -> None:
    make(context, "WITH HISTORY ('max.files.per.epoch' = '7')")
    shown = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE added"))
    assert "FROM TABLE `default`.`a`" in shown
    assert rows(context, "DESCRIBE added") == [("n", "bigint", ""), ("s", "string", "")]
    described = str(rows(context, "DESCRIBE EXTENDED added"))
    assert "TABLE default.a (max.files.per.epoch=7, history=true)" in described
    context.sql("DROP STREAM added")
    context.sql(shown.replace("`a`", "a"))
    assert numbers(context, "added") == [1, 2]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("CREATE STREAM x (n BIGINT) FROM TABLE a", ParseError, "has the columns of the table"),
        ("CREATE STREAM x STORED AS ORC FROM TABLE a", UnsupportedError, "format"),
        ("CREATE STREAM x FROM TABLE missing", TableNotFoundError, "missing"),
        ("CREATE STREAM x FROM TABLE v", BindError, r"default\.v is a view"),
        ("CREATE STREAM x FROM TABLE added", BindError, r"default\.added is a stream"),
        ("CREATE STREAM x FROM TABLE e", UnsupportedError, "not managed"),
        ("CREATE STREAM x FROM TABLE m", UnsupportedError, "MEMORY_ONLY"),
        ("CREATE STREAM x FROM TABLE tmp", UnsupportedError, "not managed"),
        ("CREATE STREAM x FROM TABLE a ('rows' = '1')", BindError, 'no option "rows"'),
        ("CREATE CONTINUOUS TABLE x ON BAD ROW SKIP TO bad AS SELECT n FROM added", UnsupportedError, "typed"),
    ],
)
def test_what_is_refused(
    context: sharkpy.SharkContext, tmp_path: Path, text: str, error: type[SharkError], message: str
) -> None:
    make(context)
    context.sql("CREATE VIEW v AS SELECT * FROM a")
    context.sql(f"CREATE EXTERNAL TABLE e (n BIGINT) LOCATION '{tmp_path / 'e'}'")
    context.sql("CREATE TABLE m TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT 1 AS n")
    context.sql("CREATE TEMPORARY TABLE tmp (n BIGINT)")
    with pytest.raises(error, match=message):
        context.sql(text)
    assert context.catalog.find_table("default", "x") is None


@pytest.mark.variants(2)
@pytest.mark.parametrize("kind", ["cached", "parts"])
def test_any_order_of_writes_and_epochs(context: sharkpy.SharkContext, tmp_path: Path, kind: str) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance, now = random.Random(seed), context
    make(context, kind=kind)
    follow(context)
    added: list[int] = []
    for step in range(30):
        match chance.choice("iiifrs"):
            case "i":
                found = [100 * step + number for number in range(chance.randrange(1, 5))]
                insert(now, *found)
                added += found
            case "f":
                now.sql(
                    "ALTER TABLE a CONCATENATE" if kind == "cached" else "ALTER TABLE a PARTITION (s='p1') CONCATENATE"
                )
            case "r":
                go_on(now)
                assert numbers(now) == added
            case "s":
                now.stop()
                now = sharkpy.connect("local[2]", tmp_path / "w")
                now.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    go_on(now)
    assert numbers(now) == added
    assert numbers(now, "a") == sorted([1, 2, *added])
    assert not spool(now)
    now.stop()


def test_a_watermark_of_a_tables_times(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE a (k STRING, ts TIMESTAMP)")
    context.sql("CREATE STREAM added (WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) FROM TABLE a")
    shown = "\n".join(row[0] for row in context.sql("SHOW CREATE TABLE added").fetchall())
    assert "WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND" in shown
    context.sql("DROP STREAM added")
    context.sql(shown)
    query = "SELECT window.start AS start, count(*) AS n FROM added WINDOWING 10 s"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {query}")
    for second, closed in ((1, []), (14, []), (15, [1]), (31, [1, 2])):
        context.sql(f"INSERT INTO a VALUES ('x', TIMESTAMP '2026-05-01 10:00:{second:02}')")
        context.sql("RESUME CONTINUOUS TABLE t")
        assert [n for (n,) in rows(context, "SELECT n FROM t ORDER BY start")] == closed
    with pytest.raises(BindError, match='no column "at"'):
        context.sql("CREATE STREAM other (WATERMARK FOR at AS at) FROM TABLE a")
    with pytest.raises(UnsupportedError, match="FROM a continuous table with state"):
        context.sql("CREATE STREAM other (WATERMARK FOR start AS start) FROM TABLE t")
    with pytest.raises(ParseError, match="has the columns of the table"):
        context.sql("CREATE STREAM other (k STRING, WATERMARK FOR ts AS ts) FROM TABLE a")
    context.sql("CREATE STREAM early (WATERMARK FOR ts AS ts, ts TIMESTAMP, n INT) FROM PROGRAM")
    assert context.catalog.table("default", "early").watermark is not None
