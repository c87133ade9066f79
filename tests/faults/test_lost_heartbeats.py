"""The local executor after Spark has forgotten it, for a shuffle file that was lost: the JVM stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

# A process of its own: it has another heartbeat.
_PROGRAM = """
import sys
from pathlib import Path
import psutil, sharkpy
from sharkpy.execution.stages.rdd_stages import RddStages
from tests.waiting import until
from tests.paths_below import paths_below

conf = {"shark.placement.driver": False, "shark.task.single.max.rows": 0, "shark.task.single.max.bytes": 0,
        "shark.jvm.memory": "512m", "spark.executor.heartbeatInterval": "20ms"}
context = sharkpy.connect("local[2]", sys.argv[1], **conf)
context.sql("CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT explode(sequence(1, 1000)) AS i")
query = "SELECT i % 10 AS k, count(*) AS n FROM t GROUP BY i % 10 ORDER BY k"
expected = context.sql(query).fetchall()
folder = Path(context.engine.jobs.context.getConf().get("spark.local.dir"))
exchange = RddStages.exchange

def run_and_delete(self, *arguments):
    RddStages.exchange = exchange
    answer = exchange(self, *arguments)
    files = [path for path in paths_below(folder, "shuffle_*") if path.is_file()]
    assert files
    for path in files:
        path.unlink()
    return answer

RddStages.exchange = run_and_delete
assert context.sql(query).fetchall() == expected
log = folder / "jvm.log"
machine = [child for child in psutil.Process().children() if "java" in child.name()][0]

def failures():
    return log.read_text(errors="replace").count("RpcEndpointNotFoundException")

until(lambda: failures() > 150 or not machine.is_running() or machine.status() == psutil.STATUS_ZOMBIE)
assert failures() > 150, log.read_text()[-2000:]
assert context.sql(query).fetchall() == expected
context.stop()
"""


@pytest.mark.slow
def test_the_jvm_outlives_failed_heartbeats(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "warehouse")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "has ended by itself" not in done.stderr
