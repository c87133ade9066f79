"""table_changes: what it returns leads from each version of a table to any later one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import BindError, TableNotFoundError, UnsupportedError
from tests.rows import rows


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        yield context


def versions(context: sharkpy.SharkContext) -> list[int]:
    """Versions of t, the oldest first."""
    return [row[0] for row in reversed(rows(context, "DESCRIBE HISTORY t"))]


def changes(context: sharkpy.SharkContext, first: int, last: int | None = None) -> list[tuple[Any, ...]]:
    given = f"{first}" if last is None else f"{first}, {last}"
    return rows(
        context, f"SELECT a, d, _change_type FROM table_changes('t', {given}) ORDER BY _commit, _change_type, a"
    )


STATEMENTS = (
    "INSERT INTO t VALUES ({n}, {d}), ({n}, {d}), ({m}, {d})",
    "INSERT INTO t VALUES ({m}, {d})",
    "UPDATE t SET a = a + 1 WHERE a % 3 = {d}",
    "DELETE FROM t WHERE a % 4 = {d}",
    "INSERT OVERWRITE TABLE t SELECT a, d FROM t WHERE a <> {m} UNION ALL SELECT {n}, {d}",
    "MERGE INTO t USING (SELECT {m} AS k) s ON t.a = s.k WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT VALUES (s.k, {d})",
    "TRUNCATE TABLE t",
)


@pytest.mark.variants(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("partitioned", [False, True])
def test_changes_lead_from_version_to_version(context: sharkpy.SharkContext, partitioned: bool, seed: int) -> None:
    chosen = random.Random(seed)
    context.sql(f"CREATE TABLE t (a INT{') PARTITIONED BY (d INT)' if partitioned else ', d INT)'} STORED AS PARQUET")
    for n in range(14):
        text = STATEMENTS[chosen.choice((0, 0, 0, 1, 1, 2, 3, 4, 5, 6))]
        context.sql(text.format(n=n, m=chosen.randrange(8), d=chosen.randrange(3)))
    found = versions(context)
    contents = [Counter(rows(context, f"SELECT a, d FROM t VERSION AS OF {one}")) for one in found]
    for _ in range(6):
        first, last = sorted(chosen.sample(range(len(found)), 2))
        content = Counter(contents[first])
        for a, d, kind in changes(context, found[first] + 1, found[last]):
            content[a, d] += 1 if kind == "insert" else -1
        assert +content == contents[last]
        assert min(content.values(), default=0) >= 0


def test_an_append_reads_its_files_alone(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT, d INT) STORED AS PARQUET")
    for n in range(40):
        context.sql(f"INSERT INTO t VALUES ({n}, 0)")
    context.table_cache.settle()
    found = versions(context)
    assert changes(context, found[20], found[22]) == [(19, 0, "insert"), (20, 0, "insert"), (21, 0, "insert")]
    assert len(changes(context, found[0])) == 40
    plan = " ".join(
        row[0] for row in rows(context, f"EXPLAIN SELECT * FROM table_changes('t', {found[5]}, {found[5]})")
    )
    assert "(1 splits)" in plan


def test_times_and_numbers(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t AS SELECT 1 AS a, 2 AS d")
    [(version, time, *_)] = rows(context, "DESCRIBE HISTORY t")
    assert rows(context, f"SELECT * FROM table_changes('default.t', {version})") == [(1, 2, "insert", version, time)]
    assert rows(context, f"SELECT * FROM table_changes('t', {version + 1})") == []
    context.sql("INSERT INTO t VALUES (3, 4)")
    counted = f"SELECT c._commit - {version} AS n, count(*) FROM table_changes('t', {version}) c GROUP BY c._commit"
    assert sorted(rows(context, counted)) == [(0, 1), (1, 1)]


def test_settings_and_macros_of_the_session(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (`$a` INT, `sum` STRING) STORED AS PARQUET")
    context.sql("CREATE TEMPORARY MACRO abs(x INT) 0")
    context.sql("CREATE TEMPORARY MACRO timestamp_millis(x BIGINT) 0")
    context.sql("SET TIME ZONE 'Europe/Berlin'")
    context.sql("SET hive.support.quoted.identifiers = none")
    context.sql("INSERT INTO t VALUES (1, 'x')")
    context.sql("UPDATE t SET `sum` = 'y'")
    [(last, time, *_), *_] = rows(context, "DESCRIBE HISTORY t")
    found = rows(context, f"SELECT * FROM table_changes('t', {last}) ORDER BY _change_type")
    assert found == [(1, "x", "delete", last, time), (1, "y", "insert", last, time)]


def test_changes_that_are_not_known(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT, d INT) STORED AS PARQUET")
    context.sql("INSERT INTO t VALUES (1, 1)")
    context.sql("INSERT OVERWRITE TABLE t VALUES (2, 2)")
    context.sql("INSERT INTO t VALUES (3, 3)")
    found = versions(context)
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('k'='v')")
    context.catalog.history.forget_before(context.catalog.table("default", "t").table_id, found[2])
    assert changes(context, found[2] + 1) == [(3, 3, "insert")]
    with pytest.raises(BindError, match=rf"version {found[1]} of default\.t is not available") as caught:
        changes(context, found[2])
    assert caught.value.sqlstate == "22023"
    with pytest.raises(BindError, match=rf"changes of default\.t since version {found[1]} may be forgotten") as caught:
        changes(context, found[1])
    assert caught.value.sqlstate == "22023"
    context.sql("ALTER TABLE t ADD COLUMNS (e INT)")
    with pytest.raises(BindError, match=r'default\.t had no such column "e" at version') as caught:
        rows(context, f"SELECT * FROM table_changes('t', {found[3]})")
    assert caught.value.sqlstate == "22023"
    context.sql("INSERT INTO t VALUES (4, 4, 4)")
    [*_, last] = versions(context)
    assert rows(context, f"SELECT a, e FROM table_changes('t', {last})") == [(4, 4)]
    context.sql("ALTER TABLE t REPLACE COLUMNS (a INT)")
    assert rows(context, f"SELECT a, _change_type FROM table_changes('t', {last}, {last})") == [(4, "insert")]


def test_other_files_are_not_compared(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
    context.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 3)")
    context.sql("UPDATE t SET a = 5 WHERE a = 3")
    [*_, last] = versions(context)
    assert changes(context, last) == [(3, 3, "delete"), (5, 3, "insert")]
    plan = " ".join(row[0] for row in rows(context, f"EXPLAIN SELECT * FROM table_changes('t', {last})"))
    assert plan.count("(1 of 1 partitions, 1 splits)") == 2


def test_hive_partitions_that_move(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
    context.sql("CREATE TABLE u (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
    context.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    context.sql("INSERT INTO t VALUES (5, 2)")
    [*_, before] = versions(context)
    context.sql("ALTER TABLE t PARTITION (d=3) RENAME TO PARTITION (d=4)")
    context.sql("ALTER TABLE t ADD PARTITION (d=5)")
    context.sql("ALTER TABLE u EXCHANGE PARTITION (d=2) WITH TABLE t")
    context.sql("ALTER TABLE t DROP PARTITION (d=1)")
    added = [(1, 1, "insert"), (2, 2, "insert"), (3, 3, "insert"), (5, 2, "insert")]
    moved = [(3, 3, "delete"), (3, 4, "insert"), (2, 2, "delete"), (5, 2, "delete"), (1, 1, "delete")]
    assert changes(context, 1) == [*added, *moved]
    assert changes(context, before + 1) == moved
    assert rows(context, "SELECT a, d, _change_type FROM table_changes('u', 2) ORDER BY a") == [
        (2, 2, "insert"),
        (5, 2, "insert"),
    ]


def test_wrong_calls(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE TABLE t (a INT, d INT)")
    (tmp_path / "e").mkdir()
    context.sql(f"CREATE EXTERNAL TABLE e (a INT) LOCATION '{tmp_path / 'e'}'")
    for call in ("table_changes('t')", "table_changes(t, 1)", "table_changes('t', 'x')", "table_changes('t', 1, 2, 3)"):
        with pytest.raises(BindError):
            rows(context, f"SELECT * FROM {call}")
    with pytest.raises(TableNotFoundError):
        rows(context, "SELECT * FROM table_changes('nothing', 1)")
    with pytest.raises(UnsupportedError, match="not recorded"):
        rows(context, "SELECT * FROM table_changes('e', 1)")


@pytest.mark.parametrize("placement", ["driver", "rdd"])
def test_values_of_all_types(context: sharkpy.SharkContext, placement: str) -> None:
    if placement == "rdd":
        context.sql("SET shark.placement.driver = false")
        context.sql("SET shark.task.single.max.bytes = 0")
    context.sql(
        "CREATE TABLE t (a INT, m MAP<STRING,INT>, l ARRAY<INT>, s STRUCT<x:INT>, d DOUBLE, b BINARY) STORED AS ORC"
    )
    row = "map('a', 1), array(1, NULL), named_struct('x', 1), CAST('NaN' AS DOUBLE), CAST('x' AS BINARY)"
    context.sql(f"INSERT INTO t SELECT 1, {row} UNION ALL SELECT 1, {row} UNION ALL SELECT 2, {row}")
    context.sql("INSERT INTO t SELECT 3, NULL, NULL, NULL, NULL, NULL")
    context.sql("UPDATE t SET a = 4 WHERE a = 1")
    context.sql("DELETE FROM t WHERE a = 3")
    updated = versions(context)[-2]
    found = rows(context, f"SELECT a, m, l, s.x, string(d), string(b), _change_type FROM table_changes('t', {updated})")
    values = ({"a": 1}, [1, None], 1, "NaN", "x")
    changed = [(1, *values, "delete"), (1, *values, "delete"), (4, *values, "insert"), (4, *values, "insert")]
    assert sorted(found[:4], key=lambda one: one[0]) == changed
    assert found[4:] == [(3, None, None, None, None, None, "delete")]
