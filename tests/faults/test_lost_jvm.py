"""Spark's JVM killed while it idles and while a query runs: another one is started, and answers are right."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import BindError, InternalError, SparkLostError
from sharkpy.execution.engine import Engine
from sharkpy.execution.queries.run_plan import detecting_lost_jvm
from sharkpy.execution.spark.jvm_process import JvmProcess
from sharkpy.session import prepared_statement

pytestmark = pytest.mark.spark

# A process of its own: what other tests have made of Spark would be borrowed by the session.
_PROGRAM = """
import json, sys, threading, time, psutil, sharkpy

conf = {"shark.placement.driver": False, "shark.task.single.max.rows": 0, "shark.task.single.max.bytes": 0,
        "shark.jvm.memory": "512m", "shark.test.join": "shuffle"}
context = sharkpy.connect("local[2]", sys.argv[1], **conf)
context.sql("CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT i, i % 100 AS k"
            " FROM (SELECT explode(sequence(1, 200000)) AS i) s")
query = "SELECT a.k, count(*) AS n, sum(b.i) AS s FROM t a JOIN t b ON a.i = b.i GROUP BY a.k ORDER BY a.k"
slow = query.replace("count(*)", "count(reflect_slowly(b.i))")
context.register_function("reflect_slowly", lambda n: (time.sleep(0.2), n)[1], arguments=["bigint"], returns="bigint")

def kill():
    for child in psutil.Process().children():
        if "java" in child.name():
            child.kill()
            child.wait()

def rows(text):
    return [list(row) for row in context.sql(text).fetchall()]

first = rows(query)
kill()
idle = rows(query)
killer = threading.Timer(1.0, kill)
killer.start()
during = rows(slow)
killer.join()
assert "java" in [child.name() for child in psutil.Process().children()]
written = rows("SELECT count(*) FROM t")
context.stop()
print(json.dumps({"first": first, "idle": idle, "during": during, "written": written}))
"""


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_another_jvm_is_started(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "warehouse")],
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["first"]) == 100
    assert found["idle"] == found["first"]
    assert found["during"] == found["first"]
    assert found["written"] == [[200000]]
    assert done.stderr.count("the JVM of the session has ended by itself: another one is started") == 2, done.stderr


def test_a_process_that_is_about_to_end() -> None:
    """The connections of a killed JVM may be gone before its process is."""
    with subprocess.Popen(["sleep", "0.3"]) as process:
        jvm = JvmProcess(process, None)
        assert jvm.is_alive
        assert not jvm.await_end(0.01)
        assert jvm.await_end(60)
        assert not jvm.is_alive


def test_a_statement_waits_for_the_end_of_a_lost_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that runs again must not meet the same JVM."""
    calls: list[str] = []

    def run_batches(*_: object) -> Iterator[pa.RecordBatch]:
        calls.append("run")
        raise ConnectionResetError("gone")
        yield

    monkeypatch.setattr(prepared_statement, "run_batches", run_batches)
    monkeypatch.setattr(Engine, "await_lost_spark", lambda _: calls.append("wait"))
    with sharkpy.connect("local[2]", tmp_path / "w") as context, pytest.raises(SparkLostError):
        context.sql("SELECT 1").fetchall()
    assert calls == ["run", "wait", "run", "wait"]


@pytest.mark.parametrize(
    "error", [AttributeError("no setLocalProperty"), InternalError("AttributeError"), BindError("x")]
)
def test_another_thread_notices_it_first(error: Exception) -> None:
    """Then the context has become an empty object in the midst of a call."""
    engine = SimpleNamespace(lost_sparks=3)
    session: Any = SimpleNamespace(started_engine=engine, engine=engine)

    def fail(lost: int) -> None:
        with detecting_lost_jvm(session):
            engine.lost_sparks += lost
            raise error

    with pytest.raises(type(error)):
        fail(0)
    with pytest.raises(BindError if isinstance(error, BindError) else SparkLostError):
        fail(1)
