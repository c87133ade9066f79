from __future__ import annotations

import threading
from collections.abc import Callable

import pyarrow as pa
import pytest

from sharkpy.base.errors import CancelledError, ExecutionError, InternalError
from sharkpy.execution.engine import Engine
from sharkpy.execution.stages.exchange import MapOutput
from sharkpy.execution.stages.stage_runner import StageRunner
from sharkpy.execution.statement import Progress, ignore_progress
from sharkpy.execution.tasks.report import BlockResult, ReportCollector
from sharkpy.execution.tasks.task import BATCH_ROWS
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import (
    BlockSink,
    BroadcastColumns,
    ExchangeColumns,
    HashSink,
    RangeSink,
    SingleSink,
    StageProgram,
    TaskInput,
)
from sharkpy.values.types import BIGINT, STRING, Field, Schema

from .programs import SCHEMA, in_driver, numbers, stage, stage_runner

pytestmark = pytest.mark.spark


def collect(runner: StageRunner, what: Stage) -> list[tuple[object, ...]]:
    batches = list(runner.batches(what))
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_results_come_in_the_order_of_tasks(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    found = collect(runner, numbers(100, tasks=20))
    assert found == [(i, f"s{i}") for i in range(100)] * 20
    (profile,) = runner.run.profile.stages
    assert (profile.num_tasks, profile.rows_out, profile.placement) == (20, 2000, "rdd")


@pytest.mark.parametrize(("tasks", "threads"), [(1, 2), (2, 1)])
def test_a_task_that_is_alone_uses_all_cores(spark_engine: Engine, tasks: int, threads: int) -> None:
    assert spark_engine.parallelism == 2
    asked = "SELECT CAST(current_setting('threads') AS BIGINT) AS c0, current_setting('disabled_optimizers') AS c1"
    found = collect(stage_runner(spark_engine), stage(asked, tasks=tasks))
    assert found == [(threads, "" if tasks == 1 else "join_order")] * tasks


def test_rows_for_an_exchange_come_from_one_thread(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    asked = "SELECT CAST(current_setting('threads') AS BIGINT) AS c0, '' AS c1"
    runner.rdd.exchange(stage(asked, sink=SingleSink()), 1, 1)
    given = stage("SELECT c0, c1 FROM in0", ExchangeColumns("in0", 1, SCHEMA), singles=frozenset((1,)))
    assert collect(runner, given) == [(1, "")]
    runner.close()


def test_a_hash_exchange_moves_equal_keys_together(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    observed = runner.rdd.exchange(numbers(1000, sink=HashSink(("c0",), 4), tasks=3), 1, 4)
    assert observed.rows == sum(observed.rows_per_bucket) == 3000
    assert len(observed.bytes_per_bucket) == len(observed.rows_per_bucket) == 4
    assert all(observed.bytes_per_bucket)
    counted = stage(
        "SELECT c0, count(*)::VARCHAR AS c1 FROM in0 GROUP BY c0", ExchangeColumns("in0", 1, SCHEMA), tasks=4
    )
    assert sorted(collect(runner, counted)) == [(i, "3") for i in range(1000)]
    runner.close()


def test_large_buckets_are_read_by_tasks_of_their_own(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    wide = stage("SELECT range AS c0, repeat('x', 1000) AS c1 FROM range(8000)", sink=HashSink(("c0",), 4), tasks=2)
    runner.rdd.exchange(wide, 1, 4)
    found = collect(
        runner, stage("SELECT count(*) AS c0, NULL AS c1 FROM in0", ExchangeColumns("in0", 1, SCHEMA), tasks=4)
    )
    assert 1 < len(found) <= 4
    assert sum(count for count, _ in found) == 16_000  # type: ignore[misc]
    runner.close()


@pytest.mark.parametrize("width", [1, 600])
def test_a_join_reads_two_exchanges_bucket_by_bucket(spark_engine: Engine, width: int) -> None:
    runner = stage_runner(spark_engine)
    sink = HashSink(("c0",), 5)
    runner.rdd.exchange(
        stage(f"SELECT range AS c0, repeat('x', {width}) AS c1 FROM range(6000)", sink=sink, tasks=1), 1, 5
    )
    runner.rdd.exchange(
        stage(f"SELECT range * 3 AS c0, repeat('y', {width}) AS c1 FROM range(6000)", sink=sink, tasks=2), 2, 5
    )
    join = stage(
        "SELECT a.c0, b.c1[1] AS c1 FROM in0 a JOIN in1 b ON a.c0 = b.c0",
        ExchangeColumns("in0", 1, SCHEMA),
        ExchangeColumns("in1", 2, SCHEMA),
        tasks=5,
    )
    assert sorted(collect(runner, join)) == [(i, "y") for i in range(0, 6000, 3) for _ in range(2)]
    runner.close()


def test_a_union_of_a_single_and_a_hashed_exchange(spark_engine: Engine) -> None:
    """Wide enough for several tasks: the single one goes whole to the first of them."""
    runner = stage_runner(spark_engine)
    wide = "SELECT range AS c0, repeat('x', 1000) AS c1 FROM range(8000)"
    runner.rdd.exchange(stage(wide, sink=HashSink(("c0",), 3)), 1, 3)
    runner.rdd.exchange(stage(wide, sink=SingleSink()), 2, 1)
    union = stage(
        "SELECT count(*) FILTER (s) AS c0, count(*)::VARCHAR AS c1 FROM"
        " (SELECT true AS s FROM in0 UNION ALL SELECT false FROM in1)",
        ExchangeColumns("in0", 2, SCHEMA),
        ExchangeColumns("in1", 1, SCHEMA),
        tasks=3,
        singles=frozenset({2}),
    )
    found = collect(runner, union)
    assert [count for count, _ in found if count] == [8000]
    assert sum(int(str(count)) for _, count in found) == 16_000
    runner.close()


def test_a_range_exchange_sorts(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    cuts = pa.table({"c0": pa.array([700, 300], pa.int64())})
    bounds = pa.BufferOutputStream()
    with pa.ipc.new_stream(bounds, cuts.schema) as writer:
        writer.write_table(cuts)
    sink = RangeSink((("c0", False, False),), bounds.getvalue().to_pybytes(), 3)
    runner.rdd.exchange(numbers(1000, sink=sink), 1, 3)
    ordered = stage("SELECT * FROM in0 ORDER BY c0 DESC", ExchangeColumns("in0", 1, SCHEMA), tasks=3)
    assert [row[0] for row in collect(runner, ordered)] == [i for i in reversed(range(1000)) for _ in range(2)]
    runner.close()


@pytest.mark.parametrize("width", [1, 1000])
def test_broadcast(spark_engine: Engine, width: int) -> None:
    """Sent with the task while it is small, mapped from a file when it is not."""
    runner = stage_runner(spark_engine)
    build = stage(f"SELECT range * 2 AS c0, repeat('y', {width}) AS c1 FROM range(100)")
    runner.hold(build, 1)
    probe = stage(
        "SELECT p.c0, b.c1[1] AS c1 FROM (SELECT range AS c0 FROM range(10)) p JOIN in1 b ON p.c0 = b.c0 ORDER BY 1",
        BroadcastColumns("in1", 1, SCHEMA),
        tasks=2,
    )
    assert collect(runner, probe) == [(i, "y") for i in range(0, 10, 2)] * 2
    runner.close()
    assert not list(spark_engine.scratch.glob("broadcast-*"))


def test_an_exchange_can_be_broadcast_after_the_fact(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    runner.rdd.exchange(numbers(50, sink=HashSink(("c0",), 4)), 1, 4)
    probe = stage("SELECT count(*) AS c0, NULL AS c1 FROM in0", BroadcastColumns("in0", 1, SCHEMA), tasks=3)
    assert collect(runner, probe) == [(100, None)] * 3
    runner.close()


def test_a_limit_starts_no_more_tasks_than_it_needs(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    assert runner.hold(numbers(100, tasks=200), 1, max_rows=150).rows >= 150
    (profile,) = runner.run.profile.stages
    assert 2 <= profile.num_tasks <= 2 + 8
    runner.close()


def test_the_same_buckets_of_another_exchange_are_read(spark_engine: Engine) -> None:
    """Their numbers are sent to the JVM once."""
    known: list[set[tuple[int, ...]]] = []
    for letter in "xy":
        runner = stage_runner(spark_engine)
        made = f"SELECT range AS c0, repeat('{letter}', 100000) AS c1 FROM range(80)"
        runner.rdd.exchange(stage(made, sink=HashSink(("c0",), 8)), 1, 8)
        read = stage("SELECT c0, c1[:1] AS c1 FROM in0", ExchangeColumns("in0", 1, SCHEMA), tasks=8)
        assert sorted(collect(runner, read)) == [(i, letter) for i in range(80)]
        known.append(set(spark_engine.jobs._sets))
        runner.close()
    assert known[0]
    assert known[0] == known[1]


def test_an_empty_exchange(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    observed = runner.rdd.exchange(numbers(0, sink=HashSink(("c0",), 3)), 1, 3)
    assert (observed.rows, observed.bytes_per_bucket) == (0, (0, 0, 0))
    counted = stage("SELECT count(*) AS c0, NULL AS c1 FROM in0", ExchangeColumns("in0", 1, SCHEMA), tasks=1)
    assert collect(runner, counted) == [(0, None)]
    runner.close()


def test_blocks_are_stored_by_workers(spark_engine: Engine) -> None:
    schema = Schema((Field("id", BIGINT), Field("name", STRING)))
    runner = stage_runner(spark_engine)
    results = runner.results(numbers(25, sink=BlockSink(schema, 10, None), tasks=2))
    handles = [result.handle for result in results if isinstance(result, BlockResult)]
    spark_engine.store.adopt(handles)
    assert [handle.num_rows for handle in handles] == [10, 10, 5] * 2
    spark_engine.store.release([handle.block_id for handle in handles])


@pytest.mark.parametrize("run", [StageRunner.batches, StageRunner.results])
@pytest.mark.parametrize("tasks", [2, 40])
def test_an_error_of_a_task_is_the_users_error(
    spark_engine: Engine, run: Callable[[StageRunner, Stage], object], tasks: int
) -> None:
    bad = stage("SELECT 'abc'::INT AS c0, '' AS c1", tasks=tasks)
    with pytest.raises(ExecutionError) as caught:
        list(run(stage_runner(spark_engine), bad))  # type: ignore[call-overload]
    assert str(caught.value) == "Could not convert string 'abc' to INT32 [SQLSTATE 22018]"
    assert collect(stage_runner(spark_engine), numbers(1)) == [(0, "s0")] * 2


def test_an_error_in_a_map_stage(spark_engine: Engine) -> None:
    bad = stage("SELECT error('two rows [SQLSTATE 21000]') AS c0, '' AS c1", sink=HashSink(("c0",), 2), tasks=30)
    with pytest.raises(ExecutionError) as caught:
        stage_runner(spark_engine).rdd.exchange(bad, 1, 2)
    assert (caught.value.message, caught.value.sqlstate) == ("two rows", "21000")


@pytest.mark.parametrize("placement", ["rdd", "driver"])
def test_cancel(spark_engine: Engine, placement: str) -> None:
    runner = stage_runner(spark_engine)
    endless = stage("SELECT count(*) AS c0, '' AS c1 FROM range(100000000000) r, range(1000) s WHERE hash(r.range) = 5")
    threading.Timer(0.3, runner.run.statement.cancel).start()
    with pytest.raises(CancelledError):
        list(runner.batches(endless if placement == "rdd" else in_driver(endless)))
    assert collect(stage_runner(spark_engine), numbers(1)) == [(0, "s0")] * 2


def test_closing_the_rows_early_ends_the_query(spark_engine: Engine) -> None:
    for runner in (stage_runner(spark_engine), stage_runner(spark_engine)):
        batches = runner.batches(numbers(10, tasks=100))
        assert next(batches).num_rows == 10
        batches.close()
    driver = stage_runner(spark_engine).batches(in_driver(numbers(10_000_000, tasks=1)))
    assert next(driver).num_rows
    driver.close()
    assert sum(batch.num_rows for batch in stage_runner(spark_engine).batches(in_driver(numbers(7, tasks=1)))) == 7


@pytest.mark.parametrize("count", [1, 7, 2000, BATCH_ROWS, BATCH_ROWS + 1, 3 * BATCH_ROWS])
@pytest.mark.parametrize("tasks", [1, 3])
def test_a_batch_of_the_driver_that_is_not_full_is_known_to_be_the_last(
    spark_engine: Engine, count: int, tasks: int
) -> None:
    runner, what = stage_runner(spark_engine), in_driver(numbers(count, tasks=tasks))
    rows = 0
    for batch in runner.batches(what):
        rows += batch.num_rows
        assert (runner.driver.given_whole is what) == (count < BATCH_ROWS and rows == count * tasks)
    assert rows == count * tasks


def test_no_batch_of_rdd_tasks_is_known_to_be_the_last(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    for _ in runner.batches(numbers(7, tasks=1)):
        assert runner.driver.given_whole is None


def test_progress(spark_engine: Engine) -> None:
    seen: list[Progress] = []
    list(stage_runner(spark_engine, seen.append).batches(numbers(10, tasks=4)))
    assert [progress.tasks_done for progress in seen] == [0, 1, 2, 3, 4]
    assert {progress.tasks_total for progress in seen} == {4}


def test_queries_run_side_by_side(spark_engine: Engine) -> None:
    found: dict[int, int] = {}

    def query(number: int) -> None:
        found[number] = len(collect(stage_runner(spark_engine), numbers(number, tasks=3)))

    threads = [threading.Thread(target=query, args=(number,)) for number in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: 3 * number for number in range(1, 6)}


def test_reading_an_exchange_that_never_ran(spark_engine: Engine) -> None:
    with pytest.raises(InternalError, match="exchange 9"):
        collect(stage_runner(spark_engine), stage("SELECT * FROM in0", ExchangeColumns("in0", 9, SCHEMA)))


@pytest.mark.slow
def test_many_parts_reach_their_tasks(spark_engine: Engine) -> None:
    program = StageProgram("SELECT 1 AS c0, '' AS c1", (), SCHEMA, numbers(1).program.sink)
    parts = tuple(TaskInput(blocks=((f"r{i}" * 500, ()),)) for i in range(400))
    assert len(collect(stage_runner(spark_engine), Stage(program, parts))) == 400


def test_a_listener_that_fails_costs_no_report(spark_engine: Engine) -> None:
    """pyspark's server for accumulators would end with its exception, and with it the reports of all later tasks."""

    def fail(_: object) -> None:
        raise ValueError("a listener's own fault")

    for listener in (fail, ignore_progress):
        runner = stage_runner(spark_engine, listener)
        assert sum(batch.num_rows for batch in runner.batches(numbers(10))) == 20
        assert sum(stage.rows_out for stage in runner.run.profile.stages) == 20


@pytest.mark.parametrize(
    "run", [lambda runner: list(runner.batches(numbers(10))), lambda runner: runner.results(numbers(10))]
)
def test_tasks_without_a_report_are_an_error(
    spark_engine: Engine, monkeypatch: pytest.MonkeyPatch, run: Callable[[StageRunner], object]
) -> None:
    """Only the report says what a task stored, and whether it failed."""
    monkeypatch.setattr(ReportCollector, "add", lambda *_: None)
    with pytest.raises(ExecutionError, match="2 tasks have ended without a report"):
        run(stage_runner(spark_engine))


@pytest.mark.parametrize(("count", "is_served"), [(10, False), (20_000, True), (200_000, False)])
def test_small_results_come_with_the_reports(
    spark_engine: Engine, monkeypatch: pytest.MonkeyPatch, count: int, is_served: bool
) -> None:
    """Rows of more than a megabyte are in a file, whose name is small."""
    received, served = spark_engine.jobs._received, list[object]()
    monkeypatch.setattr(spark_engine.jobs, "_received", lambda what: served.append(what) or received(what))
    assert collect(stage_runner(spark_engine), numbers(count)) == [(i, f"s{i}") for i in range(count)] * 2
    assert bool(served) == is_served


def test_small_and_large_results_of_one_stage(spark_engine: Engine) -> None:
    sql = "SELECT c0, repeat('x', CAST(c0 AS INT)) AS c1 FROM in0"
    runner = stage_runner(spark_engine)
    runner.rdd.exchange(stage("SELECT range * 400000 AS c0, '' AS c1 FROM range(2)", sink=HashSink(("c0",), 2)), 1, 2)
    sizes = sorted(
        (c0, len(str(c1))) for c0, c1 in collect(runner, stage(sql, ExchangeColumns("in0", 1, SCHEMA), tasks=2))
    )
    assert sizes == [(0, 0), (400_000, 400_000)]
    runner.close()


def test_a_shuffle_has_a_serializer_that_is_made_at_once_and_holds_no_payload(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    runner.rdd.exchange(numbers(10, sink=HashSink(("c0",), 4)), 1, 4)
    (read,) = runner.outputs.exchange_inputs(stage("SELECT * FROM in0", ExchangeColumns("in0", 1, SCHEMA)))
    assert isinstance(read.output, MapOutput)
    serializer = read.output.shuffled.dependencies().head().serializer()
    assert serializer.getClass().getSimpleName() == "JavaSerializer"
    jvm = spark_engine.jobs.jvm
    target, payload = jvm.java.io.ByteArrayOutputStream(), jvm.java.util.ArrayList(["x" * 1000])
    stream = serializer.newInstance().serializeStream(target)
    for _ in range(3):
        stream.writeObject(payload, jvm.scala.reflect.ClassTag.Any())
    stream.flush()
    # A stream that held the payload would refer to it.
    assert target.size() > 3000
    runner.close()
