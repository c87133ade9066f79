"""Hive partitions that a filter chooses, while this and another process change them: the same rows as without
partitions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.catalog import Catalog

TEXTS = ("'x'", "'X'", "''", "NULL", "'a/b'", "'a=b%'", "'é '", "'01'", "'1'")
NUMBERS = ("1", "2", "10", "-3", "NULL", "2147483647")
DATES = ("DATE '2024-02-29'", "DATE '2024-03-01'", "DATE '1999-12-31'", "NULL")
FILTERS = (
    "i = 1", "i = '1'", "i = '01'", "i = 1.0", "i IN (1, 10, 77)", "i NOT IN (1)", "i >= 2 AND i < 10", "i IS NULL",
    "i <=> NULL", "i <> 1", "i + 1 = 2", "i BETWEEN -5 AND 5", "CAST(i AS STRING) = '01'", "i = 1 OR s = 'x'",
    "s = 'x'", "s = ''", "s IS NULL", "s IS NOT NULL", "s = 'a/b'", "s LIKE 'a%'", "s IN ('01', 'X')", "s = 1",
    "s > 'a'", "lower(s) = 'x'", "s = 'a=b%' AND i > 0", "NOT (s = 'x')", "length(s) = 2", "s = 'é '",
    "d = '2024-02-29'", "d = DATE '2024-03-01'", "d >= '2024-01-01' AND d < '2024-03-01'", "year(d) = 2024",
    "d IS NULL", "d IN ('1999-12-31', '2024-3-1')", "d = '2024-02-29' AND i = 1 AND s = 'x'", "a % 3 = 1 AND i = 1",
    "i = NULL", "true", "false",
)  # fmt: skip
COLUMNS = "a, i, s, d"
TYPES = "i INT, s STRING, d DATE"


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    context = sharkpy.connect("local[2]", tmp_path / "w", hive_exec_max_dynamic_partitions=10_000)
    yield context
    context.stop()


def rows(context: sharkpy.SharkContext, query: str) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in context.sql(query).fetchall()), key=repr)


def insert(context: sharkpy.SharkContext, chance: random.Random, first: int) -> None:
    values = ((chance.choice(NUMBERS), chance.choice(TEXTS), chance.choice(DATES)) for _ in range(30))
    text = ", ".join(f"({number}, {', '.join(row)})" for number, row in enumerate(values, first))
    context.sql(f"INSERT INTO t SELECT * FROM VALUES {text} AS v({COLUMNS})").close()


def check(context: sharkpy.SharkContext, version: str = "") -> None:
    """Compare filtered reads of the table, or of an earlier version, with reads of a copy without partitions."""
    context.sql("DROP TABLE IF EXISTS copied").close()
    context.sql(f"CREATE TABLE copied AS SELECT {COLUMNS} FROM t {version}").close()
    wrong = []
    for one in FILTERS:
        chosen, expected = (
            rows(context, f"SELECT {COLUMNS} FROM {name} WHERE {one}") for name in (f"t {version}", "copied")
        )
        if chosen != expected:
            wrong.append(one)
    assert wrong == []
    assert rows(context, f"SELECT {COLUMNS} FROM t {version} WHERE a >= 0") == rows(context, "SELECT * FROM copied")


@pytest.mark.parametrize("seed", range(3))
def test_a_filter_chooses_the_same_rows(context: sharkpy.SharkContext, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    context.sql(f"CREATE TABLE t (a INT) PARTITIONED BY ({TYPES}) STORED AS PARQUET").close()
    insert(context, chance, 0)
    check(context)
    old = rows(context, f"SELECT {COLUMNS} FROM t")
    version = f"VERSION AS OF {context.catalog.history.last_before(1 << 60)}"
    # The other process has its own cache, and spells a number in its own way.
    with closing(Catalog(tmp_path / "w")) as other:
        table = other.table("default", "t")
        known = next(one for one in other.partitions(table) if "i=1/" in one.name)
        with other.partition_changes(table) as changes:
            changes.add("i=01/s=x/d=2024-02-29", known.folder(table), known.newest)
        check(context)
        insert(context, chance, 100)
        check(context)
        with other.partition_changes(table) as changes:
            changes.drop([changes.known[next(iter(changes.known))]], with_data=False)
        assert other.partitions(table) == context.catalog.partitions(table)
    check(context)
    context.sql("ALTER TABLE t DROP PARTITION (i > 1)").close()
    check(context)
    check(context, version)
    assert rows(context, f"SELECT {COLUMNS} FROM t {version}") == old


def test_an_insert_finds_partitions_of_other_spelling(context: sharkpy.SharkContext) -> None:
    """Also after Hive partitions came and went."""
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (i INT)").close()
    table = context.catalog.table("default", "t")
    with context.catalog.partition_changes(table) as changes:
        for name in ("i=001", "i=01"):
            context.catalog.log_new_partition(table, f"{table.location}/{name}")
            changes.add(name, newest=0)
    for value in (2, 1, 3):
        context.sql(f"INSERT INTO t PARTITION (i={value}) VALUES ({value})").close()
    assert [name for (name,) in rows(context, "SHOW PARTITIONS t")] == ["i=001", "i=01", "i=2", "i=3"]
    assert rows(context, "SHOW PARTITIONS t PARTITION (i=1)") == [("i=001",), ("i=01",)]
    assert len(context.catalog.log.files(context.catalog.log.find(f"{table.location}/i=01") or 0)) == 1
    context.sql("ALTER TABLE t DROP PARTITION (i=1)").close()
    context.sql("INSERT INTO t SELECT 4, 1").close()
    assert rows(context, "SHOW PARTITIONS t PARTITION (i=1)") == [("i=1",)]
    assert rows(context, "SELECT a, i FROM t WHERE i = 1") == [(4, 1)]
