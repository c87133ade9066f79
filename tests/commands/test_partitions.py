"""Hive partitions: the moment of publishing, foreign folders, LOAD, locations, repair, and policies of memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import BindError, SharkError
from sharkpy.catalog.hive_partition import partition_name, partition_values
from sharkpy.catalog.model import CachePolicy, PolicyKind
from sharkpy.execution.tables.cached_table import partitions_to_cache
from sharkpy.sources import layout
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.logged_folder import LoggedFolder


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    context = connect(tmp_path)
    yield context
    context.stop()


def connect(folder: Path, **conf: Any) -> sharkpy.SharkContext:
    (folder / "shm").mkdir(exist_ok=True)
    return sharkpy.connect("local[2]", folder / "w", shark_store_shm_dir=str(folder / "shm"), **conf)


def rows(context: sharkpy.SharkContext, query: str = "SELECT * FROM t ORDER BY 1, 2") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in context.sql(query).fetchall()]


def partitions(context: sharkpy.SharkContext) -> list[str]:
    return [name for (name,) in rows(context, "SHOW PARTITIONS t")]


def in_memory(context: sharkpy.SharkContext) -> list[str]:
    return sorted(context.table_cache.bytes_by_partition(context.catalog.table("default", "t")))


def make(context: sharkpy.SharkContext, properties: str = "", count: int = 3) -> None:
    kind = "EXTERNAL TABLE" if "LOCATION" in properties else "TABLE"
    context.sql(f"CREATE {kind} t (a INT) PARTITIONED BY (d INT) {properties}").close()
    for number in range(1, count + 1):
        context.sql(f"INSERT INTO t PARTITION (d={number}) VALUES ({number})").close()


def elsewhere(context: sharkpy.SharkContext) -> str:
    """Location of a table whose folders are listed."""
    return f"LOCATION '{context.catalog.warehouse_dir}/../elsewhere'"


# Names


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), min_size=1))
def test_names_keep_any_value(values: list[str]) -> None:
    columns = [f"c{index}" for index in range(len(values))]
    name = partition_name(columns, values)
    assert partition_values(name) == dict(zip(columns, values, strict=True))
    assert name.count("/") == len(values) - 1


def test_names_are_those_of_hive() -> None:
    assert partition_name(["ds", "hr"], ["2008-04-08", "11"]) == "ds=2008-04-08/hr=11"
    assert partition_name(["p"], ["a/b:c%"]) == "p=a%2Fb%3Ac%25"
    assert partition_name(["p"], [None]) == "p=__HIVE_DEFAULT_PARTITION__" == partition_name(["p"], [""])


# Publication


@pytest.mark.variants(3)
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("moment", ["second folder", "commit"])
def test_a_failure_in_the_middle_changes_nothing(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, moment: str, overwrite: bool
) -> None:
    make(context)
    before = rows(context), partitions(context)
    place = LoggedFolder.place_all
    placed: list[Placed] = []

    def failing(*args: Any, **given: Any) -> Placed:
        if moment == "second folder" and placed:
            raise OSError("no more")
        placed.append(place(*args, **given))
        if moment == "commit" and len(placed) == 4:
            raise KeyboardInterrupt
        return placed[-1]

    monkeypatch.setattr(LoggedFolder, "place_all", failing)
    verb = "OVERWRITE TABLE" if overwrite else "INTO"
    with pytest.raises((OSError, KeyboardInterrupt)):
        context.sql(f"INSERT {verb} t SELECT a + 10, d FROM t UNION ALL SELECT 99, 99")
    monkeypatch.undo()
    assert placed
    assert (rows(context), partitions(context)) == before
    folder = Path(context.catalog.table("default", "t").location or "")
    assert os.listdir(folder / "_files") == []
    context.sql("INSERT INTO t SELECT a + 10, d FROM t").close()
    assert rows(context) == [(1, 1), (2, 2), (3, 3), (11, 1), (12, 2), (13, 3)]


def test_what_a_killed_writer_put_in_place_is_never_seen(context: sharkpy.SharkContext) -> None:
    """A writer that was killed before its commit has left files in their places."""
    make(context)
    root = Path(context.catalog.table("default", "t").location or "")
    (file,) = (root / "d=3" / "_files").glob("*/*")
    for left in ("d=1/_files/x", "d=1/delta_0000003", "d=9/_files/x"):
        (root / left).mkdir(parents=True)
        (root / left / file.name).write_bytes(file.read_bytes())
    assert rows(context) == [(1, 1), (2, 2), (3, 3)]
    context.sql("INSERT INTO t PARTITION (d=2) VALUES (20)").close()
    assert rows(context, "SELECT a FROM t WHERE d = 1") == [(1,)]
    context.sql("INSERT INTO t PARTITION (d=1) VALUES (10)").close()
    context.sql("INSERT INTO t PARTITION (d=9) VALUES (90)").close()
    assert rows(context) == [(1, 1), (2, 2), (3, 3), (10, 1), (20, 2), (90, 9)]


def test_files_put_there_by_hand_count(context: sharkpy.SharkContext) -> None:
    make(context, elsewhere(context))
    root = Path(context.catalog.table("default", "t").location or "")
    (file,) = [one for one in (root / "d=1").iterdir() if one.is_file()]
    (root / "d=2" / "more.parquet").write_bytes(file.read_bytes())
    assert rows(context) == [(1, 1), (1, 2), (2, 2), (3, 3)]
    context.sql("INSERT OVERWRITE TABLE t PARTITION (d=2) VALUES (5)").close()
    assert rows(context) == [(1, 1), (3, 3), (5, 2)]
    assert not (root / "d=2" / "more.parquet").exists()


def test_two_sessions_see_each_other(tmp_path: Path, context: sharkpy.SharkContext) -> None:
    make(context, "TBLPROPERTIES ('shark.cache'='MEMORY')")
    other = connect(tmp_path)
    try:
        assert rows(context) == rows(other) == [(1, 1), (2, 2), (3, 3)]
        other.sql("INSERT INTO t VALUES (4, 4), (10, 1)").close()
        assert rows(context) == rows(other) == [(1, 1), (2, 2), (3, 3), (4, 4), (10, 1)]
        context.sql("ALTER TABLE t DROP PARTITION (d <= 2)").close()
        assert rows(other) == [(3, 3), (4, 4)]
        other.sql("ALTER TABLE t PARTITION (d=3) RENAME TO PARTITION (d=7)").close()
        assert rows(context) == [(3, 7), (4, 4)]
    finally:
        other.stop()


def test_a_dropped_table_takes_its_partitions_along(context: sharkpy.SharkContext) -> None:
    """One outside of the warehouse stays: see test_kept_files."""
    make(context)
    elsewhere = Path(context.catalog.warehouse_dir, "elsewhere")
    context.sql(f"ALTER TABLE t ADD PARTITION (d=9) LOCATION '{elsewhere}'").close()
    old = context.catalog.table("default", "t")
    assert len(context.catalog.partitions(old)) == 4
    context.sql("DROP TABLE t PURGE").close()
    assert context.catalog.partitions(old) == ()
    assert not elsewhere.exists()
    make(context, count=0)
    assert rows(context) == []
    assert partitions(context) == []


# Folders


def test_load_data_into_a_partition(tmp_path: Path, context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d STRING) STORED AS TEXTFILE").close()
    for name, text in (("one", "1\n2\n"), ("two", "3\n")):
        (tmp_path / name).write_text(text)
        context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path / name}' INTO TABLE t PARTITION (d='x')").close()
    assert rows(context) == [(1, "x"), (2, "x"), (3, "x")]
    context.sql(f"LOAD DATA INPATH '{tmp_path / 'two'}' OVERWRITE INTO TABLE t PARTITION (d='x')").close()
    assert rows(context) == [(3, "x")]
    assert not (tmp_path / "two").exists()


def test_repair_registers_folders_and_forgets_lost_ones(tmp_path: Path, context: sharkpy.SharkContext) -> None:
    root = tmp_path / "data"
    for name, text in (("ds=a%2Fb/hr=01", "1\n"), ("ds=c/HR=2", "2\n"), ("other/hr=3", "3\n"), ("ds=e", "4\n")):
        (root / name).mkdir(parents=True)
        (root / name / "part").write_text(text)
    context.sql(
        f"CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (ds STRING, hr INT) STORED AS TEXTFILE LOCATION '{root}'"
    ).close()
    assert rows(context) == []
    context.sql("MSCK REPAIR TABLE t").close()
    assert rows(context) == [(1, "a/b", 1), (2, "c", 2)]
    context.sql("INSERT INTO t PARTITION (ds='a/b', hr=1) VALUES (10)").close()
    assert rows(context) == [(1, "a/b", 1), (2, "c", 2), (10, "a/b", 1)]
    assert len(partitions(context)) == 2
    (root / "ds=c" / "HR=2" / "part").unlink()
    (root / "ds=c" / "HR=2").rmdir()
    context.sql("MSCK REPAIR TABLE t SYNC PARTITIONS").close()
    assert partitions(context) == ["ds=a%2Fb/hr=01"]
    context.sql("ALTER TABLE t DROP PARTITION (hr = 1)").close()
    assert (root / "ds=a%2Fb" / "hr=01" / "part").exists()
    context.sql("INSERT INTO t PARTITION (ds='a/b', hr=5) VALUES (7)").close()
    assert rows(context) == [(7, "a/b", 5)]


def test_partitions_at_other_places(tmp_path: Path, context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (d INT) STORED AS TEXTFILE").close()
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").write_text(f"{len(name) + ord(name)}\n")
    context.sql(f"ALTER TABLE t ADD PARTITION (d=1) LOCATION '{tmp_path / 'x'}' PARTITION (d=2)").close()
    assert rows(context) == [(121, 1)]
    context.sql("INSERT INTO t VALUES (5, 1), (6, 2)").close()
    assert rows(context) == [(5, 1), (6, 2), (121, 1)]
    context.sql(f"ALTER TABLE t PARTITION (d=2) SET LOCATION '{tmp_path / 'y'}'").close()
    assert rows(context) == [(5, 1), (121, 1), (122, 2)]
    context.sql("ALTER TABLE t PARTITION (d=1) RENAME TO PARTITION (d=3)").close()
    assert rows(context) == [(5, 3), (121, 3), (122, 2)]
    described = dict(row[:2] for row in rows(context, "DESCRIBE FORMATTED t PARTITION (d=3)"))
    assert described["Location:"] == str(tmp_path / "x")
    assert described["Partition Value:"] == "[3]"


def test_show_create_table_makes_the_table_again(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT, b STRING) PARTITIONED BY (d INT COMMENT 'day', e STRING)").close()
    text = "\n".join(line for (line,) in rows(context, "SHOW CREATE TABLE t"))
    old = context.catalog.table("default", "t")
    context.sql("DROP TABLE t").close()
    context.sql(text).close()
    new = context.catalog.table("default", "t")
    assert (new.schema, new.partition_columns) == (old.schema, ("d", "e"))


def test_describe_shows_the_partition_columns_apart(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (ds STRING COMMENT 'day', hr INT)").close()
    columns = [("ds", "string", "day"), ("hr", "int", "")]
    headers = [("", None, None), ("# Partition Information", None, None), ("# col_name", "data_type", "comment")]
    assert rows(context, "DESCRIBE t") == [("a", "int", ""), *columns, *headers, *columns]
    formatted = rows(context, "DESCRIBE FORMATTED t")
    assert formatted[:7] == [("# col_name", "data_type", "comment"), ("a", "int", ""), *headers, *columns]


# Pruning


def test_pruned_partitions_are_not_looked_at(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(context, count=5)
    looked_at: list[str] = []
    listing = LoggedFolder.partition_files

    def listed(folder: LoggedFolder, newest: int | None, name: str) -> list[layout.DataFile]:
        looked_at.append(name)
        return listing(folder, newest, name)

    monkeypatch.setattr(LoggedFolder, "partition_files", listed)
    assert rows(context, "SELECT a FROM t WHERE d BETWEEN 2 AND 3 AND a < 3") == [(2,)]
    assert set(looked_at) == {"d=2", "d=3"}
    (plan,) = (line for (line,) in rows(context, "EXPLAIN SELECT * FROM t WHERE d > 3") if "FileScan" in line)
    assert "(2 of 5 partitions, 2 splits)" in plan
    context.sql("CACHE TABLE t").close()
    (plan,) = (line for (line,) in rows(context, "EXPLAIN SELECT * FROM t WHERE d > 3") if "BlockScan" in line)
    assert "(2 of 5 partitions, 2 of 5 blocks)" in plan


# Memory


def test_only_new_partitions_are_loaded(context: sharkpy.SharkContext) -> None:
    make(context, "TBLPROPERTIES ('shark.cache'='MEMORY')")
    table = context.catalog.table("default", "t")
    assert rows(context) == [(1, 1), (2, 2), (3, 3)]
    version = context.table_cache.loaded_version(table)
    assert version is not None
    before = {block.block_id for block in version.blocks}
    context.sql("INSERT INTO t PARTITION (d=4) VALUES (4)").close()
    version = context.table_cache.loaded_version(table)
    assert version is not None
    assert len({block.block_id for block in version.blocks} - before) == 1
    assert before < {block.block_id for block in version.blocks}
    context.sql("ALTER TABLE t DROP PARTITION (d=1)").close()
    assert in_memory(context) == ["d=2", "d=3", "d=4"]


def test_lru_holds_what_was_used_last(context: sharkpy.SharkContext) -> None:
    make(context, "TBLPROPERTIES ('shark.cache'='MEMORY', 'shark.cache.policy'='LRU(2)')", count=4)
    for wanted, held in ((1, [1]), (2, [1, 2]), (1, [1, 2]), (3, [1, 3]), (1, [1, 3]), (4, [1, 4])):
        assert rows(context, f"SELECT a FROM t WHERE d = {wanted}") == [(wanted,)]
        assert in_memory(context) == [f"d={number}" for number in held]
    assert rows(context) == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert in_memory(context) == ["d=1", "d=4"]
    assert rows(context, "SELECT count(*), min(d), max(a) FROM t") == [(4, 1, 4)]
    (union,) = (line for (line,) in rows(context, "EXPLAIN SELECT * FROM t") if "FileScan" in line)
    assert "(2 of 4 partitions, 2 splits)" in union
    context.sql("INSERT OVERWRITE TABLE t PARTITION (d=4) VALUES (40)").close()
    context.sql("INSERT OVERWRITE TABLE t PARTITION (d=2) VALUES (20)").close()
    assert rows(context) == [(1, 1), (3, 3), (20, 2), (40, 4)]


def test_fifo_holds_what_was_made_last(context: sharkpy.SharkContext) -> None:
    properties = "'shark.cache'='true', 'shark.cache.policy'='shark.memstore2.FIFOCachePolicy'"
    make(context, f"TBLPROPERTIES ({properties}, 'shark.cache.policy.maxSize'='2')", count=3)
    for wanted in (1, 1, 2):
        assert rows(context, f"SELECT a FROM t WHERE d = {wanted}") == [(wanted,)]
        assert in_memory(context) == ["d=2", "d=3"]
    context.sql("INSERT INTO t PARTITION (d=4) VALUES (4)").close()
    assert in_memory(context) == ["d=3", "d=4"]
    context.sql("ALTER TABLE t DROP PARTITION (d=4)").close()
    assert in_memory(context) == ["d=3"]
    assert rows(context) == [(1, 1), (2, 2), (3, 3)]


def test_a_changed_policy_holds_at_once(context: sharkpy.SharkContext) -> None:
    make(context, "TBLPROPERTIES ('shark.cache'='MEMORY')", count=4)
    assert len(rows(context)) == len(in_memory(context)) == 4
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('shark.cache.policy'='LRU(3)')").close()
    assert in_memory(context) == ["d=2", "d=3", "d=4"]
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('shark.cache.policy'='FIFO(1)')").close()
    assert in_memory(context) == ["d=4"]
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('shark.cache.policy'='CacheAllPolicy')").close()
    assert len(in_memory(context)) == 4
    assert rows(context) == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_policy_outlives_the_session(tmp_path: Path) -> None:
    context = connect(tmp_path)
    make(context, "TBLPROPERTIES ('shark.cache'='MEMORY', 'shark.cache.policy'='LRU(2)')", count=4)
    assert len(rows(context, "SELECT a FROM t WHERE d IN (1, 3)")) == 2
    context.stop()
    context = connect(tmp_path)
    try:
        assert rows(context, "SELECT a FROM t WHERE d = 3") == [(3,)]
        assert in_memory(context) == ["d=1", "d=3"]
        described = rows(context, "DESCRIBE EXTENDED t")
        assert ("Cache Policy:", "LRU(2)", None) in described
        assert ("Partitions in Memory:", "2 of 4", None) in described
    finally:
        context.stop()


def test_a_lost_block_of_a_partition_is_made_again(context: sharkpy.SharkContext) -> None:
    make(context, "TBLPROPERTIES ('shark.cache'='MEMORY')")
    assert len(rows(context)) == 3
    version = context.table_cache.loaded_version(context.catalog.table("default", "t"))
    assert version is not None
    for block in version.blocks:
        Path(block.memory_path).unlink()
        if block.durable_path is not None:
            Path(block.durable_path).unlink()
    assert rows(context) == [(1, 1), (2, 2), (3, 3)]


NAMES = [f"p{number}" for number in range(6)]


@given(
    st.sampled_from([PolicyKind.LRU, PolicyKind.FIFO]),
    st.integers(1, 4),
    st.lists(st.tuples(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES))), max_size=8),
)
def test_policies_keep_their_limit(kind: PolicyKind, limit: int, steps: list[tuple[set[str], set[str]]]) -> None:
    policy = CachePolicy(kind, limit)
    held: tuple[str, ...] = ()
    seen: list[str] | None = None
    for there, wanted in steps:
        known = sorted(there)
        needed = sorted(wanted & there)
        before, held = held, partitions_to_cache(policy, held, known, seen, needed)
        seen = known
        assert len(held) <= limit
        assert len(set(held)) == len(held)
        assert set(held) <= there
        if kind is PolicyKind.LRU:
            assert len(set(needed) & set(held)) == min(len(needed), limit)
            assert set(before) & set(needed) <= set(held)


@pytest.mark.parametrize(
    ("text", "size", "policy"),
    [
        ("All", None, "All"),
        ("shark.memstore2.CacheAllPolicy", "3", "All"),
        ("lru(7)", None, "LRU(7)"),
        ("shark.memstore2.LRUCachePolicy", "3", "LRU(3)"),
        ("FIFOCachePolicy", None, "FIFO(10)"),
        ("FIFO(2)", "9", "FIFO(2)"),
    ],
)
def test_policies_are_read(text: str, size: str | None, policy: str) -> None:
    assert str(CachePolicy.parse(text, size)) == policy


def test_a_view_has_no_partitions(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE VIEW t AS SELECT 1 AS a").close()
    with pytest.raises((BindError, SharkError), match="is a view"):
        context.sql("SHOW PARTITIONS t")
