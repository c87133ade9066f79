"""Streams of the rows that are inserted into a table and deleted from it: FROM TABLE … WITH CHANGES."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ColumnNotFoundError, SharkError, TableNotFoundError, UnsupportedError
from sharkpy.streaming import kill_points
from tests.children import child
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, state_of
from tests.waiting import until

KINDS = {
    "parquet": "(n BIGINT, s STRING) STORED AS PARQUET",
    "text": "(n BIGINT, s STRING) STORED AS TEXTFILE",
    "cached": "(n BIGINT, s STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "parts": "(n BIGINT) PARTITIONED BY (s STRING) STORED AS PARQUET",
}

pytestmark = pytest.mark.settings({"shark.compaction.min.blocks": 4})


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    return context


def make(context: sharkpy.SharkContext, clauses: str = "", kind: str = "parquet") -> None:
    context.sql(f"CREATE TABLE a {KINDS[kind]}")
    context.sql("INSERT INTO a VALUES (1, 'p1'), (2, 'p2')")
    context.sql(f"CREATE STREAM changed FROM TABLE a WITH CHANGES {clauses}")


def follow(context: sharkpy.SharkContext, clauses: str = NOW) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS SELECT n, s, _change_type, _commit FROM changed").close()


def go_on(context: sharkpy.SharkContext, table: str = "t") -> None:
    context.sql(f"RESUME CONTINUOUS TABLE {table}").close()


def changes(context: sharkpy.SharkContext, table: str = "t") -> list[tuple[object, ...]]:
    return rows(context, f"SELECT n, s, _change_type FROM {table} ORDER BY _commit, _change_type, n, s")


def versions(context: sharkpy.SharkContext, table: str = "a") -> list[int]:
    """Versions of a table, the oldest first."""
    return [row[0] for row in reversed(rows(context, f"DESCRIBE HISTORY {table}"))]


@pytest.mark.variants(2)
@pytest.mark.parametrize("kind", KINDS)
def test_each_statement_changes_rows(context: sharkpy.SharkContext, kind: str) -> None:
    make(context, kind=kind)
    follow(context)
    assert changes(context) == changes(context, "changed") == []
    expected = list[tuple[object, ...]]()
    for text, found in (
        ("INSERT INTO a VALUES (3, 'p1')", [(3, "p1", "insert")]),
        ("UPDATE a SET n = 10 WHERE n = 1", [(1, "p1", "delete"), (10, "p1", "insert")]),
        ("DELETE FROM a WHERE s = 'p2'", [(2, "p2", "delete")]),
        (
            "MERGE INTO a USING (SELECT 3 AS n UNION ALL SELECT 4) b ON a.n = b.n"
            " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (b.n, 'p4')",
            [(3, "p1", "delete"), (4, "p4", "insert")],
        ),
        ("INSERT OVERWRITE TABLE a SELECT 4, 'p4' UNION ALL SELECT 4, 'p4'", [(4, "p4", "insert")]),
        ("TRUNCATE TABLE a", [(4, "p4", "delete"), (4, "p4", "delete")]),
    ):
        if kind == "parts" and text.startswith("INSERT OVERWRITE"):
            text, found = "INSERT OVERWRITE TABLE a SELECT 4, 'p4' UNION ALL SELECT 4, 'p4'", [(4, "p4", "insert")]
            context.sql("DELETE FROM a WHERE s = 'p1'")
            expected.append((10, "p1", "delete"))
        elif text.startswith("INSERT OVERWRITE"):
            found = [(10, "p1", "delete"), *found]
        context.sql(text)
        expected += found
        go_on(context)
        assert changes(context) == expected, text
    [_, last, *_] = versions(context)
    context.sql(f"RESTORE TABLE a TO VERSION AS OF {last}")
    go_on(context)
    assert changes(context) == changes(context, "changed") == [*expected, (1, "p1", "insert"), (2, "p2", "insert")]


@pytest.mark.parametrize("kind", KINDS)
def test_with_history(context: sharkpy.SharkContext, kind: str) -> None:
    make(context, "WITH HISTORY ('max.files.per.epoch' = '1')", kind)
    context.sql("DELETE FROM a WHERE n = 1")
    context.sql("INSERT INTO a VALUES (3, 'p3')")
    follow(context)
    history = [(1, "p1", "insert"), (2, "p2", "insert")]
    assert changes(context) == changes(context, "changed") == [*history, (1, "p1", "delete"), (3, "p3", "insert")]
    _, start, deleted, inserted = versions(context)
    assert rows(context, "SELECT DISTINCT _commit FROM t ORDER BY _commit") == [(start,), (deleted,), (inserted,)]
    # Each commit is an epoch.
    assert [row[3] for row in reversed(rows(context, "SHOW EPOCHS t"))] == [2, 1, 1]
    told = f'{{"default.changed": [{start}, {start + 1}]}}'
    assert rows(context, "SHOW EPOCHS t")[-1][5] == told
    assert rows(context, "SELECT lag FROM sys.continuous_tables") == [(0,)]


def test_from_a_version(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE a {KINDS['parquet']}")
    for number in range(5):
        context.sql(f"INSERT INTO a VALUES ({number}, 'x')")
    _, first, second, *_ = versions(context)
    context.sql(f"CREATE STREAM changed FROM TABLE a WITH CHANGES ('startingVersion' = '{second}')")
    assert [row[0] for row in changes(context, "changed")] == [1, 2, 3, 4]
    context.sql("DROP STREAM changed")
    context.catalog.history.forget_before(context.catalog.table("default", "a").table_id, second)
    with pytest.raises(BindError, match=rf"version {first} of default\.a is not available") as caught:
        context.sql(f"CREATE STREAM changed FROM TABLE a WITH CHANGES ('startingVersion' = '{second}')")
    assert caught.value.sqlstate == "22023"
    assert context.catalog.find_table("default", "changed") is None


def test_start_from(context: sharkpy.SharkContext) -> None:
    make(context)
    context.sql("INSERT INTO a VALUES (3, 'p3')")
    context.sql(f"CREATE CONTINUOUS TABLE late {NOW} START FROM LATEST AS SELECT n FROM changed")
    context.sql(f"CREATE CONTINUOUS TABLE late2 {NOW} START FROM TIMESTAMP '2000-01-01' AS SELECT n FROM changed")
    context.sql("DELETE FROM a WHERE n = 3")
    for table, found in (("late", 1), ("late2", 2)):
        go_on(context, table)
        assert rows(context, f"SELECT n FROM {table}") == [(3,)] * found


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", ["parquet", "cached", "parts"])
@pytest.mark.parametrize("placement", ["driver", "rdd"])
def test_any_statements_and_epochs(context: sharkpy.SharkContext, tmp_path: Path, kind: str, placement: str) -> None:
    """The changes lead from version to version. `SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance, now = random.Random(seed), context
    if placement == "rdd":
        context.sql("SET shark.placement.driver = false")
    make(context, f"WITH HISTORY ('max.files.per.epoch' = '{chance.choice((1, 3, 100))}')", kind)
    follow(context)
    name = "a"
    for step in range(25 if placement == "driver" else 8):
        n, s = chance.randrange(8), f"p{chance.randrange(3)}"
        match chance.choice("iiiiudmotrrrfnsa"):
            case "i":
                now.sql(f"INSERT INTO {name} (n, s) VALUES ({n}, '{s}'), ({n}, '{s}'), ({step}, '{s}')")
            case "u":
                now.sql(f"UPDATE {name} SET n = n + 1 WHERE n % 3 = {n % 3}")
            case "d":
                now.sql(f"DELETE FROM {name} WHERE n = {n} OR s = '{s}'")
            case "m":
                now.sql(
                    f"MERGE INTO {name} a USING (SELECT {n} AS n) b ON a.n = b.n WHEN MATCHED THEN DELETE"
                    f" WHEN NOT MATCHED THEN INSERT (n, s) VALUES (b.n, '{s}')"
                )
            case "o":
                now.sql(f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT n, s FROM {name} WHERE n <> {n}")
                now.sql(f"INSERT OVERWRITE TABLE {name} (n, s) SELECT n, s FROM v UNION ALL SELECT {n}, '{s}'")
            case "t":
                now.sql(f"TRUNCATE TABLE {name}")
            case "r":
                go_on(now)
            case "f":
                now.sql(f"DROP TABLE {name}")
                now.sql(f"UNDROP TABLE {name}")
            case "n":
                now.sql(f"ALTER TABLE {name} RENAME TO b{step}")
                name = f"b{step}"
            case "a":
                now.sql(f"ALTER TABLE {name} ADD COLUMNS (c{step} INT)")
            case "s":
                now.stop()
                now = sharkpy.connect("local[2]", tmp_path / "w")
                now.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    go_on(now)
    changed = rows(now, "SELECT n, s, _change_type, _commit FROM t")
    assert Counter(changed) == Counter(rows(now, "SELECT n, s, _change_type, _commit FROM changed"))
    for version in versions(now, name)[1:]:
        content = Counter[tuple[object, ...]]()
        for n, s, change, commit in changed:
            if commit <= version:
                content[n, s] += 1 if change == "insert" else -1
        assert +content == Counter(rows(now, f"SELECT n, s FROM {name} VERSION AS OF {version}"))
        assert min(content.values(), default=0) >= 0
    now.stop()


def test_hive_partitions_that_move(context: sharkpy.SharkContext) -> None:
    make(context, kind="parts")
    follow(context)
    context.sql("CREATE TABLE b (n BIGINT) PARTITIONED BY (s STRING) STORED AS PARQUET")
    context.sql("ALTER TABLE a PARTITION (s='p1') RENAME TO PARTITION (s='p3')")
    context.sql("ALTER TABLE b EXCHANGE PARTITION (s='p2') WITH TABLE a")
    context.sql("ALTER TABLE a ADD PARTITION (s='p9')")
    context.sql("ALTER TABLE a DROP PARTITION (s='p3')")
    go_on(context)
    assert changes(context) == [(1, "p1", "delete"), (1, "p3", "insert"), (2, "p2", "delete"), (1, "p3", "delete")]


def test_columns_of_the_table_change(context: sharkpy.SharkContext) -> None:
    make(context)
    follow(context)
    context.sql("ALTER TABLE a ADD COLUMNS (c INT)")
    context.sql("INSERT INTO a VALUES (3, 'p3', 30)")
    context.sql("UPDATE a SET c = 5, s = 'x' WHERE n = 1")
    go_on(context)
    expected = [(3, "p3", "insert"), (1, "p1", "delete"), (1, "x", "insert")]
    assert changes(context) == expected
    context.sql("ALTER TABLE a CHANGE COLUMN n m BIGINT")
    go_on(context)
    context.sql("INSERT INTO a VALUES (4, 'p4', 40)")
    with pytest.raises(BindError, match=r'default\.a had no such column "n" at version'):
        go_on(context)
    assert changes(context) == expected


def test_drop_and_undrop(context: sharkpy.SharkContext) -> None:
    make(context)
    follow(context)
    context.sql("INSERT INTO a VALUES (3, 'p3')")
    context.sql("DROP TABLE a")
    with pytest.raises(TableNotFoundError, match=r"the table of the stream default\.changed was dropped"):
        go_on(context)
    context.sql(f"CREATE TABLE a {KINDS['parquet']}")
    with pytest.raises(TableNotFoundError):
        go_on(context)
    context.sql("DROP TABLE a PURGE")
    context.sql("UNDROP TABLE a")
    context.sql("DELETE FROM a WHERE n = 1")
    go_on(context)
    assert changes(context) == [(3, "p3", "insert"), (1, "p1", "delete")]
    context.sql("DROP TABLE a PURGE")
    assert context.catalog.streams.feeding(context.catalog.table("default", "changed").table_id) is None
    with pytest.raises(TableNotFoundError):
        go_on(context)


def test_queries(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    make(context, "WITH HISTORY")
    context.sql("CREATE TABLE names AS SELECT 1 AS n, 'one' AS name UNION ALL SELECT 3, 'three'")
    context.sql("CREATE TABLE deleted (n BIGINT, at TIMESTAMP)")
    queries = {
        "counted": "WITH UNBOUNDED STATE AS SELECT _change_type AS c, count(*) AS k FROM changed GROUP BY _change_type",
        "named": "AS SELECT c.n, name, _change_type FROM changed c JOIN names ON c.n = names.n",
        "pairs": "WITH UNBOUNDED STATE AS SELECT x.n, y.s AS now FROM changed x JOIN changed y"
        " ON x.n = y.n AND x._commit = y._commit AND x._change_type = 'delete' AND y._change_type = 'insert'",
    }
    for name, query in queries.items():
        context.sql(f"CREATE CONTINUOUS TABLE {name} {NOW} {query}")
    insert = "INSERT INTO deleted SELECT n, _commit_time FROM changed WHERE _change_type = 'delete'"
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS {insert}")
    query = "SELECT n, _change_type FROM changed"
    context.sql(f"CREATE CONTINUOUS SINK k TO FOLDER '{tmp_path / 'out'}' {NOW} STORED AS JSONFILE AS {query}")
    context.sql("INSERT INTO a VALUES (3, 'p3')")
    context.sql("UPDATE a SET s = 'x' WHERE n = 1")
    for kind, name in (*(("TABLE", name) for name in queries), ("INSERT", "i"), ("SINK", "k")):
        context.sql(f"RESUME CONTINUOUS {kind} {name}")
    assert rows(context, "SELECT c, k FROM counted ORDER BY c") == [("delete", 1), ("insert", 4)]
    named = [(1, "one", "delete"), (1, "one", "insert"), (1, "one", "insert"), (3, "three", "insert")]
    assert rows(context, "SELECT * FROM named ORDER BY n, _change_type") == named
    assert rows(context, "SELECT n, now FROM pairs") == [(1, "x")]
    [*_, (_, time, *_)] = reversed(rows(context, "DESCRIBE HISTORY a"))
    assert rows(context, "SELECT * FROM deleted") == [(1, time)]
    sent = "".join(one.read_text() for one in paths_below(tmp_path / "out", "*.json") if one.is_file())
    assert sorted(sent.splitlines()) == [
        '{"n":1,"_change_type":"delete"}',
        *('{"n":1,"_change_type":"insert"}',) * 2,
        '{"n":2,"_change_type":"insert"}',
        '{"n":3,"_change_type":"insert"}',
    ]


def test_the_target_of_a_continuous_insert(context: sharkpy.SharkContext) -> None:
    make(context)
    context.sql("CREATE TABLE b (n BIGINT, s STRING) STORED AS PARQUET")
    insert = "INSERT INTO b SELECT n, s FROM changed WHERE _change_type = 'insert'"
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS {insert}")
    context.sql("CREATE STREAM further FROM TABLE b WITH CHANGES")
    for number in (3, 4):
        context.sql(f"INSERT INTO a VALUES ({number}, 'x')")
        context.sql("RESUME CONTINUOUS INSERT i")
    context.sql("DELETE FROM b WHERE n = 3")
    expected = [(3, "x", "insert"), (4, "x", "insert"), (3, "x", "delete")]
    assert changes(context, "further") == expected


def test_a_watermark_of_the_times_of_commits(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE a {KINDS['parquet']}")
    context.sql(
        "CREATE STREAM changed (day DATE AS (to_date(_commit_time)), WATERMARK FOR _commit_time AS _commit_time)"
        " FROM TABLE a WITH CHANGES"
    )
    query = "SELECT window.start AS start, count(*) AS n FROM changed WINDOWING 10 ms"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {query}")
    for number in range(3):
        context.sql(f"INSERT INTO a VALUES ({number}, 'x')")
        until(
            lambda: rows(
                context, "SELECT max(_commit_time) < current_timestamp() - INTERVAL '0.02' SECOND FROM changed"
            )[0][0]
        )
    go_on(context)
    assert rows(context, "SELECT n FROM t") == [(1,), (1,)]
    assert rows(context, "SELECT count(*) FROM changed WHERE day = to_date(_commit_time)") == [(3,)]


def test_rollback_and_refresh(context: sharkpy.SharkContext) -> None:
    make(context, "WITH HISTORY")
    follow(context)
    context.sql("UPDATE a SET s = 'x' WHERE n = 1")
    go_on(context)
    expected = changes(context)
    assert len(expected) == 4
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
    assert changes(context) == expected[:2]
    go_on(context)
    assert changes(context) == expected
    context.sql("REFRESH CONTINUOUS TABLE t")
    go_on(context)
    assert changes(context) == expected


def test_many_commits_are_several_queries(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharkpy.streaming.sources.change_reader._MOST_COMMITS", 3)
    make(context, "WITH HISTORY")
    for number in range(3, 11):
        context.sql(f"INSERT INTO a VALUES ({number}, 'p')")
    follow(context)
    assert [row[3] for row in reversed(rows(context, "SHOW EPOCHS t"))] == [2, 3, 3, 2]
    context.sql("CREATE CONTINUOUS TABLE once TRIGGER ONCE AS SELECT n, s, _change_type, _commit FROM changed")
    assert [row[3] for row in rows(context, "SHOW EPOCHS once")] == [10]
    assert changes(context) == changes(context, "once") == changes(context, "changed")
    assert [row[0] for row in changes(context)] == list(range(1, 11))


def test_a_program_makes_one(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE a {KINDS['parquet']}")
    context.sql("INSERT INTO a VALUES (1, 'p1')")
    stream = context.stream.from_table("changed", "a", history=True, changes=True)
    context.sql("DELETE FROM a")
    assert changes(context, "changed") == [(1, "p1", "insert"), (1, "p1", "delete")]
    assert (stream.status().source, stream.status().end) == ("TABLE", (versions(context)[-1] + 1,))
    lines = [row[0] for row in rows(context, f"EXPLAIN CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM changed")]
    assert any("FROM TABLE default.a WITH CHANGES; begins with the first available commit" in line for line in lines)


# Retention


def files(context: sharkpy.SharkContext) -> int:
    folder = Path(context.catalog.table("default", "a").location or "")
    return sum(path.is_file() for path in paths_below(folder))


@pytest.mark.parametrize("vacuum", [True, False])
def test_unread_changes_are_retained(context: sharkpy.SharkContext, vacuum: bool) -> None:
    make(context)
    follow(context)
    retention = "1 day" if vacuum else "0"
    context.sql(f"ALTER TABLE a SET TBLPROPERTIES ('shark.table.retention' = '{retention}')")
    for number in range(3):
        context.sql(f"UPDATE a SET s = 'x{number}' WHERE n = 1")
    if vacuum:
        context.sql("VACUUM a RETAIN 0 HOURS")
    assert files(context) >= 3
    go_on(context)
    assert [row[2] for row in changes(context)] == ["delete", "insert"] * 3
    context.sql("VACUUM a RETAIN 0 HOURS")
    assert files(context) == 1
    context.sql("INSERT INTO a VALUES (3, 'p3')")
    go_on(context)
    assert changes(context)[-1] == (3, "p3", "insert")
    assert len(changes(context)) == 7


def test_changes_that_are_gone(context: sharkpy.SharkContext) -> None:
    make(context, "WITH HISTORY")
    follow(context)
    for number in range(3):
        context.sql(f"UPDATE a SET s = 'x{number}' WHERE n = 1")
    found = versions(context)
    context.catalog.history.forget_before(context.catalog.table("default", "a").table_id, found[3])
    with pytest.raises(SharkError, match=rf"after commit {found[1]}, .* its oldest version is {found[3]}") as caught:
        go_on(context)
    assert caught.value.sqlstate == "55000"
    assert state_of(context)[0] == "STOPPED"
    with pytest.raises(BindError, match="are gone"):
        context.sql("REFRESH CONTINUOUS TABLE t")
    context.sql("ALTER TABLE changed SET TBLPROPERTIES ('failOnDataLoss' = 'false')")
    go_on(context)
    assert changes(context)[2:] == [(1, "x1", "delete"), (1, "x2", "insert")]
    assert changes(context, "changed") == [(1, "x1", "delete"), (1, "x2", "insert")]


def test_unread_changes_expire(context: sharkpy.SharkContext) -> None:
    make(context)
    follow(context)
    context.sql("ALTER TABLE a SET TBLPROPERTIES ('shark.table.retention' = '0')")
    context.sql("UPDATE a SET s = 'x' WHERE n = 1")
    file = context.catalog._file
    file.run("UPDATE commit_ SET time_ms = time_ms - 15 * 24 * 3600000")
    context.sql("UPDATE a SET s = 'y' WHERE n = 1")
    with pytest.raises(SharkError, match="are no longer available"):
        go_on(context)


# Statements


def test_it_is_shown(context: sharkpy.SharkContext) -> None:
    make(context, "WITH HISTORY ('max.files.per.epoch' = '7')")
    shown = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE changed"))
    assert "FROM TABLE `default`.`a`" in shown
    described = [row[:2] for row in rows(context, "DESCRIBE changed")]
    own = [("n", "bigint"), ("s", "string")]
    assert described == [*own, ("_change_type", "string"), ("_commit", "bigint"), ("_commit_time", "timestamp")]
    facts = str(rows(context, "DESCRIBE EXTENDED changed"))
    assert "TABLE default.a (max.files.per.epoch=7, changes=true, history=true)" in facts
    follow(context)
    assert "Offset of default.changed" in str(rows(context, "DESCRIBE EXTENDED t"))
    context.sql("DROP CONTINUOUS TABLE t")
    context.sql("DROP STREAM changed")
    context.sql(shown)
    assert len(changes(context, "changed")) == 2


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("CREATE STREAM x (n BIGINT) FROM TABLE a WITH CHANGES", SharkError, "has the columns of the table"),
        ("CREATE STREAM x FROM TABLE v WITH CHANGES", BindError, r"default\.v is a view"),
        ("CREATE STREAM x FROM TABLE changed WITH CHANGES", BindError, r"default\.changed is a stream"),
        ("CREATE STREAM x FROM TABLE e WITH CHANGES", UnsupportedError, r"default\.e, whose changes are not recorded"),
        ("CREATE STREAM x FROM TABLE m WITH CHANGES", UnsupportedError, r"default\.m, whose changes are not recorded"),
        ("CREATE STREAM x FROM TABLE tmp WITH CHANGES", UnsupportedError, "whose changes are not recorded"),
        ("CREATE STREAM x FROM TABLE c WITH CHANGES", UnsupportedError, r"default\.c, a continuous table"),
        ("CREATE STREAM x FROM TABLE g WITH CHANGES", UnsupportedError, r"default\.g, a continuous table"),
        ("CREATE STREAM x FROM TABLE own WITH CHANGES", BindError, 'has a column "_commit"'),
        (
            "CREATE STREAM x FROM TABLE a WITH CHANGES WITH HISTORY ('startingVersion' = '1')",
            BindError,
            "of one stream",
        ),
        (
            "CREATE STREAM x FROM TABLE a ('startingVersion' = '1')",
            BindError,
            "is for a stream FROM TABLE … WITH CHANGES",
        ),
        (
            "CREATE STREAM x FROM TABLE a WITH CHANGES ('startingVersion' = '99')",
            BindError,
            "version 98 .*not available",
        ),
        ("CREATE STREAM x FROM TABLE a WITH CHANGES ('startingVersion' = '-1')", BindError, "is not a value"),
        ("SELECT INPUT__FILE__NAME FROM changed", ColumnNotFoundError, "input__file__name"),
        (
            f"CREATE CONTINUOUS TABLE x {NOW} START FROM TABLE a THEN STREAM changed AS SELECT n FROM changed",
            ColumnNotFoundError,
            'no column "_change_type"',
        ),
        ("CREATE CONTINUOUS TABLE x ON BAD ROW SKIP TO bad AS SELECT n FROM changed", UnsupportedError, "typed"),
    ],
)
def test_what_is_refused(
    context: sharkpy.SharkContext, tmp_path: Path, text: str, error: type[SharkError], message: str
) -> None:
    make(context)
    make_stream(context, tmp_path / "in")
    context.sql("CREATE VIEW v AS SELECT * FROM a")
    context.sql(f"CREATE EXTERNAL TABLE e (n BIGINT) LOCATION '{tmp_path / 'e'}'")
    context.sql("CREATE TABLE m TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT 1 AS n")
    context.sql("CREATE TEMPORARY TABLE tmp (n BIGINT)")
    context.sql(f"CREATE CONTINUOUS TABLE c {NOW} AS SELECT n FROM numbers")
    context.sql(f"CREATE CONTINUOUS TABLE g {NOW} WITH UNBOUNDED STATE AS SELECT n, count(*) k FROM numbers GROUP BY n")
    context.sql("CREATE TABLE own (_commit INT)")
    with pytest.raises(error, match=message):
        rows(context, text)
    assert context.catalog.find_table("default", "x") is None


def test_a_stream_without_changes_names_them(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE a {KINDS['parquet']}")
    context.sql("INSERT INTO a VALUES (1, 'x')")
    context.sql("CREATE STREAM added FROM TABLE a")
    context.sql("DELETE FROM a WHERE n = 1")
    with pytest.raises(SharkError) as caught:
        rows(context, "SELECT * FROM added")
    assert "WITH CHANGES" in (caught.value.hint or "")


# Killed processes

CHILD = """
import os, signal, sys, sharkpy
from sharkpy.streaming import kill_points
warehouse, step, times = sys.argv[1:]
left = int(times)

def killed(done):
    global left
    left -= done == step
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

with sharkpy.connect("local[2]", warehouse) as context:
    kill_points.observer = killed
    context.sql("RESUME CONTINUOUS TABLE t").close()
"""


@pytest.mark.variants(2)
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_epochs_read_the_same_commits(tmp_path: Path, step: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make(context, "WITH HISTORY ('max.files.per.epoch' = '4')")
        follow(context)
        for number in range(5):
            context.sql(f"UPDATE a SET n = {10 + number} WHERE n = {number + 9 if number else 1}")
        expected = changes(context, "changed")
    assert len(expected) == 12
    with child(CHILD, tmp_path / "w", step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        # A commit after the killed epoch was begun is not in it.
        begun = [row[5] for row in rows(context, "SHOW EPOCHS t") if row[1] == "BEGUN"]
        context.sql("DELETE FROM a WHERE n = 2")
        context.sql("VACUUM a RETAIN 0 HOURS")
        go_on(context)
        assert changes(context) == [*expected, (2, "p2", "delete")]
        assert set(begun) <= {row[5] for row in rows(context, "SHOW EPOCHS t")}
