"""Statements cancelled at random times and in each kind of work: they and their work end within a second."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.execution.stages.stage_runner import StageRunner
from sharkpy.execution.tables.table_cache import TableCache
from tests.faults.processes import cpu_share
from tests.faults.workload import QUERIES, make_tables
from tests.waiting import allowed

pytestmark = pytest.mark.spark


def check(context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int, rounds: int) -> None:
    generator = random.Random(seed)
    for _ in range(rounds):
        query = generator.choice(QUERIES)
        timer = threading.Timer(generator.uniform(0, 0.3), context.cancel)
        timer.start()
        state = "57014"
        try:
            assert context.sql(query).fetchall() == expected[query], f"seed {seed}: {query}"
        except CancelledError as error:
            state = error.sqlstate
        finally:
            timer.join()
        assert state == "57014"
        following = generator.choice(QUERIES)
        assert context.sql(following).fetchall() == expected[following], f"seed {seed}: {following} after {query}"


@pytest.mark.slow
def test_random_cancels(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int
) -> None:
    check(context, expected, seed, 6)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_random_cancels(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int
) -> None:
    check(context, expected, seed, 150)


# One statement for each kind of work, each of which would take minutes

PAIRS = "facts a CROSS JOIN facts b WHERE hash(a.k, b.k) % 7 = 3"
ENDLESS = {
    "aggregate": f"SELECT count(*) FROM {PAIRS}",
    "sort": f"SELECT a.k, hash(b.v) AS h FROM {PAIRS} ORDER BY h",
    "exchange": f"SELECT b.v, count(*) FROM {PAIRS} GROUP BY b.v",
    "files": f"CREATE TABLE half_done AS SELECT a.k, b.v FROM {PAIRS}",
    "blocks": f"CREATE TABLE half_done TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT a.k, b.v FROM {PAIRS}",
}
_SECONDS = 1.0
_SLACK = 1.0
"""Seconds that a loaded machine may add before the test fails."""
_IDLE = 0.15


@pytest.fixture(scope="module")
def driver_context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder = tmp_path_factory.mktemp("cancelled")
    with sharkpy.connect("local[2]", folder / "w", **{"shark.temp.dir": str(folder)}) as made:
        make_tables(made)
        yield made


def cancelled_after(work: Callable[[], object], cancel: Callable[[], None], seconds: float) -> float:
    """Seconds from the cancel to the error that ends `work`."""
    began: list[float] = []

    def end() -> None:
        began.append(time.monotonic())
        cancel()

    timer = threading.Timer(seconds, end)
    timer.start()
    with pytest.raises(CancelledError):
        work()
    took = time.monotonic() - began[0]
    timer.join()
    return took


def assert_nothing_runs() -> None:
    """Check that all work ends within a second. The first look leaves cancelled work time to end."""
    deadline = time.monotonic() + allowed(_SECONDS + _SLACK)
    while (share := cpu_share(0.4)) > _IDLE and time.monotonic() < deadline:
        pass
    assert share <= _IDLE


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", ENDLESS)
def test_tasks_end(context: sharkpy.SharkContext, kind: str) -> None:
    took = cancelled_after(lambda: context.sql(ENDLESS[kind]).fetchall(), context.cancel, 1.5)
    assert took < allowed(_SECONDS + _SLACK)
    assert_nothing_runs()
    assert "half_done" not in {name for (name,) in context.sql("SHOW TABLES")}
    assert context.sql("SELECT count(*) FROM facts").fetchall() == [(100_000,)]


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", ENDLESS)
def test_work_in_the_driver_ends(driver_context: sharkpy.SharkContext, kind: str) -> None:
    took = cancelled_after(lambda: driver_context.sql(ENDLESS[kind]).fetchall(), driver_context.cancel, 0.7)
    assert took < allowed(_SECONDS + _SLACK)
    assert_nothing_runs()
    warehouse = Path(driver_context.catalog.warehouse_dir)
    assert not list(warehouse.glob("half_done*/**/part-*"))
    assert "half_done" not in {name for (name,) in driver_context.sql("SHOW TABLES")}


def test_one_result_is_cancelled(driver_context: sharkpy.SharkContext) -> None:
    other = driver_context.sql("SELECT k FROM facts ORDER BY k")
    result = driver_context.sql(ENDLESS["aggregate"])
    assert cancelled_after(result.fetchall, result.cancel, 0.5) < allowed(_SECONDS + _SLACK)
    assert other.fetchmany(2) == [(1,), (2,)]
    other.close()


def test_closing_a_result_ends_its_work(driver_context: sharkpy.SharkContext) -> None:
    result = driver_context.sql(f"SELECT a.k, b.k FROM {PAIRS}")
    assert result.fetchone() is not None
    result.close()
    assert_nothing_runs()
    assert driver_context.num_running == 0


@pytest.mark.slow
def test_a_load_is_cancelled(driver_context: sharkpy.SharkContext, tmp_path: Path) -> None:
    line = "".join(f"{number},some text of line {number},{number / 7}\n" for number in range(100_000))
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.csv").write_text(line * 10)
    driver_context.sql(
        "CREATE EXTERNAL TABLE lines (k INT, s STRING, d DOUBLE) ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
        f" LOCATION '{tmp_path}' TBLPROPERTIES ('shark.cache' = 'MEMORY')"
    )
    query = "SELECT count(*), max(s) FROM lines"
    took = cancelled_after(lambda: driver_context.sql(query).fetchall(), driver_context.cancel, 0.3)
    assert took < allowed(_SECONDS + _SLACK)
    assert_nothing_runs()
    table = driver_context.catalog.table("default", "lines")
    assert not driver_context.table_cache.is_loaded(table)
    assert driver_context.sql(query).fetchall()[0][0] == 3_000_000
    driver_context.sql("DROP TABLE lines")


def cancelled_inside(
    context: sharkpy.SharkContext, owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Cancel all statements when `owner.name` is called, before its work."""
    called: list[str] = []
    real = getattr(owner, name)

    def cancelling(*arguments: object) -> object:
        called.append(name)
        context.cancel()
        return real(*arguments)

    monkeypatch.setattr(owner, name, cancelling)
    return called


