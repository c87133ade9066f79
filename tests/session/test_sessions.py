"""Several sessions on one engine: their own and their shared parts, their limits and their ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, CancelledError, ExecutionError, ResourceError, TableNotFoundError
from tests.waiting import PATIENCE, allowed


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_block_rows=500_000) as opened:
        opened.sql("CREATE TABLE t AS SELECT explode(sequence(1, 1000)) AS k; CACHE TABLE t")
        yield opened


def names(session: sharkpy.SharkContext) -> set[str]:
    return {name for (name,) in session.sql("SHOW TABLES")}


def test_settings_and_database_are_a_sessions_own(context: sharkpy.SharkContext) -> None:
    context.sql("SET shark.pruning=false; CREATE DATABASE other")
    one, two = context.new_session(), context.new_session(shark_block_rows=7)
    assert (one.conf["shark.pruning"], one.conf["shark.block.rows"], two.conf["shark.block.rows"]) == (
        "true",
        "500000",
        "7",
    )
    one.sql("USE other; SET shark.block.rows=9; CREATE TABLE t AS SELECT 5 AS k")
    assert one.sql("SELECT k FROM t").fetchall() == [(5,)]
    assert two.sql("SELECT count(*) FROM t").fetchall() == [(1000,)]
    assert context.conf["shark.block.rows"] == "500000"


def test_temporary_tables_are_a_sessions_own(context: sharkpy.SharkContext) -> None:
    one, two = context.new_session(), context.new_session()
    query = "SELECT max(k) + 0 FROM t"
    assert two.sql(query).fetchall() == [(1000,)]
    one.sql("CREATE TEMPORARY TABLE t AS SELECT 1 AS k; CREATE TEMPORARY VIEW v AS SELECT k FROM t")
    two.sql("CREATE TABLE fast TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT 2 AS k")
    # The same text, planned once by each of them.
    for _ in range(2):
        assert one.sql(query).fetchall() == [(1,)]
        assert two.sql(query).fetchall() == [(1000,)]
    assert names(one) == {"t", "v"}
    assert names(two) == {"t", "fast"}
    with pytest.raises(TableNotFoundError):
        two.sql("SELECT * FROM v")


def test_sessions_share_global_temporary_views(context: sharkpy.SharkContext) -> None:
    one, two = context.new_session(), context.new_session()
    one.sql("CREATE GLOBAL TEMPORARY VIEW g AS SELECT k FROM t WHERE k > 998")
    two.sql("CREATE DATABASE elsewhere; USE elsewhere")
    assert two.sql("SELECT count(*) FROM global_temp.g").fetchall() == [(2,)]
    one.stop()
    two.sql("CREATE OR REPLACE GLOBAL TEMPORARY VIEW g AS SELECT 7 AS k")
    assert context.sql("SELECT * FROM global_temp.g").fetchall() == [(7,)]
    with pytest.raises(BindError, match="would outlive"):
        context.sql("CREATE VIEW v AS SELECT * FROM global_temp.g")
    context.sql("DROP VIEW global_temp.g")
    with pytest.raises(TableNotFoundError):
        two.sql("SELECT * FROM global_temp.g")


def test_the_end_of_a_session_frees_what_is_its_own(context: sharkpy.SharkContext) -> None:
    session = context.new_session()
    session.sql("CREATE TEMPORARY TABLE files AS SELECT 1 AS k")
    session.sql("CREATE TABLE blocks TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT k FROM t")
    places = [table.location for table in session.catalog.temporary_tables() if table.location]
    used = context.engine.store.usage().memory_bytes
    assert len(places) == 1
    session.stop()
    session.stop()
    assert not Path(places[0]).exists()
    assert context.engine.store.usage().memory_bytes < used
    with pytest.raises(ExecutionError, match="stopped"):
        session.sql("SELECT 1")
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(1000,)]


def test_the_owner_ends_all(tmp_path: Path) -> None:
    context = sharkpy.connect("local[2]", tmp_path / "w")
    session = context.new_session()
    result = session.sql("SELECT 1")
    context.stop()
    with pytest.raises(ExecutionError, match="stopped"):
        session.sql("SELECT 1")
    with pytest.raises(ExecutionError):
        result.fetchall()


def test_plans_and_blocks_are_shared(context: sharkpy.SharkContext) -> None:
    query = "SELECT sum(k) FROM t WHERE k > 3"
    context.sql(query).fetchall()
    known = len(context._shared.plans)
    assert context.new_session().sql(query).fetchall() == context.sql(query).fetchall()
    assert len(context._shared.plans) == known
    context.new_session().sql("INSERT INTO t VALUES (100000)")
    assert context.sql("SELECT max(k) FROM t").fetchall() == [(100_000,)]


@pytest.mark.variants(2)
@pytest.mark.parametrize("where", ["driver", "rdd"])
def test_a_statement_has_its_time(context: sharkpy.SharkContext, where: str) -> None:
    session = context.new_session(**{"shark.query.timeout": 0.7, "shark.placement.driver": where == "driver"})
    if where == "rdd":
        _ = context.engine.jobs
    start = time.monotonic()
    with pytest.raises(CancelledError, match=r"allows it 0\.7 s") as caught:
        session.sql("SELECT count(*) FROM t a, t b, t c, t d WHERE hash(a.k, b.k, c.k, d.k) % 7 = 3").fetchall()
    assert caught.value.sqlstate == "57014"
    assert 0.6 < time.monotonic() - start < allowed(4)


def test_the_readers_time_is_not_the_statements(context: sharkpy.SharkContext) -> None:
    session = context.new_session(**{"shark.query.timeout": 2, "shark.result.batch.rows": 100})
    result = session.sql("SELECT k FROM t ORDER BY k")
    rows = [result.fetchone()]
    time.sleep(2.2)
    rows += result.fetchall()
    assert len(rows) == 1000
    timers = [thread for thread in threading.enumerate() if thread.name == "sharkpy-timeout"]
    for timer in timers:
        timer.join(PATIENCE)
        assert not timer.is_alive()


def test_memory_of_a_query(context: sharkpy.SharkContext) -> None:
    session = context.new_session(**{"shark.query.memory": "30m"})
    numbers = "(SELECT a.k * 1000 + b.k AS n FROM t a CROSS JOIN t b) x"
    # A sort goes to disk; one list of all rows cannot.
    assert session.sql(f"SELECT n FROM {numbers} ORDER BY n DESC").fetchone() == (1_001_000,)
    with pytest.raises(ResourceError, match=r"shark\.query\.memory allows 31,457,280 bytes") as caught:
        session.sql(f"SELECT size(collect_list(concat('some text of ', n))) FROM {numbers}").fetchall()
    assert caught.value.sqlstate == "53200"
    assert context.sql(f"SELECT size(collect_list(n)) FROM {numbers}").fetchall() == [(1_000_000,)]


@pytest.mark.slow
def test_sixteen_threads_on_one_session(context: sharkpy.SharkContext) -> None:
    before = {thread.name for thread in threading.enumerate()}
    wrong: list[object] = []

    def work(number: int) -> None:
        session = context if number % 2 else context.new_session()
        for step in range(12):
            bound = number * 12 + step
            answer = session.sql(f"SELECT count(*), min(k), max(k + 0) FROM t WHERE k > {bound}").fetchall()
            total = session.sql("SELECT sum(k) FROM t JOIN (SELECT k AS j FROM t WHERE k < 11) s ON k = j").fetchall()
            if answer != [(1000 - bound, bound + 1, 1000)] or total != [(55,)]:
                wrong.append((answer, total))
        if number % 2 == 0:
            session.stop()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert context.num_running == 0
    assert context._shared.admission.num_running == 0
    assert {thread.name for thread in threading.enumerate()} <= before


@pytest.mark.spark
def test_sessions_are_spark_pools(context: sharkpy.SharkContext) -> None:
    session = context.new_session(**{"shark.placement.driver": False, "shark.pool": "night", "shark.pool.weight": 3})
    assert session.sql("SELECT sum(k) FROM t WHERE k > 1").fetchall() == [(500_499,)]
    pool = context.engine.jobs.scala_context.taskScheduler().rootPool().getSchedulableByName("night x3")
    assert pool is not None
    assert pool.weight() == 3


@pytest.mark.spark
def test_executors_of_spark(context: sharkpy.SharkContext) -> None:
    jobs = context.engine.jobs
    assert [one.running_tasks for one in context.engine.executors()] == [0]
    jobs.scala_context = None
    assert jobs.executors() == [], "a JVM that does not answer"
    jobs.scala_context = jobs.context._jsc.sc()
