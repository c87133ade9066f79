"""Lost and damaged blocks that tasks on RDDs make again themselves, from files: their stage runs once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.block import Block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.stages.profile import QueryProfile
from sharkpy.execution.tables.table_cache import TableCache
from sharkpy.execution.tasks.block_rebuild import RebuildInTask
from sharkpy.execution.tasks.inputs import BatchStream, TaskData, TaskMetrics, open_input, relation_batches
from sharkpy.physical.stage_program import BlockColumns, TaskInput
from tests.recovery.damage import DAMAGE

pytestmark = pytest.mark.spark

ROWS = [(number, f"s{number % 97}") for number in range(4000)]
FORMAT = "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"


def spoil_columns(path: Path) -> None:
    """Flip a bit in a column's bytes, so that the file still opens."""
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :])
        try:
            block = Block.open(str(path))
        except CorruptionError:
            continue
        try:
            block.verify()
        except CorruptionError:
            return
    raise AssertionError("no byte of the file is a column's")


TABLES = {
    "plain": "CREATE EXTERNAL TABLE plain (k BIGINT, s STRING) {format} LOCATION '{data}' "
    "TBLPROPERTIES ('shark.cache'='MEMORY')",
    "bucketed": "CREATE EXTERNAL TABLE bucketed (k BIGINT, s STRING) CLUSTERED BY (k) INTO 3 BUCKETS {format} "
    "LOCATION '{data}'",
    "split": "CREATE EXTERNAL TABLE split (k BIGINT, s STRING) {format} LOCATION '{data}' "
    "TBLPROPERTIES ('shark.cache'='MEMORY_ONLY')",
    "parts": "CREATE TABLE parts (k BIGINT, s STRING) PARTITIONED BY (p INT) STORED AS PARQUET",
}


def blocks(context: sharkpy.SharkContext, table: str) -> tuple[BlockHandle, ...]:
    version = context.table_cache.loaded_version(context.catalog.table("default", table))
    assert version is not None
    return version.blocks


def copies(block: BlockHandle) -> list[Path]:
    return [Path(path) for path in (block.memory_path, block.durable_path) if path]


def assert_whole(block: BlockHandle) -> None:
    for path in copies(block):
        found = Block.open(str(path))
        found.verify()
        assert found.num_rows == block.num_rows


def run(context: sharkpy.SharkContext, query: str) -> tuple[list[Any], QueryProfile]:
    result = context.sql(query)
    rows = result.fetchall()
    assert result.profile is not None
    return rows, result.profile


def num_rebuilt(profile: QueryProfile) -> int:
    return sum(stage.blocks_rebuilt for stage in profile.stages)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    """Session with tables of several blocks, some of whose files make more than one."""
    folder = tmp_path_factory.mktemp("in-place")
    data = folder / "data"
    data.mkdir()
    for part in range(3):
        _write(data / f"part{part}", ROWS[part::3])
    (folder / "shm").mkdir()
    conf = {"shark.placement.driver": False, "shark.compaction": False, "shark.block.rows": 500}
    with sharkpy.connect("local[2]", folder / "w", **conf, shark_store_shm_dir=str(folder / "shm")) as context:
        for name, statement in TABLES.items():
            context.sql(statement.format(format=FORMAT, data=data))
            if name == "parts":
                context.sql("INSERT INTO parts PARTITION (p) SELECT k, s, CAST(k % 3 AS INT) FROM plain")
            context.sql(f"CACHE TABLE {name}")
        yield context


