"""Lost or damaged blocks of cached tables: a query makes them again and goes on, or names one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.handle import BlockHandle
from tests.recovery.damage import DAMAGE, flip

SUM = "SELECT count(*), sum(k), max(s) FROM t"
ROWS = [(number, f"s{number % 97}") for number in range(4000)]
ANSWER = [(4000, sum(range(4000)), "s96")]


def start(folder: Path, placement: str, mode: str = "MEMORY") -> sharkpy.SharkContext:
    """Open a session with five blocks, each from a file of its own."""
    conf = {"shark.placement.driver": placement == "driver", "shark.compaction": False, "shark.block.rows": 1000}
    context = sharkpy.connect("local[2]", folder / "w", **conf, shark_store_shm_dir=str(folder / "shm"))
    (folder / "shm").mkdir(exist_ok=True)
    if not context.sql("SHOW TABLES").fetchall():
        data = folder / "data"
        data.mkdir()
        for part in range(5):
            lines = (f"{number},{text}\n" for number, text in ROWS[part::5])
            (data / f"part{part}").write_text("".join(lines))
        context.sql(
            "CREATE EXTERNAL TABLE t (k BIGINT, s STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' "
            f"LOCATION '{data}' TBLPROPERTIES ('shark.cache'='{mode}')"
        )
    context.sql("CACHE TABLE t")
    return context


def blocks(context: sharkpy.SharkContext) -> tuple[BlockHandle, ...]:
    version = context.table_cache.loaded_version(context.catalog.table("default", "t"))
    assert version is not None
    return version.blocks


def copies(block: BlockHandle) -> list[Path]:
    return [Path(path) for path in (block.memory_path, block.durable_path) if path]


@pytest.fixture(scope="module", params=["driver", pytest.param("rdd", marks=pytest.mark.spark)])
def shared(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with start(tmp_path_factory.mktemp("lost"), request.param) as context:
        assert context.sql(SUM).fetchall() == ANSWER
        yield context


@pytest.fixture(autouse=True)
def whole(request: pytest.FixtureRequest) -> None:
    """Repair all blocks before each test: durable copies may have served for lost ones in memory."""
    if "shared" in request.fixturenames:
        context = request.getfixturevalue("shared")
        context.table_cache.repair(blocks(context))


@pytest.mark.variants(3)
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("places", ["memory", "both"])
def test_a_query_makes_lost_blocks_again(shared: sharkpy.SharkContext, damage: str, places: str) -> None:
    for block in blocks(shared)[1:4]:
        for path in copies(block)[: 1 if places == "memory" else 2]:
            DAMAGE[damage](path)
    assert shared.sql(SUM).fetchall() == ANSWER
    assert sorted(shared.sql("SELECT k, s FROM t").fetchall()) == ROWS


def test_all_blocks_at_once(shared: sharkpy.SharkContext) -> None:
    for block in blocks(shared):
        for path in copies(block):
            path.unlink()
    joined = "SELECT count(*) FROM t a JOIN t b ON a.k = b.k WHERE a.s LIKE 's%'"
    assert shared.sql(joined).fetchall() == [(4000,)]
    assert shared.sql(f"{joined} AND b.s IS NOT NULL").fetchall() == [(4000,)]


def test_rows_given_out_are_not_given_again(shared: sharkpy.SharkContext) -> None:
    result = shared.sql("SELECT k FROM t ORDER BY k")
    first = result.fetchone()
    for block in blocks(shared):
        for path in copies(block):
            path.unlink()
    assert [first, *result.fetchall()] == [(k,) for k, _ in ROWS]
    assert shared.sql(SUM).fetchall() == ANSWER


def test_queries_side_by_side_repair_once(shared: sharkpy.SharkContext) -> None:
    for block in blocks(shared):
        for path in copies(block):
            flip(path)
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(shared.sql(SUM).fetchall())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [ANSWER] * 3


def test_insert_as_select_from_lost_blocks(shared: sharkpy.SharkContext) -> None:
    for block in blocks(shared)[:2]:
        for path in copies(block):
            path.unlink()
    shared.sql("CREATE TABLE copied AS SELECT * FROM t")
    assert sorted(shared.sql("SELECT k, s FROM copied").fetchall()) == ROWS
    shared.sql("DROP TABLE copied")


@pytest.mark.parametrize("placement", ["driver", pytest.param("rdd", marks=pytest.mark.spark)])
def test_a_source_that_changed_meanwhile_is_told(tmp_path: Path, placement: str) -> None:
    with start(tmp_path, placement, "MEMORY_ONLY") as context:
        result = context.sql("SELECT k, s FROM t")
        lost = blocks(context)[0]
        (tmp_path / "data" / "part0").write_text("7,other\n")
        Path(lost.memory_path).unlink()
        with pytest.raises(CorruptionError, match=rf"{lost.block_id}.*default\.t"):
            result.fetchall()
        assert context.sql("SELECT count(*) FROM t").fetchall() == [(3201,)]


def test_damage_in_the_warehouse_between_sessions(tmp_path: Path) -> None:
    with start(tmp_path, "driver") as context:
        paths = [Path(block.durable_path or "") for block in blocks(context)]
    for path, damage in zip(paths, DAMAGE.values(), strict=False):
        damage(path)
    with start(tmp_path, "driver") as context:
        assert context.sql(SUM).fetchall() == ANSWER
        assert sorted(context.sql("SELECT k, s FROM t").fetchall()) == ROWS
