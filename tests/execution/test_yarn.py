"""YARN and HDFS: the engine's tasks in containers of a real resource manager and two node managers, over tables in a
real cluster's files, while a node is lost.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psutil
import pytest

pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")

import sharkpy
from sharkpy.execution.spark.jvm_process import pyspark_home
from tests.hadoop import HadoopCluster
from tests.physical.test_tpch import QUERIES, TABLES, assert_same, comparable
from tests.waiting import allowed, until

ROOT = Path(__file__).resolve().parents[2]
_APPLICATION = "org.apache.spark.deploy.yarn.ExecutorLauncher"
CONF = {
    "shark.jvm.memory": "512m",
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.store.memory.limit": "128m",
    "spark.pyspark.python": sys.executable,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # The jars need not be sent to where they are.
    "spark.yarn.jars": f"local:{pyspark_home()}/jars/*",
    "spark.yarn.am.memory": "512m",
    "spark.executor.instances": 2,
    "spark.executor.cores": 1,
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "512m",
}
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    """Two nodes: with the master of the application there is room for one executor, on the other node for two."""
    cluster = HadoopCluster(tmp_path_factory.mktemp("hadoop"))
    try:
        cluster.start_hdfs(data_nodes=2)
        cluster.start_yarn(node_managers=2, memory_mb=2048)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch")
    tool = str(Path(sys.executable).parent / "tpcgen-cli")
    subprocess.run([tool, "tpch", "parquet", "-s", "0.1", "--output-dir", str(folder)], check=True, capture_output=True)
    return folder


def run_queries(folder: str, data: str, warehouse: str) -> None:
    """TPC-H on YARN, compared with DuckDB, over tables whose files are in the warehouse, one of them cached. After the
    fifth query a file asks for the loss of a node, and another is awaited.
    """
    conf = {
        **CONF,
        "shark.catalog.dir": Path(folder, "catalog"),
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{allowed(60):.0f}s",
    }
    with duckdb.connect() as peer, sharkpy.connect("yarn", warehouse, **conf) as context:
        for name in TABLES:
            peer.execute(f"CREATE VIEW {name} AS SELECT * FROM '{data}/{name}.parquet'")
            made = f"CREATE TABLE {name} STORED AS PARQUET AS SELECT * FROM parquet.`{data}/{name}.parquet`"
            context.sql(made).close()
        context.sql("CACHE TABLE lineitem").close()
        for number, path in enumerate(sorted(QUERIES.glob("q*.sql"))):
            if number == 5:
                Path(folder, "lose").touch()
                until(Path(folder, "lost").exists)
            query = path.read_text()
            assert_same(comparable(context.sql(query).fetchall()), comparable(peer.sql(query).fetchall()))
            print(path.stem, flush=True)


def node_without_master(cluster: HadoopCluster) -> str:
    """The node manager that runs only executors."""
    (name,) = (name for name, process in cluster.processes.items() if "nodemanager" in name and executors(process))
    return name


def executors(node: psutil.Process) -> list[psutil.Process]:
    """Executors of a node; none for the node of the application's master."""
    lines = {process: " ".join(process.cmdline()) for process in node.children(recursive=True)}
    if any(_APPLICATION in line for line in lines.values()):
        return []
    return [process for process, line in lines.items() if "CoarseGrainedExecutorBackend" in line]


def test_tpch_while_a_node_is_lost(hadoop: HadoopCluster, data: Path, tmp_path: Path) -> None:
    code = "import sys; from tests.execution.test_yarn import run_queries as run; run(*sys.argv[1:])"
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HADOOP_CONF_DIR": str(hadoop.conf)}
    with open(tmp_path / "log", "wb") as log:
        command = [sys.executable, "-c", code, str(tmp_path), str(data), f"{hadoop.hdfs}/warehouse"]
        process = subprocess.Popen(command, env=environ, cwd=ROOT, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + allowed(600)
        lost = ""
        while process.poll() is None:
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-4000:]
            if not lost and (tmp_path / "lose").exists():
                lost = node_without_master(hadoop)
                hadoop.kill(lost)
                (tmp_path / "lost").touch()
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    said = (tmp_path / "log").read_text()
    assert process.returncode == 0, said[-4000:]
    assert len([line for line in said.splitlines() if line.startswith("q")]) == 22
    assert lost
    until(lambda: hadoop.figure("resourcemanager", "ResourceManager,name=ClusterMetrics", "NumActiveNMs") == 1)
