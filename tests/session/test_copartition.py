"""Tables in buckets through their life: written, loaded, compacted, found again, repaired; and shown."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.columnar.store import open_block
from sharkpy.execution.queries.plan_query import bind_text, plan_steps
from sharkpy.execution.tasks import buckets
from sharkpy.execution.tasks.buckets import RowBuckets
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.operators import Exchange

SPREAD = {
    "shark.task.single.max.bytes": "0",
    "shark.task.single.max.rows": "0",
    "shark.join.replicate.max.rows": "0",
    "shark.test.join": "shuffle",
}
JOIN = "SELECT count(*), sum(a.v), sum(b.v) FROM a FULL JOIN b ON a.k = b.k"
ANSWER = [(1029, 499500, 237640)]


def connect(folder: Path, **settings: object) -> sharkpy.SharkContext:
    (folder / "shm").mkdir(exist_ok=True)
    conf = {"shark.compaction": False, "shark.store.shm.dir": str(folder / "shm")} | SPREAD | settings
    return sharkpy.connect("local[2]", folder / "w", **conf)


def make(context: sharkpy.SharkContext, mode: str = "MEMORY") -> None:
    """Make the tables a (1000 rows over 500 keys and NULL) and b (500 rows, with keys that a does not have
    among them).
    """
    context.sql("CREATE TABLE src AS SELECT id FROM (SELECT posexplode(split(space(999), ' ')) AS (id, s)) t")
    cached = f"'shark.cache'='{mode}'"
    context.sql(
        f"CREATE TABLE a TBLPROPERTIES ({cached}) AS "
        "SELECT CASE WHEN id % 50 = 0 THEN NULL ELSE id % 500 - 20 END AS k, id AS v FROM src DISTRIBUTE BY k"
    )
    context.sql(
        f"CREATE TABLE b TBLPROPERTIES ({cached}, 'shark.copartition'='a') AS "
        "SELECT id AS k, id AS v FROM src WHERE id < 500 DISTRIBUTE BY k"
    )


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with connect(tmp_path) as opened:
        make(opened)
        yield opened


def moved(context: sharkpy.SharkContext, sql: str) -> int:
    """Exchanges of a plan in RDD stages."""
    plan = plan_steps(context, bind_text(context, sql), placement=Place.RDD)[1].root
    return sum(isinstance(node, Exchange) and node.exchange_id is not None for node in plan.walk())


def is_in_buckets(context: sharkpy.SharkContext, name: str) -> bool:
    """True if the rows of each block are of its bucket, and of no other."""
    table = context.catalog.table("default", name)
    version = context.table_cache.version(table)
    assert version is not None
    assert table.buckets is not None
    assert version.num_rows > 0
    rows = RowBuckets(table.buckets, table.schema)
    found = (
        set(rows.numbers(open_block(block).read(table.schema.names, decoded=True)).tolist()) == {block.bucket}
        for block in version.blocks
    )
    return all(found)


PLAN = "SELECT a.v, b.v FROM a JOIN b ON a.k = b.k"


def test_answers_and_plans(context: sharkpy.SharkContext) -> None:
    assert context.sql(JOIN).fetchall() == ANSWER
    assert moved(context, PLAN) == 0
    assert is_in_buckets(context, "a")
    assert is_in_buckets(context, "b")


def test_inserts_keep_the_buckets(context: sharkpy.SharkContext) -> None:
    context.sql("INSERT INTO a SELECT v, k FROM b")
    context.sql("INSERT INTO a VALUES (NULL, 1), (-70000, 2)")
    assert is_in_buckets(context, "a")
    context.sql("INSERT OVERWRITE TABLE b SELECT v, k FROM a")
    assert is_in_buckets(context, "b")
    assert moved(context, PLAN) == 0
    wanted = context.sql("SELECT count(*) FROM a JOIN b ON a.k + 0 = b.k + 0").fetchall()
    assert context.sql("SELECT count(*) FROM a JOIN b ON a.k = b.k").fetchall() == wanted


def test_files_of_others_are_put_in_buckets(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Files with the names of a bucket's files, but with rows of other buckets, are read into the right buckets."""
    (source,) = Path(context.catalog.table("default", "src").location or "").rglob("*.parquet")
    context.sql("CREATE TABLE pairs AS SELECT id - 3 AS k, id AS v FROM src")
    (pairs,) = Path(context.catalog.table("default", "pairs").location or "").rglob("*.parquet")
    assert source != pairs
    named = tmp_path / "bucket-00001-part-00000-0.parquet"
    shutil.copyfile(pairs, named)
    context.sql(f"LOAD DATA LOCAL INPATH '{named}' INTO TABLE a")
    assert context.sql("SELECT count(*) FROM a").fetchall() == [(2000,)]
    assert is_in_buckets(context, "a")
    assert moved(context, PLAN) == 0
    wanted = context.sql("SELECT count(*) FROM a JOIN b ON a.k + 0 = b.k + 0").fetchall()
    assert context.sql("SELECT count(*) FROM a JOIN b ON a.k = b.k").fetchall() == wanted


def test_a_later_session_finds_the_buckets(tmp_path: Path) -> None:
    with connect(tmp_path) as context:
        make(context)
        assert context.sql(JOIN).fetchall() == ANSWER
        blocks = {block.block_id for block in context.table_cache.version(context.catalog.table("default", "a")).blocks}
    with connect(tmp_path) as context:
        assert moved(context, PLAN) == 0
        assert context.sql(JOIN).fetchall() == ANSWER
        again = {block.block_id for block in context.table_cache.version(context.catalog.table("default", "a")).blocks}
        assert again == blocks


