"""SparkContext of a session: the user's active one, or a new one with settings for short tasks."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.java import find_java
from sharkpy.base.records import dataclass
from sharkpy.execution.spark.jvm_process import JvmProcess, pyspark_home, start_jvm
from sharkpy.execution.workers.worker_environment import EXPECTED, expected_versions, package_zip

TASK_ATTEMPTS = 4
_MAX_SOCKET_DIR = 60
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(\d+))?\])?$")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]$")
_STANDALONE = re.compile(r"spark://\[?([^,\]]+?)\]?:(\d+)")
_WAITING = "spark.scheduler.maxRegisteredResourcesWaitingTime"
_SETTLING_SECONDS = 0.5
_DAEMON = "sharkpy.execution.workers.daemon"
_QUICK_TASKS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": _DAEMON,
}
"""Optional settings that save tens of milliseconds per task."""
_log = logging.getLogger("sharkpy")


@dataclass(frozen=True, slots=True)
class SparkHandle:
    """SparkContext and its JVM; `jvm` is None if the context is the user's."""

    context: Any
    jvm: JvmProcess | None
    is_local: bool
    """True if workers run on this machine and so can map files of the driver."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables that workers need in addition to the context's environment."""

    local_parallelism: int = 0
    """Number of tasks that run at once on this machine; 0 on other hosts, as executors come and go."""

    @property
    def parallelism(self) -> int:
        """Number of tasks that run at once, as far as Spark knows."""
        return self.local_parallelism or int(self.context.defaultParallelism)

    @property
    def is_alive(self) -> bool:
        """True if the JVM runs; for the user's context, if it was not stopped."""
        return self.context._jsc is not None if self.jvm is None else self.jvm.is_alive

    @property
    def is_lost(self) -> bool:
        """True if the engine's own JVM has ended by itself."""
        return self.jvm is not None and not self.jvm.is_alive

    def stop(self) -> None:
        """Stop the context and its JVM, unless they are the user's."""
        if self.jvm is None:
            return
        if self.is_lost:
            # Only the Python part of the context is left.
            self.context._jsc = None
        try:
            self.context.stop()
        finally:
            _forget_context()
            self.jvm.stop()


def spark_conf(master: str, scratch: Path, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's settings for short Python tasks. `overrides` with keys starting with "spark." replace them."""
    local = is_local_master(master)
    conf = {
        "spark.master": retrying_master(master),
        "spark.app.name": "sharkpy",
        "spark.submit.deployMode": "client",
        "spark.driver.maxResultSize": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        # Over TCP, a worker waits 40 ms per task for delayed acknowledgements.
        **_QUICK_TASKS,
        "spark.python.worker.reuse": "true",
        "spark.task.maxFailures": str(TASK_ATTEMPTS),
        "spark.scheduler.mode": "FAIR",
        "spark.hadoop.fs.permissions.umask-mode": "022",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(scratch / "spark-warehouse"),
    }
    conf |= _on_this_machine(scratch) if local else _on_other_hosts(master)
    return conf | {key: value for key, value in overrides.items() if key.startswith("spark.")}


def _on_this_machine(scratch: Path) -> dict[str, str]:
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.python.unix.domain.socket.dir": socket_dir(scratch),
        "spark.executorEnv.PYTHONPATH": driver_python_path(),
        "spark.locality.wait": "0",
        # A lost shuffle file makes Spark forget local mode's executor, which cannot register again. After ten minutes
        # of failed heartbeats it would end the JVM.
        "spark.executor.heartbeat.maxFailures": str((1 << 31) - 1),
        # On one machine, payloads stay in the page cache: compression costs more than it saves.
        "spark.shuffle.compress": "false",
        "spark.shuffle.spill.compress": "false",
        # Each stage is broadcast, in a few kilobytes. Spark allocates a whole block for it.
        "spark.broadcast.compress": "false",
        "spark.broadcast.blockSize": "64k",
    }


def _on_other_hosts(master: str) -> dict[str, str]:
    conf = {
        # The driver's folders do not exist on other hosts.
        "spark.python.unix.domain.socket.dir": "/tmp",
        # Long enough for a task to get a slot on its block's host, short compared to a remote read.
        "spark.locality.wait": "300ms",
        "spark.shuffle.compress": "true",
        "spark.shuffle.spill.compress": "true",
    }
    if (address := own_address(master)) is not None:
        conf |= {"spark.driver.bindAddress": address, "spark.driver.host": address}
    return conf


def driver_python_path() -> str:
    """Return this process's Python path: the package and its libraries."""
    package_root = str(Path(__file__).resolve().parents[3])
    return os.pathsep.join(dict.fromkeys([package_root, *filter(None, sys.path)]))


def own_address(master: str) -> str | None:
    """Return this machine's address as a standalone master sees it, or None if Spark is to find one."""
    match = _STANDALONE.match(master)
    if match is None:
        return None
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: the system only tells which address it would use.
        probe.connect((match.group(1), int(match.group(2))))
        return str(probe.getsockname()[0])
    return None


def socket_dir(scratch: Path) -> str:
    """Return the folder for sockets: `scratch`, or /tmp if paths would exceed the system's limit of 108 bytes."""
    return str(scratch) if len(os.fsencode(scratch)) <= _MAX_SOCKET_DIR else "/tmp"


