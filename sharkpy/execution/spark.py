"""The SparkContext of a session: the user's active one, or one made with settings for short tasks."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sharkpy.errors import ConfigurationError
from sharkpy.execution.gateway import JvmProcess, pyspark_home, start_jvm
from sharkpy.execution.java import find_java

TASK_ATTEMPTS = 4
_MAX_SOCKET_DIR = 60
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(\d+))?\])?$")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]$")


@dataclass(frozen=True, slots=True)
class SparkHandle:
    """A SparkContext with what is needed to end it; `jvm` is None where the context is the user's."""

    context: Any
    jvm: JvmProcess | None
    is_local: bool
    """Workers run on this machine: they can map files that the driver writes."""
    parallelism: int
    """Tasks that run at once, as far as Spark knew at the start."""

    def stop(self) -> None:
        """End the context and its JVM, unless the user made them."""
        if self.jvm is None:
            return
        from pyspark import SparkContext

        try:
            self.context.stop()
        finally:
            SparkContext._gateway = None
            SparkContext._jvm = None
            SparkContext._active_spark_context = None
            self.jvm.stop()


def spark_conf(master: str, scratch: Path, overrides: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings for short Python tasks; `overrides` (keys starting with "spark.") win."""
    local = is_local_master(master)
    package_root = str(Path(__file__).resolve().parents[2])
    python_path = os.pathsep.join(dict.fromkeys([package_root, *filter(None, sys.path)]))
    conf = {
        "spark.master": retrying_master(master),
        "spark.app.name": "sharkpy",
        "spark.submit.deployMode": "client",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        # Over TCP a worker waits for delayed acknowledgements: 40 ms a task.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": socket_dir(scratch),
        "spark.python.daemon.module": "sharkpy.execution.daemon",
        "spark.python.worker.reuse": "true",
        "spark.executorEnv.PYTHONPATH": python_path,
        "spark.task.maxFailures": str(TASK_ATTEMPTS),
        "spark.locality.wait": "0",
        # On one machine payloads go through the page cache: compressing them costs more than it saves.
        "spark.shuffle.compress": "false" if local else "true",
        "spark.shuffle.spill.compress": "false" if local else "true",
        "spark.scheduler.mode": "FAIR",
        "spark.hadoop.fs.permissions.umask-mode": "022",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(scratch / "spark-warehouse"),
    }
    return conf | {key: value for key, value in overrides.items() if key.startswith("spark.")}


def socket_dir(scratch: Path) -> str:
    """`scratch`, unless the path of a socket in it would be longer than the system allows (108 bytes)."""
    return str(scratch) if len(os.fsencode(scratch)) <= _MAX_SOCKET_DIR else "/tmp"


def is_local_master(master: str) -> bool:
    """Whether tasks run on this machine, in the driver's JVM or in executors beside it."""
    return bool(_LOCAL.match(master) or _LOCAL_CLUSTER.match(master))


def retrying_master(master: str) -> str:
    """`local[n]` as `local[n,4]`: Spark's local mode retries no task unless it is told to."""
    match = _LOCAL.match(master)
    if match is None:
        return master
    threads, attempts = match.groups()
    return f"local[{threads or '1'},{attempts or TASK_ATTEMPTS}]"


def connect_spark(
    master: str, scratch: Path, overrides: Mapping[str, str], java_home: str | None, max_heap_bytes: int
) -> SparkHandle:
    """The active SparkContext of this process, else a new one with its own JVM."""
    if active := _active_context():
        return SparkHandle(active, None, is_local_master(str(active.master)), int(active.defaultParallelism))
    java = find_java(java_home)
    conf = spark_conf(master, scratch, overrides)
    jvm = start_jvm(java, scratch, max_heap_bytes, conf, meanwhile=_import_pyspark)
    try:
        context = _make_context(jvm, conf)
        return SparkHandle(context, jvm, is_local_master(master), int(context.defaultParallelism))
    except BaseException:
        jvm.stop()
        raise


def _active_context() -> Any | None:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _import_pyspark() -> None:
    import pyspark.core.context  # noqa: F401 - imported while the JVM starts


def _make_context(jvm: JvmProcess, conf: Mapping[str, str]) -> Any:
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf, SparkContext

    os.environ.setdefault("SPARK_HOME", str(pyspark_home()))
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if is_main else None
    spark = SparkConf(loadDefaults=False)
    for key, value in conf.items():
        spark.set(key, value)
    try:
        context = SparkContext(conf=spark, gateway=jvm.gateway)
    except Py4JJavaError as error:
        SparkContext._gateway = None
        SparkContext._jvm = None
        reason = str(error.java_exception.getMessage()).splitlines()[0]
        raise ConfigurationError(f"Spark did not start on master {conf['spark.master']}: {reason}") from None
    if is_main:
        # pyspark turns Ctrl-C into the end of all jobs; here each query ends its own.
        signal.signal(signal.SIGINT, handler)
    context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return context
