"""Spark's own Thrift server, started from the jars of pyspark: an oracle for metadata and types, and a measure."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sharkpy.base.java import find_java
from sharkpy.execution.spark.jvm_process import java_command, logging_properties, pyspark_home
from tests.ports import free_ports

START_SECONDS = 90.0
_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


@dataclass(frozen=True, slots=True)
class SparkServer:
    """A server that takes connections; `folder` holds its warehouse and its log."""

    host: str
    port: int
    process_id: int
    folder: Path
    auth: str

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    def connect(self, **options: Any) -> Any:
        """A PyHive connection."""
        from pyhive import hive

        return hive.connect(self.host, self.port, username="tester", auth=self.auth, **options)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of one statement over a connection of its own."""
        connection = self.connect()
        try:
            cursor = connection.cursor()
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()


@contextmanager
def start(
    master: str = "local[2]",
    conf: Mapping[str, str] | None = None,
    auth: str = "NONE",
    heap_bytes: int = 2 << 30,
) -> Iterator[SparkServer]:
    """A server on a free loopback port, ended with all it made. `auth`: NONE (SASL PLAIN) or NOSASL.

    Tables are kept by an in-memory catalog unless `conf` has "spark.sql.catalogImplementation": "hive".
    """
    folder = Path(tempfile.mkdtemp(prefix="spark-thrift-"))
    (port,) = free_ports(1)
    try:
        process = _launch(folder, port, master, conf or {}, auth, heap_bytes)
        try:
            _wait(process, port, folder)
            yield SparkServer("127.0.0.1", port, process.pid, folder, auth)
        finally:
            _end(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _launch(
    folder: Path, port: int, master: str, conf: Mapping[str, str], auth: str, heap_bytes: int
) -> subprocess.Popen[bytes]:
    (folder / "log4j2.properties").write_text(logging_properties("warn"))
    java = find_java()
    settings = {
        "spark.master": master,
        "spark.app.name": "thrift-oracle",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.legacy.createHiveTableByDefault": "false",
        "spark.sql.session.timeZone": "UTC",
        **conf,
    }
    # sharkpy's JVM compiles little, to leave the cores to the tasks: here the tasks are in the JVM.
    begin = [part for part in java_command(java, folder, heap_bytes, settings)[:-1] if "TieredStop" not in part]
    hive = {
        "hive.server2.thrift.port": str(port),
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.authentication": auth,
        "hive.exec.scratchdir": str(folder / "scratch"),
    }
    options = [part for key, value in hive.items() for part in ("--hiveconf", f"{key}={value}")]
    environ = {
        **os.environ,
        "SPARK_HOME": str(pyspark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": str(Path(java.executable).resolve().parent.parent),
    }
    with (folder / "server.log").open("wb") as log:
        return subprocess.Popen(
            [*begin, "--class", _CLASS, "spark-internal", *options],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            time.sleep(0.1)
    log = (folder / "server.log").read_text(errors="replace")
    raise RuntimeError(f"Spark's Thrift server did not start:\n{log[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process by its id; its children are in a group of their own and end with it."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
