"""Executors that die and shuffle files that vanish between map and reduce: stages run again, or a clear error."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

import sharkpy
from sharkpy.execution.stage_runner import StageRunner
from tests.faults.workload import QUERIES, make_tables

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def executors(context: sharkpy.SharkContext) -> list[psutil.Process]:
    handle = context.engine._spark
    assert handle is not None
    assert handle.jvm is not None
    family = psutil.Process(handle.jvm.process.pid).children(recursive=True)
    return [process for process in family if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline())]


def lose_executors(folder: Path, seed: int) -> None:
    """Queries on a cluster of two executors, one of which is killed in each."""
    generator = random.Random(seed)
    conf = {
        "shark.placement.driver": False,
        "shark.task.single.max.bytes": 0,
        "shark.task.single.max.rows": 0,
        "shark.join.replicate.max.rows": 0,
        "shark.jvm.memory": "512m",
        "shark.block.rows": 20_000,
        "shark.test.join": "shuffle",
        "shark.temp.dir": str(folder),
    }
    with sharkpy.connect("local-cluster[2,1,1024]", folder / "warehouse", **conf) as cluster:
        make_tables(cluster)
        expected = {query: cluster.sql(query).fetchall() for query in QUERIES[:4]}
        for query, answer in expected.items():
            found = executors(cluster)
            assert found
            timer = threading.Timer(generator.uniform(0, 0.3), generator.choice(found).kill)
            timer.start()
            assert cluster.sql(query).fetchall() == answer, f"seed {seed}: {query}"
            timer.join()


def test_a_lost_executor(tmp_path: Path, seed: int) -> None:
    """In a process of its own: there is one SparkContext in a process."""
    code = "import sys, pathlib; from tests.faults.test_lost_executors import lose_executors as run; "
    code += "run(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(tmp_path), str(seed)]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def shuffle_files(context: sharkpy.SharkContext) -> list[Path]:
    """In Spark's own folder: the SparkContext of this process may have been started by another session."""
    folder = Path(context.engine.jobs.context.getConf().get("spark.local.dir"))
    return [path for path in folder.rglob("shuffle_*") if path.is_file()]


def test_shuffle_files_that_vanish(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reduce side finds nothing: Spark runs the map stage again, and the answer is the same."""
    query = QUERIES[0]
    run_exchange = StageRunner.run_exchange
    deleted: list[Path] = []

    def run_and_delete(self: StageRunner, *arguments: object) -> object:
        answer = run_exchange(self, *arguments)  # type: ignore[arg-type]
        if not deleted:
            for path in shuffle_files(context):
                path.unlink()
                deleted.append(path)
        return answer

    monkeypatch.setattr(StageRunner, "run_exchange", run_and_delete)
    assert context.sql(query).fetchall() == expected[query]
    assert deleted
    monkeypatch.undo()
    assert context.sql(query).fetchall() == expected[query]
