"""Tables that have only blocks: lost blocks are made again by the queries that made them, or the error tells why
not.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.stages.plan_runner import PlanRunner
from tests.recovery.test_lost_blocks import DAMAGE

ONLY = "TBLPROPERTIES ('shark.cache'='MEMORY_ONLY')"
TABLES = {
    "base": "SELECT id AS k, id % 97 AS g, concat('text ', id % 13) AS s "
    "FROM (SELECT explode(sequence(1, 8000)) AS id) t",
    "narrow": "SELECT k * 2 AS k2, s FROM base WHERE k % 3 = 0",
    "grouped": "SELECT k % 3000 AS m, count(*) AS n, sum(k) AS total, avg(k) AS mean FROM base GROUP BY k % 3000",
    "joined": "SELECT b.k, n.s, b.g FROM base b JOIN narrow n ON b.k = n.k2",
    "sorted": "SELECT k, s FROM base WHERE g < 50 ORDER BY s, k DESC",
}
CHECKS = {
    "base": "SELECT count(*), sum(k * g), min(s), max(s) FROM base",
    "narrow": "SELECT count(*), sum(k2), max(s) FROM narrow",
    "grouped": "SELECT count(*), sum(m), sum(n), sum(total), round(sum(mean), 3) FROM grouped",
    "joined": "SELECT count(*), sum(k * g), max(s) FROM joined",
    "sorted": "SELECT count(*), sum(k), max(s) FROM sorted",
}


def start(folder: Path, placement: str) -> sharkpy.SharkContext:
    """Open a session with blocks of a thousand rows; if stages are RDD jobs, every exchange really happens."""
    conf = {
        "shark.placement.driver": placement == "driver",
        "shark.task.single.max.bytes": 0,
        "shark.task.single.max.rows": 0,
        "shark.join.replicate.max.rows": 0,
        "shark.test.join": "shuffle",
        "shark.block.rows": 1000,
        "shark.jvm.memory": "512m",
        "shark.store.shm.dir": str(folder / "shm"),
        "shark.temp.dir": str(folder),
    }
    (folder / "shm").mkdir()
    return sharkpy.connect("local[2]", folder / "w", **conf)


PLACEMENTS = ["driver", pytest.param("rdd", marks=pytest.mark.spark)]


@pytest.fixture(scope="module", params=PLACEMENTS)
def context(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with start(tmp_path_factory.mktemp("lineage"), request.param) as made:
        for name, query in TABLES.items():
            made.sql(f"CREATE TABLE {name} {ONLY} AS {query}")
        yield made


@pytest.fixture(scope="module")
def expected(context: sharkpy.SharkContext) -> dict[str, list[tuple[object, ...]]]:
    return {name: context.sql(check).fetchall() for name, check in CHECKS.items()}


def version(context: sharkpy.SharkContext, name: str) -> TableVersion:
    found = context.table_cache.loaded_version(context.catalog.table("default", name))
    assert found is not None
    return found


def lose(blocks: tuple[BlockHandle, ...], damage: Callable[[Path], None] = Path.unlink) -> None:
    for block in blocks:
        damage(Path(block.memory_path))


@pytest.mark.variants(6)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_lost_blocks_come_back(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], name: str, damage: str
) -> None:
    lose(version(context, name).blocks[1::2], DAMAGE[damage])
    assert context.sql(CHECKS[name]).fetchall() == expected[name]
    for block in version(context, name).blocks:
        assert context.engine.store.mend(block)
        assert Path(block.memory_path).is_file()


@pytest.mark.variants(2)
def test_inputs_that_are_lost_too(context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]]) -> None:
    for name in ("base", "narrow", "joined"):
        lose(version(context, name).blocks[::2])
    assert context.sql(CHECKS["joined"]).fetchall() == expected["joined"]
    assert {name: context.sql(check).fetchall() for name, check in CHECKS.items()} == expected


@pytest.mark.variants(2)
def test_queries_side_by_side(context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]]) -> None:
    names = ["grouped", "narrow", "joined"] * 2
    for name in ("base", "grouped", "narrow", "joined"):
        lose(version(context, name).blocks[::3])
    answers: dict[int, object] = {}

    def run(number: int) -> None:
        answers[number] = context.sql(CHECKS[names[number]]).fetchall()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: expected[name] for number, name in enumerate(names)}


def test_an_insert_has_a_recipe_of_its_own(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    context.sql(f"CREATE TABLE parts {ONLY} AS SELECT k FROM base WHERE k <= 2500")
    first = version(context, "parts").blocks
    context.sql("INSERT INTO parts SELECT k2 FROM narrow WHERE k2 > 100")
    context.sql("INSERT INTO parts VALUES (-1), (-2)")
    check = "SELECT count(*), sum(k), min(k) FROM parts"
    answer = context.sql(check).fetchall()
    runs = recorded_runs(monkeypatch)
    lose(version(context, "parts").blocks[len(first) :])
    assert context.sql(check).fetchall() == answer
    assert len(runs) == 2
    assert version(context, "parts").blocks[: len(first)] == first
    context.sql("DROP TABLE parts")


def recorded_runs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Record the tasks to which each run into blocks is restricted."""
    runs: list[object] = []
    to_sink = PlanRunner.to_sink

    def run(self: PlanRunner, sink: Any, only_tasks: frozenset[int] | None = None, only_stage: Any = None) -> Any:
        runs.append(only_tasks)
        return to_sink(self, sink, only_tasks, only_stage)

    monkeypatch.setattr(PlanRunner, "to_sink", run)
    return runs


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT k * 2 AS k, s FROM base",
        # Enough for several reduce tasks.
        "SELECT id AS k, max(concat('a longer text ', id)) AS s "
        "FROM base LATERAL VIEW explode(sequence(k * 10, k * 10 + 9)) x AS id GROUP BY id",
    ],
    ids=["narrow", "wide"],
)
def test_only_the_tasks_of_lost_blocks_run(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    if context.conf.value(sharkpy.base.settings.DRIVER_PLACEMENT):
        pytest.skip("in the driver a query is one task")
    context.sql(f"CREATE TABLE made {ONLY} AS {query}")
    answer = context.sql("SELECT count(*), sum(k), max(s) FROM made").fetchall()
    blocks = version(context, "made").blocks
    tasks = [context.table_cache.lineage.of(block.block_id)[0].task for block in blocks]
    assert len(set(tasks)) > 1
    runs = recorded_runs(monkeypatch)
    lose(blocks[-1:])
    assert context.sql("SELECT count(*), sum(k), max(s) FROM made").fetchall() == answer
    assert runs == [frozenset(tasks[-1:])]
    assert version(context, "made").blocks == blocks
    context.sql("DROP TABLE made")


def test_rows_given_out_are_not_given_again(context: sharkpy.SharkContext) -> None:
    result = context.sql("SELECT k FROM base ORDER BY k")
    first = result.fetchone()
    lose(version(context, "base").blocks)
    assert [first, *result.fetchall()] == [(k,) for k in range(1, 8001)]


@pytest.mark.variants(2)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_what_has_changed_under_a_recipe(tmp_path: Path, placement: str) -> None:
    """An overwritten input is an error; one that was appended to or merged still serves."""
    with start(tmp_path, placement) as context:
        context.sql(f"CREATE TABLE source {ONLY} AS {TABLES['base']}")
        context.sql(f"CREATE TABLE made {ONLY} AS SELECT k % 500 AS m, sum(k) AS t FROM source GROUP BY k % 500")
        check = "SELECT count(*), sum(m), sum(t) FROM made"
        answer = context.sql(check).fetchall()
        context.sql("INSERT INTO source SELECT 1, 2, 'more'")
        lose(version(context, "made").blocks)
        assert context.sql(check).fetchall() == answer
        context.sql("INSERT OVERWRITE TABLE source SELECT k, g, s FROM source WHERE k < 10")
        lost = version(context, "made").blocks[:1]
        lose(lost)
        gc.collect()
        with pytest.raises(CorruptionError, match=rf"{lost[0].block_id}.*changed since.*default\.made"):
            context.sql(check).fetchall()
        assert context.sql("SELECT count(*) FROM source").fetchall() == [(10,)]


@pytest.mark.variants(2)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_inputs_from_files(tmp_path: Path, placement: str) -> None:
    """A cached input that is no longer in memory is read from its files, as long as these are the same."""
    with start(tmp_path, placement) as context:
        context.sql(f"CREATE TABLE source AS {TABLES['base']}")
        context.sql("CACHE TABLE source")
        context.sql(f"CREATE TABLE made {ONLY} AS SELECT k, s FROM source WHERE g < 50")
        check = "SELECT count(*), sum(k), max(s) FROM made"
        answer = context.sql(check).fetchall()
        context.sql("UNCACHE TABLE source")
        lose(version(context, "made").blocks[::2])
        assert context.sql(check).fetchall() == answer
        context.sql("INSERT INTO source VALUES (0, 0, 'more')")
        lose(version(context, "made").blocks[:1])
        answers = "changed since"
        try:
            assert context.sql(check).fetchall() == answer
        except CorruptionError as error:
            answers = error.message
        assert "changed since" in answers


@pytest.mark.variants(2)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_blocks_put_together_from_several_statements(tmp_path: Path, placement: str) -> None:
    with start(tmp_path, placement) as context:
        context.sql(f"CREATE TABLE many {ONLY} AS SELECT 0 AS k, 'none' AS s")
        for number in range(1, 20):
            context.sql(f"INSERT INTO many VALUES ({number}, 'text {number}')")
        context.table_cache.settle()
        context.table_cache.compact(context.catalog.table("default", "many"))
        blocks = version(context, "many").blocks
        assert len(blocks) < 20
        lose(blocks)
        assert sorted(context.sql("SELECT k FROM many").fetchall()) == [(number,) for number in range(20)]


def test_values_of_their_own_each_time(tmp_path: Path) -> None:
    with start(tmp_path, "driver") as context:
        context.sql(f"CREATE TABLE chance {ONLY} AS SELECT rand() AS r FROM (SELECT explode(sequence(1, 10)) AS i) t")
        lose(version(context, "chance").blocks)
        with pytest.raises(CorruptionError, match=r"memory only.*default\.chance"):
            context.sql("SELECT sum(r) FROM chance").fetchall()
        assert context.sql("SELECT 1").fetchall() == [(1,)]


def test_lineage_keeps_no_data(tmp_path: Path) -> None:
    """A recipe ends with its blocks, and holds no blocks of its inputs."""
    with start(tmp_path, "driver") as context:
        context.sql(f"CREATE TABLE source {ONLY} AS {TABLES['base']}")
        context.sql(f"CREATE TABLE made {ONLY} AS SELECT k + 1 AS k FROM source")
        inputs = [Path(block.memory_path) for block in version(context, "source").blocks]
        ids = [block.block_id for block in version(context, "made").blocks]
        context.sql("DROP TABLE source")
        gc.collect()
        context.engine.store.usage()
        assert not any(path.exists() for path in inputs)
        assert all(context.table_cache.lineage.of(block_id) for block_id in ids)
        context.sql("DROP TABLE made")
        gc.collect()
        context.engine.store.usage()
        assert not any(context.table_cache.lineage.of(block_id) for block_id in ids)