def _write(path: Path, rows: Sequence[tuple[int, str]]) -> None:
    path.write_text("".join(f"{number},{text}\n" for number, text in rows))


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the driver from repairing anything."""

    def fail(_: TableCache, blocks: Sequence[BlockHandle]) -> None:
        raise AssertionError(f"the driver was asked for {len(list(blocks))} blocks")

    monkeypatch.setattr(TableCache, "repair", fail)


@pytest.mark.variants(3)
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.usefixtures("no_driver")
def test_a_task_makes_lost_blocks_again(context: sharkpy.SharkContext, table: str, damage: str) -> None:
    query = f"SELECT k, s FROM {table}"
    _, before = run(context, query)
    lost = blocks(context, table)[::2]
    for block in lost:
        for path in copies(block):
            DAMAGE[damage](path)
    rows, profile = run(context, query)
    assert sorted(rows) == ROWS
    assert len(profile.stages) == len(before.stages)
    assert num_rebuilt(profile) == len(lost)
    for block in blocks(context, table):
        assert_whole(block)
    _, after = run(context, query)
    assert num_rebuilt(after) == 0


@pytest.mark.usefixtures("no_driver")
def test_a_durable_copy_serves_where_the_file_cannot(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    _write(tmp_path / "part", ROWS[:10])
    context.sql(
        f"CREATE EXTERNAL TABLE copied (k BIGINT, s STRING) {FORMAT} LOCATION '{tmp_path}' "
        "TBLPROPERTIES ('shark.cache'='MEMORY')"
    )
    context.sql("CACHE TABLE copied")
    (lost,) = blocks(context, "copied")
    assert lost.durable_path
    result = context.sql("SELECT k, s FROM copied")
    spoil_columns(Path(lost.memory_path))
    (tmp_path / "part").unlink()
    assert sorted(result.fetchall()) == ROWS[:10]
    assert_whole(lost)


@pytest.mark.usefixtures("no_driver")
def test_exchanges_and_both_sides_of_a_join(context: sharkpy.SharkContext) -> None:
    for block in blocks(context, "plain"):
        for path in copies(block):
            path.unlink()
    joined = "SELECT a.s, count(*) FROM plain a JOIN plain b ON a.k = b.k GROUP BY a.s ORDER BY a.s"
    counts = {text: sum(1 for _, other in ROWS if other == text) for _, text in ROWS}
    assert context.sql(joined).fetchall() == sorted(counts.items())
    for block in blocks(context, "plain"):
        assert_whole(block)


def test_blocks_decoded_while_they_are_scanned(context: sharkpy.SharkContext) -> None:
    handles = blocks(context, "split")
    schema = context.catalog.table("default", "split").schema
    spec = BlockColumns("r", schema.names, schema.names, schema=schema)
    metrics = TaskMetrics()
    rebuild = RebuildInTask(str(context.engine.recipes_dir), "", metrics)
    part = TaskInput(blocks=(("r", handles),))
    relation = open_input(spec, TaskData(part, decoded_limit=0, rebuild=rebuild), metrics)
    assert isinstance(relation[-1], BatchStream)
    Path(handles[-1].memory_path).unlink()
    rows = [row for batch in relation_batches(relation) for row in batch.to_pylist()]
    assert sorted((row["k"], row["s"]) for row in rows) == ROWS
    assert metrics.blocks_rebuilt == 1


def test_two_tasks_at_once_rebuild_once(context: sharkpy.SharkContext) -> None:
    handles = blocks(context, "split")
    for handle in handles:
        Path(handle.memory_path).unlink()
    metrics = [TaskMetrics() for _ in range(4)]

    def rebuild(one: TaskMetrics) -> bool:
        make_whole = RebuildInTask(str(context.engine.recipes_dir), "", one)
        return all(map(make_whole, handles))

    with ThreadPoolExecutor(len(metrics)) as pool:
        assert list(pool.map(rebuild, metrics)) == [True] * len(metrics)
    assert sum(one.blocks_rebuilt for one in metrics) == len(handles)
    for handle in handles:
        assert_whole(handle)


@pytest.mark.usefixtures("no_driver")
def test_explain_analyze_tells_of_it(context: sharkpy.SharkContext) -> None:
    for block in blocks(context, "split")[:2]:
        Path(block.memory_path).unlink()
    text = "\n".join(str(row[0]) for row in context.sql("EXPLAIN ANALYZE SELECT k + 1, s FROM split").fetchall())
    assert re.search(r"tasks? on RDDs, .* 2 blocks rebuilt in place", text)


def test_a_source_that_changed_is_told_by_the_driver(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "part").write_text("1,a\n2,b\n")
    context.sql(
        f"CREATE EXTERNAL TABLE changed (k BIGINT, s STRING) {FORMAT} LOCATION '{tmp_path}' "
        "TBLPROPERTIES ('shark.cache'='MEMORY_ONLY')"
    )
    context.sql("CACHE TABLE changed")
    result = context.sql("SELECT k, s FROM changed")
    (lost,) = blocks(context, "changed")
    (tmp_path / "part").write_text("7,other\n")
    Path(lost.memory_path).unlink()
    with pytest.raises(CorruptionError, match=rf"{lost.block_id}.*cannot be made again.*default\.changed"):
        result.fetchall()


def test_a_table_of_blocks_alone_is_left_to_the_driver(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql("CREATE TABLE alone TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT k FROM plain")
    asked: list[int] = []
    repair = TableCache.repair

    def noted(cache: TableCache, wanted: Sequence[BlockHandle]) -> None:
        asked.append(len(list(wanted)))
        repair(cache, wanted)

    monkeypatch.setattr(TableCache, "repair", noted)
    for block in blocks(context, "alone"):
        Path(block.memory_path).unlink()
    rows, profile = run(context, "SELECT sum(k) FROM alone")
    assert rows == [(sum(range(4000)),)]
    assert asked
    assert num_rebuilt(profile) == 0


def test_recipes_go_with_their_table(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "part").write_text("1,a\n")
    before = set(context.engine.recipes_dir.glob("*.recipes"))
    context.sql(f"CREATE EXTERNAL TABLE short (k BIGINT, s STRING) {FORMAT} LOCATION '{tmp_path}'")
    context.sql("CACHE TABLE short")
    assert len(set(context.engine.recipes_dir.glob("*.recipes")) - before) == 1
    context.sql("DROP TABLE short")
    assert set(context.engine.recipes_dir.glob("*.recipes")) == before
