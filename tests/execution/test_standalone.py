"""Cluster whose workers pass for two hosts: the package gets there, blocks stay there, tasks run next to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError
from sharkpy.columnar.host import this_executor
from sharkpy.execution.spark import start as spark
from sharkpy.execution.stages import stage_outputs
from sharkpy.execution.workers import frames, worker_environment

from .standalone import standalone

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ("127.0.0.1", "127.0.0.2")
SCRIPT = """
CREATE TABLE facts (k INT, v INT) TBLPROPERTIES ('shark.cache' = 'MEMORY');
CREATE TABLE keys (k INT, name STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY');
INSERT INTO facts SELECT t.n % 5, t.n FROM (SELECT explode(sequence(1, 4000)) AS n) t;
INSERT INTO facts SELECT t.n % 5, t.n FROM (SELECT explode(sequence(4001, 8000)) AS n) t;
INSERT INTO keys SELECT t.n, repeat(concat('name', t.n), 10) FROM (SELECT explode(sequence(0, 3000)) AS n) t
"""
QUERY = (
    "SELECT substr(name, 1, 5) AS n, count(*), sum(v) FROM facts JOIN keys ON facts.k = keys.k GROUP BY name ORDER BY n"
)
ANSWER = [(f"name{k}", 1600, sum(range(k or 5, 8001, 5))) for k in range(5)]
CONF = {
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.join.replicate.max.rows": 0,
    "shark.block.rows": 1000,
    "shark.compaction": False,
    "shark.jvm.memory": "512m",
    "spark.executor.memory": "512m",
}
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(tmp_path_factory.mktemp("cluster"), HOSTS) as url:
        yield url


def in_process(name: str, *arguments: object) -> str:
    """Run a function of this module in a process of its own: a process has one SparkContext."""
    code = f"import sys; from tests.execution.test_standalone import {name} as run; run(*sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def await_all_executors(context: sharkpy.SharkContext) -> None:
    """Wait for the executors of both hosts, so that loading tasks leave blocks on both."""
    tasks = context.engine.jobs.context.parallelize(range(4), 4)
    wait_until(lambda: set(tasks.map(lambda _: this_executor().host).collect()) == set(HOSTS))


def spark_broadcasts() -> list[bool]:
    """Send every broadcast of this process as a large one; the list records whether it went through Spark."""
    sent: list[bool] = []
    send = stage_outputs.send_broadcast

    def watched(*arguments: Any) -> frames.BroadcastSource:
        source = send(*arguments)
        sent.append(source.spark is not None)
        return source

    frames.INLINE_BYTES = 0
    stage_outputs.send_broadcast = watched
    return sent


def run_queries(master: str, folder: str) -> None:
    sent = spark_broadcasts()
    with sharkpy.connect(master, Path(folder, "warehouse"), **CONF) as context:
        await_all_executors(context)
        context.sql(SCRIPT).close()
        # Each INSERT was loaded by one task, wherever Spark put it; loaded together the files go to both hosts.
        context.sql("UNCACHE TABLE facts; CACHE TABLE facts").close()
        for join in ("", "broadcast", "shuffle"):
            context.sql(f"SET shark.test.join={join}")
            result = context.sql(QUERY)
            assert result.fetchall() == ANSWER, join
            assert result.profile is not None
            placed = sum(stage.placed_tasks for stage in result.profile.stages)
            beside = sum(stage.beside_tasks for stage in result.profile.stages)
            print(f"join {join or 'any'}: {beside} of {placed} tasks beside their blocks")
            assert placed >= 3
            assert beside >= placed - 1
        assert sent
        assert all(sent)
        lines = "\n".join(line for (line,) in context.sql(f"EXPLAIN ANALYZE {QUERY}").fetchall())
        assert "tasks beside their blocks" in lines
        version = context.table_cache.version(context.catalog.table("default", "facts"))
        assert version is not None
        assert {block.host for block in version.blocks} == set(HOSTS)
        for block in version.blocks:
            assert Path(block.memory_path).is_file()
            assert block.durable_path is not None
        assert context.lookup("facts", 4711, by="v") == [(1, 4711)]
        jobs = context.engine.jobs
        (place,) = jobs.context.parallelize([0], 1).map(lambda _: sharkpy.__file__).collect()
        assert place.split("/sharkpy/")[0].endswith(".zip"), place
        folders = {str(Path(block.memory_path).parent) for block in version.blocks}
        assert len(folders) == 2
    wait_until(lambda: not any(map(os.path.exists, folders)))


def wait_until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_queries_on_two_hosts(master: str, tmp_path: Path) -> None:
    """Queries have joins of all kinds and broadcasts through Spark; the memory of the hosts is free again at the
    end.
    """
    print(in_process("run_queries", master, tmp_path))


def archived_python(folder: Path) -> Path:
    """Archive with an interpreter in it, as `venv-pack` makes one: here it only leads to the installed one."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    with tarfile.open(folder / "env.tar.gz", "w:gz") as archive:
        archive.add(script, "bin/python")
    return folder / "env.tar.gz"


def lose_memory(master: str, folder: str) -> None:
    archive = archived_python(Path(folder))
    conf = {**CONF, "shark.test.join": "broadcast", "spark.archives": f"{archive}#env"}
    conf["spark.pyspark.python"] = "./env/bin/python"
    with sharkpy.connect(master, Path(folder, "warehouse"), **conf) as context:
        await_all_executors(context)
        context.sql(SCRIPT).close()
        context.sql("CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT * FROM facts").close()
        query = QUERY.replace("facts", "made")
        assert context.sql(query).fetchall() == ANSWER
        version = context.table_cache.version(context.catalog.table("default", "made"))
        assert version is not None
        missing, damaged, *_ = [Path(block.memory_path) for block in version.blocks]
        missing.unlink()
        content = bytearray(damaged.read_bytes())
        content[len(content) // 3 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 3)
        damaged.write_bytes(content)
        assert context.sql(query).fetchall() == ANSWER
        assert context.sql("SELECT count(*), sum(v) FROM made").fetchall() == [(8000, 32004000)]
        executors = {int(Path(block.memory_path).parent.name.split("-")[2]) for block in version.blocks}
        assert len(executors) == 2
        os.kill(min(executors), signal.SIGKILL)
        for _ in range(2):
            assert context.sql(query).fetchall() == ANSWER
        # Durable copies that are damaged too are made again from the files.
        facts = context.table_cache.version(context.catalog.table("default", "facts"))
        assert facts is not None
        for block in facts.blocks[:3]:
            Path(block.memory_path).unlink(missing_ok=True)
            Path(block.durable_path or "").unlink()
        assert context.sql(QUERY).fetchall() == ANSWER


@pytest.mark.slow
def test_memory_that_is_lost(master: str, tmp_path: Path) -> None:
    """Blocks are deleted and damaged in a host's memory, and a host's executor dies: the copies serve."""
    in_process("lose_memory", master, tmp_path)


def fail_to_start(master: str, folder: str) -> None:
    def error(**conf: object) -> str:
        with sharkpy.connect(master, Path(folder, "warehouse"), **{**CONF, **conf}) as context:
            try:
                context.sql("CREATE TABLE IF NOT EXISTS t (n INT) TBLPROPERTIES ('shark.cache' = 'MEMORY')").close()
                context.sql("INSERT INTO t VALUES (1)").close()
                context.sql("SELECT sum(n) FROM t").fetchall()
            except ConfigurationError as failure:
                return str(failure)
        raise AssertionError("it started")

    waiting = "spark.scheduler.maxRegisteredResourcesWaitingTime"
    said = error(**{"spark.executor.memory": "100g", waiting: "3s"})
    assert "registered within 3 s" in said
    assert waiting in said
    assert 'Python was not found at "/nowhere/python"' in error(**{"spark.pyspark.python": "/nowhere/python"})
    wanted = worker_environment.expected_versions().replace("duckdb ", "duckdb 9").replace("numba ", "absent 1, numba ")
    spark.expected_versions = lambda: wanted  # type: ignore[assignment]
    said = error()
    print(said)
    assert said.startswith('worker host "')
    assert "duckdb 2.0.0, the driver has 92.0.0; absent is missing, the driver has 1" in said
    assert "spark.archives" in said


@pytest.mark.slow
def test_workers_that_do_not_fit(master: str, tmp_path: Path) -> None:
    """The error names the host, the difference and the remedy."""
    print(in_process("fail_to_start", master, tmp_path))


def borrow(master: str, folder: str) -> None:
    import logging

    from pyspark import SparkConf, SparkContext

    logging.basicConfig(stream=sys.stdout)
    conf = SparkConf().setMaster(master).setAppName("own").set("spark.executor.memory", "512m")
    conf.set("spark.driver.bindAddress", "127.0.0.1").set("spark.driver.host", "127.0.0.1")
    conf.set("spark.ui.enabled", "false").set("spark.pyspark.python", sys.executable)
    own = SparkContext(conf=conf)
    own.pythonExec = sys.executable
    options = {**CONF, "shark.placement.driver": False}
    with sharkpy.connect("local[7]", Path(folder, "warehouse"), **options) as context:
        context.sql(SCRIPT).close()
        assert context.sql(QUERY).fetchall() == ANSWER
        assert context.engine.is_local == master.startswith("local")
        assert context.engine.jobs.context is own
    assert own.parallelize(range(10)).sum() == 45
    own.stop()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local[2]", "standalone"])
def test_a_context_of_the_users_own(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    """The user's context is used unchanged, with one warning about missing settings, and lives on."""
    master = request.getfixturevalue("master") if kind == "standalone" else kind
    output = in_process("borrow", master, tmp_path)
    assert output.count("WARNING:sharkpy:") == 1
    assert "set spark.python.unix.domain.socket.enabled=true and spark.python.daemon.module=sharkpy" in output