def test_blocks_of_another_hash_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(tmp_path) as context:
        make(context)
        blocks = {block.block_id for block in context.table_cache.version(context.catalog.table("default", "a")).blocks}
    monkeypatch.setattr("sharkpy.execution.tables.cached_table.hash_id", lambda: "another")
    with connect(tmp_path) as context:
        again = {block.block_id for block in context.table_cache.version(context.catalog.table("default", "a")).blocks}
        assert not again & blocks
        assert is_in_buckets(context, "a")
    assert buckets.hash_id().startswith("duckdb-")


@pytest.mark.variants(2)
@pytest.mark.parametrize("is_mixed", [False, True])
def test_lost_blocks_are_made_again(tmp_path: Path, is_mixed: bool) -> None:
    with connect(tmp_path, **{"shark.block.rows": 20}) as context:
        make(context)
        if is_mixed:
            context.sql("CREATE TABLE pairs AS SELECT id - 3 AS k, id AS v FROM src")
            location = context.catalog.table("default", "pairs").location
            context.sql(f"LOAD DATA LOCAL INPATH '{location}' INTO TABLE a")
        rows = sorted(context.sql("SELECT v, k FROM a").fetchall(), key=repr)
        version = context.table_cache.version(context.catalog.table("default", "a"))
        for block in version.blocks[::2]:
            for path in (block.memory_path, block.durable_path):
                Path(path or "").unlink()
        assert sorted(context.sql("SELECT v, k FROM a").fetchall(), key=repr) == rows
        assert is_in_buckets(context, "a")


@pytest.mark.slow
def test_compaction_keeps_the_buckets(context: sharkpy.SharkContext) -> None:
    for _ in range(17):
        context.sql("INSERT INTO a SELECT k, v FROM b WHERE v < 40")
    table = context.catalog.table("default", "a")
    before = context.table_cache.version(table)
    after = context.table_cache.compact(table)
    assert len(after.blocks) < len(before.blocks) / 4
    assert is_in_buckets(context, "a")
    rows = context.sql("SELECT k, count(*) FROM a GROUP BY k ORDER BY k").fetchall()
    block = after.blocks[-1]
    for path in (block.memory_path, block.durable_path):
        Path(path or "").unlink()
    assert context.sql("SELECT k, count(*) FROM a GROUP BY k ORDER BY k").fetchall() == rows
    assert is_in_buckets(context, "a")


def test_what_is_shown_makes_the_table_again(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE c (k INT, v STRING, w INT) CLUSTERED BY (k, w) SORTED BY (v DESC, w) INTO 6 BUCKETS")
    lines = [line for (line,) in context.sql("SHOW CREATE TABLE c").fetchall()]
    assert "INTO 6 BUCKETS" in lines
    described = {name: value for name, value, _ in context.sql("DESCRIBE FORMATTED c").fetchall()}
    assert described["Num Buckets:"] == "6"
    assert described["Bucket Columns:"] == "[k, w]"
    assert described["Sort Columns:"] == "[Order(col:v, order:0), Order(col:w, order:1)]"
    spec = context.catalog.table("default", "c").buckets
    context.sql("DROP TABLE c")
    context.sql("\n".join(lines))
    assert context.catalog.table("default", "c").buckets == spec
    assert context.sql("DESCRIBE FORMATTED src").fetchall()[-3:] == [
        ("Num Buckets:", "-1", None),
        ("Bucket Columns:", "[]", None),
        ("Sort Columns:", "[]", None),
    ]


def test_files_are_sorted_within_their_bucket(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE c (k INT, v INT) CLUSTERED BY (k) SORTED BY (v DESC) INTO 3 BUCKETS STORED AS PARQUET")
    context.sql("INSERT INTO c SELECT v, k FROM a WHERE k IS NOT NULL")
    import pyarrow.parquet as pq

    files = sorted(Path(context.catalog.table("default", "c").location or "").rglob("bucket-*.parquet"))
    assert [file.name[:12] for file in files] == ["bucket-00000", "bucket-00001", "bucket-00002"]
    for file in files:
        values = pq.read_table(file).column("v").to_pylist()
        assert values == sorted(values, reverse=True)


@pytest.mark.variants(2)
@pytest.mark.spark
@pytest.mark.parametrize("mode", ["MEMORY", "MEMORY_ONLY"])
def test_rdd_tasks_write_and_read_buckets(tmp_path: Path, mode: str) -> None:
    settings = {"shark.placement.driver": False, "shark.block.rows": 100, "shark.load.driver.max.bytes": 0}
    with connect(tmp_path, **settings) as context:
        make(context, mode)
        assert is_in_buckets(context, "a")
        assert is_in_buckets(context, "b")
        result = context.sql(JOIN)
        assert result.fetchall() == ANSWER
        rules = [decision.rule for decision in result.profile.decisions]
        assert rules.count("co_partitioned") == 2
        assert not [stage for stage in result.profile.stages if sum(stage.bytes_per_bucket) > 100_000]
        context.sql("CREATE TABLE plain TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT k, v FROM b")
        mixed = context.sql(JOIN.replace("FULL JOIN b", "FULL JOIN plain b"))
        assert mixed.fetchall() == ANSWER
        # One side's exchange is as many buckets as the table has; few tasks carry them out.
        (exchange,) = [stage for stage in mixed.profile.stages if len(stage.bytes_per_bucket) > 1]
        assert len(exchange.bytes_per_bucket) == 8
        (read,) = [stage for stage in mixed.profile.stages if "HashAggregate partial" in stage.label]
        assert read.num_tasks < 8
        lost = context.table_cache.version(context.catalog.table("default", "a")).blocks
        for block in lost[1:4]:
            for path in (block.memory_path, block.durable_path):
                Path(path or block.memory_path).unlink(missing_ok=True)
        assert context.sql(JOIN).fetchall() == ANSWER
        assert is_in_buckets(context, "a")