def test_cancelled_in_an_early_build_side(
    driver_context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"
    # Kernels would find the keys in the stage itself.
    with driver_context.new_session(shark_block_rows=100_000, shark_kernels="never") as session:
        numbers = "(SELECT explode(sequence(1, 1000000)) AS id) t"
        session.sql(f"CREATE TABLE many {store} AS SELECT id AS k, id % 7 AS v FROM {numbers}")
        session.sql(f"CREATE TABLE few {store} AS SELECT id * 10 AS k, id % 100 AS g FROM {numbers} WHERE id < 1000")
        called = cancelled_inside(session, StageRunner, "hold", monkeypatch)
        with pytest.raises(CancelledError):
            session.sql("SELECT count(*) FROM many JOIN few ON many.k = few.k WHERE few.g = 3").fetchall()
        assert called


def test_cancelled_in_a_repair(driver_context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    driver_context.sql("CREATE TABLE kept TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT k, v FROM facts")
    driver_context.sql("SELECT count(*) FROM kept").fetchall()
    table = driver_context.catalog.table("default", "kept")
    for block in driver_context.table_cache.version(table).blocks:  # type: ignore[union-attr]
        for path in filter(None, (block.memory_path, block.durable_path)):
            Path(path).unlink(missing_ok=True)
    called = cancelled_inside(driver_context, TableCache, "repair", monkeypatch)
    with pytest.raises(CancelledError):
        driver_context.sql("SELECT sum(v + 1) FROM kept").fetchall()
    assert called
    monkeypatch.undo()
    assert driver_context.sql("SELECT count(v) FROM kept").fetchall() == [(100_000,)]


def test_cancels_leave_no_thread_behind(driver_context: sharkpy.SharkContext) -> None:
    before = {thread.name for thread in threading.enumerate()}
    for _ in range(5):
        timer = threading.Timer(0.1, driver_context.cancel)
        timer.start()
        with pytest.raises(SharkError):
            driver_context.sql(ENDLESS["aggregate"]).fetchall()
        timer.join()
    deadline = time.monotonic() + 60
    while {thread.name for thread in threading.enumerate()} > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert {thread.name for thread in threading.enumerate()} <= before


def test_waiting_for_a_load_of_others_is_cancelled(driver_context: sharkpy.SharkContext) -> None:
    table = driver_context.catalog.table("default", "names")
    done, held = threading.Event(), threading.Event()

    def load() -> None:
        with driver_context.table_cache.versions.entry(table).lock:
            held.set()
            done.wait(20)

    loading = threading.Thread(target=load)
    loading.start()
    held.wait()
    took = cancelled_after(lambda: driver_context.sql("SELECT max(name) FROM names"), driver_context.cancel, 0.3)
    assert took < allowed(_SECONDS)
    done.set()
    loading.join()
