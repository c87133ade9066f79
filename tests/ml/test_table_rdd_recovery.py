"""Actions of TableRDDs after losses: of blocks, workers, executors; and the map stages that they keep."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import BlocksReplacedError, CorruptionError
from sharkpy.columnar.handle import BlockHandle
from sharkpy.ml.rdd.table_rdd import TableRDD
from tests.faults.cluster import run_apart
from tests.recovery.damage import DAMAGE

pytestmark = pytest.mark.spark
NUM_ROWS = 4000
TOTAL = sum(range(1, NUM_ROWS + 1))


@pytest.fixture(scope="module")
def ctx(tasks: sharkpy.SharkContext) -> Iterator[sharkpy.SharkContext]:
    tasks.sql("CREATE DATABASE rdd_recovery; USE rdd_recovery")
    rows = f"SELECT n AS id, n % 40 AS g FROM (SELECT explode(sequence(1, {NUM_ROWS})) AS n) t"
    tasks.sql(f"CREATE TABLE made TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS {rows}")
    tasks.sql(f"CREATE TABLE loaded TBLPROPERTIES ('shark.cache'='MEMORY') AS {rows}")
    yield tasks
    tasks.sql("USE default; DROP DATABASE rdd_recovery CASCADE")


def blocks(rdd: TableRDD) -> tuple[BlockHandle, ...]:
    (source,) = rdd.sources
    return source.bound().stage.blocks


@pytest.mark.variants(3)
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("table", ["made", "loaded"])
def test_lost_blocks_are_made_again(ctx: sharkpy.SharkContext, table: str, damage: str) -> None:
    rdd = ctx.sql2rdd(f"SELECT id FROM {table}")
    total = rdd.map(lambda row: row.id)
    assert total.sum() == TOTAL
    for block in blocks(rdd)[:2]:
        for path in filter(None, (block.memory_path, block.durable_path)):
            DAMAGE[damage](Path(path))
    assert total.map(lambda n: (n % 3, n)).reduceByKey(int.__add__).values().sum() == TOTAL
    assert total.sum() == TOTAL


@pytest.mark.slow
def test_lost_map_output_of_lost_blocks(ctx: sharkpy.SharkContext) -> None:
    """Spark runs the query's map stage again, inside the RDD's job: an unreadable block is an error, then repaired."""
    rdd = ctx.sql2rdd("SELECT g, sum(id) AS total FROM made GROUP BY g")
    totals = rdd.map(lambda row: row.total)
    assert totals.sum() == TOTAL
    (source,) = rdd.sources
    for path in Path(rdd.ctx.getConf().get("spark.local.dir")).rglob("shuffle_*"):
        path.unlink()
    for block in source.blocks:
        Path(block.memory_path).unlink()
    assert totals.sum() == TOTAL


@pytest.mark.slow
def test_lost_kept_rows_are_made_again(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT id, id * 2 AS twice FROM made WHERE g < 20").cache()
    twice = rdd.map(lambda row: row.twice)
    expected = twice.sum()
    for block in blocks(rdd):
        Path(block.memory_path).unlink()
    assert twice.sum() == expected
    assert rdd.plan.label.startswith("Scan rdd.rows_")


def test_a_block_that_cannot_be_made_is_an_error(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT id, rand() AS r FROM made").cache()
    assert rdd.count() == NUM_ROWS
    Path(blocks(rdd)[0].memory_path).unlink()
    with pytest.raises(CorruptionError, match="lost"):
        rdd.count()
    rdd.unpersist()
    assert rdd.count() == NUM_ROWS


@pytest.mark.slow
def test_replaced_blocks_are_planned_anew(ctx: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    rdd = ctx.sql2rdd("SELECT id FROM made")
    summed = rdd.map(lambda row: (row.id % 2, row.id)).reduceByKey(int.__add__).values()
    assert summed.sum() == TOTAL
    seen = ctx.snapshot

    def repair(handles: Any) -> None:
        monkeypatch.undo()
        ctx.table_cache.repair(handles)
        raise BlocksReplacedError.of_block(handles[0].block_id, "lost")

    shuffled = summed.toDebugString()
    for block in blocks(rdd):
        Path(block.memory_path).unlink()
    monkeypatch.setattr(ctx.table_cache, "repair", repair)
    # What the map stage has given is there still; another action needs the blocks.
    assert rdd.map(lambda row: row.id).sum() == TOTAL
    assert ctx.table_cache.repair is not repair
    assert summed.sum() == TOTAL
    assert summed.toDebugString() != shuffled
    assert seen() is not None


def test_a_killed_worker_costs_its_task(ctx: sharkpy.SharkContext, tmp_path: Path) -> None:
    once = tmp_path / "once"
    once.touch()

    def die_once(row: Any) -> int:
        if row.id == 7 and once.exists():
            once.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return int(row.id)

    assert ctx.sql2rdd("SELECT id FROM made").map(die_once).sum() == TOTAL
    assert not once.exists()


def test_map_stages_run_once_and_go_with_the_rdd(ctx: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[int] = []
    jobs = ctx.engine.jobs
    release = jobs.release_shuffles

    def noted(shuffle_ids: Sequence[int]) -> None:
        released.extend(shuffle_ids)
        release(shuffle_ids)

    monkeypatch.setattr(jobs, "release_shuffles", noted)
    rdd = ctx.sql2rdd("SELECT g, sum(id) AS total FROM made GROUP BY g")
    totals = rdd.map(lambda row: row.total)
    assert totals.sum() == TOTAL
    shuffles = set(_shuffle_ids(rdd))
    assert rdd.count() == 40
    assert set(_shuffle_ids(rdd)) == shuffles != set()
    del rdd
    gc.collect()
    assert totals.sum() == TOTAL
    assert not shuffles & set(released)
    del totals
    deadline = time.monotonic() + 60
    while not shuffles <= set(released) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert shuffles <= set(released)


def _shuffle_ids(rdd: TableRDD) -> Iterator[int]:
    """Ids of the shuffles that the query's last stage reads."""
    waiting = [rdd._prev_jrdd.rdd()]
    while waiting:
        dependencies = waiting.pop().dependencies()
        for place in range(dependencies.size()):
            dependency = dependencies.apply(place)
            if "ShuffleDependency" in dependency.getClass().getName():
                yield int(dependency.shuffleId())
            else:
                waiting.append(dependency.rdd())