def is_local_master(master: str) -> bool:
    """True if tasks run on this machine, in the driver's JVM or in local executors."""
    return bool(_LOCAL.match(master) or _LOCAL_CLUSTER.match(master))


def retrying_master(master: str) -> str:
    """Return the master with retries of tasks: `local[n]` becomes `local[n,4]`.

    Spark's local mode retries no task by default.
    """
    match = _LOCAL.match(master)
    if match is None:
        return master
    threads, attempts = match.groups()
    return f"local[{threads or '1'},{attempts or TASK_ATTEMPTS}]"


def connect_spark(
    master: str, scratch: Path, overrides: Mapping[str, str], java_home: str | None, max_heap_bytes: int
) -> SparkHandle:
    """Return the process's active SparkContext, or a new one with its own JVM."""
    if active := _active_context():
        return _borrowed(active, scratch)
    java = find_java(java_home)
    conf = spark_conf(master, scratch, overrides)
    local = is_local_master(master)
    package = None if local else package_zip(scratch)
    if package is not None:
        conf["spark.executorEnv.PYTHONPATH"] = _shipped_path(package, conf.get("spark.executorEnv.PYTHONPATH"))
        conf[f"spark.executorEnv.{EXPECTED}"] = expected_versions()
    jvm = start_jvm(java, scratch, max_heap_bytes, conf, meanwhile=_import_pyspark)
    try:
        context = _make_context(jvm, conf, local)
        handle = SparkHandle(context, jvm, local, local_parallelism=int(context.defaultParallelism) if local else 0)
        if package is not None:
            context.addFile(str(package))
            _await_executors(context, master)
        return handle
    except BaseException:
        _forget_context()
        jvm.stop()
        raise


def _shipped_path(package: Path, more: str | None) -> str:
    """Return a worker's PYTHONPATH. The zip is in the folder in which the executor starts it."""
    return os.pathsep.join(filter(None, (package.name, more)))


def _borrowed(context: Any, scratch: Path) -> SparkHandle:
    """Return a handle of the user's context, which is not changed. Missing settings that cost time are logged once."""
    conf = context.getConf()
    lacking = [f"{key}={value}" for key, value in _QUICK_TASKS.items() if conf.get(key, "") != value]
    if lacking:
        _log.warning("tasks of this SparkContext take longer than they need to: set %s", " and ".join(lacking))
    more = context.environment.get("PYTHONPATH")
    if is_local_master(str(context.master)):
        path = os.pathsep.join(filter(None, (driver_python_path(), more)))
        return SparkHandle(context, None, True, {"PYTHONPATH": path}, int(context.defaultParallelism))
    package = package_zip(scratch)
    context.addFile(str(package))
    _await_executors(context, str(context.master))
    environ = {"PYTHONPATH": _shipped_path(package, more), EXPECTED: expected_versions()}
    return SparkHandle(context, None, False, environ)


def _await_executors(context: Any, master: str) -> None:
    """Wait for the first executor and for any that follow shortly.

    Raise ConfigurationError if none registers within a minute, or within Spark's own setting.
    """
    seconds = int(context._jsc.sc().conf().getTimeAsSeconds(_WAITING, "60s"))
    deadline = time.monotonic() + seconds
    seen, settled = 0, deadline
    while time.monotonic() < settled:
        # The driver is counted as one.
        count = int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1
        if count > seen:
            seen, settled = count, time.monotonic() + _SETTLING_SECONDS
        time.sleep(0.05)
    if not seen:
        raise ConfigurationError(
            f"no executor of master {master} registered within {seconds} s",
            hint=f"check that its workers run, reach this machine, and have free cores and memory; {_WAITING} sets how "
            "long to wait",
        )


def active_master() -> str | None:
    """Return the master of the user's own context, or None."""
    active = _active_context()
    return None if active is None else str(active.master)


def _active_context() -> Any | None:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _import_pyspark() -> None:
    import pyspark.core.context  # noqa: F401 - imported while the JVM starts


def _forget_context() -> None:
    """Forget the active context, whose JVM is ending."""
    from pyspark import SparkContext

    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None


def _make_context(jvm: JvmProcess, conf: Mapping[str, str], local: bool) -> Any:
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf, SparkContext

    os.environ.setdefault("SPARK_HOME", str(pyspark_home()))
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if is_main else None
    # For YARN and Kubernetes, Spark's launcher has added its own settings to the JVM.
    spark = SparkConf(loadDefaults=False) if local else SparkConf(loadDefaults=True, _jvm=jvm.gateway.jvm)
    for key, value in conf.items():
        spark.set(key, value)
    try:
        context = SparkContext(conf=spark, gateway=jvm.gateway)
    except Py4JJavaError as error:
        _forget_context()
        reason = str(error.java_exception.getMessage()).splitlines()[0]
        raise ConfigurationError(f"Spark did not start on master {conf['spark.master']}: {reason}") from None
    if is_main:
        # pyspark would cancel all jobs on Ctrl-C; here each query handles its own cancellation.
        signal.signal(signal.SIGINT, handler)
    # It would print how the connection for accumulator updates ended; the next call reports a lost JVM.
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    context.pythonExec = conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON", sys.executable)
    return context