def test_after_its_session_an_rdd_says_so(tmp_path: Path, ctx: sharkpy.SharkContext) -> None:
    with ctx.new_session() as other:
        rdd = other.sql2rdd("SELECT 1 AS one")
        assert rdd.collect() == [(1,)]
    with pytest.raises(sharkpy.SharkError, match="stopped"):
        rdd.collect()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_executor_is_lost(tmp_path: Path) -> None:
    run_apart("lose_an_executor", tmp_path, module=__name__)


def lose_an_executor(folder: Path) -> None:
    """Kept rows, and rows of a shuffle, when executors are processes of their own."""
    conf = {"shark.placement.driver": False, "shark.task.single.max.bytes": 0, "shark.block.rows": 500}
    with sharkpy.connect("local-cluster[2,1,1024]", folder, **conf) as context:
        context.sql(
            "CREATE TABLE t TBLPROPERTIES ('shark.cache'='MEMORY') AS "
            f"SELECT n AS id, n % 40 AS g FROM (SELECT explode(sequence(1, {NUM_ROWS})) AS n) t DISTRIBUTE BY g"
        )
        rdd = context.sql2rdd("SELECT g, id FROM t").cache()
        summed = rdd.map(lambda row: (row.g, row.id)).reduceByKey(int.__add__)
        assert summed.values().sum() == TOTAL
        keyed = context.sql2rdd("SELECT g, id FROM t").key_by("g")
        assert keyed.join(keyed.mapValues(len)).count() == NUM_ROWS * NUM_ROWS // 40
        victim = int(rdd.map(lambda row: os.getppid()).first())
        os.kill(victim, signal.SIGKILL)
        assert summed.values().sum() == TOTAL
        assert rdd.map_batches(lambda batch: batch.num_rows).sum() == NUM_ROWS
