"""Standalone cluster of Spark in real processes on this machine: a master, and workers that pass for other hosts."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sharkpy.base.java import find_java
from sharkpy.execution.spark.jvm_process import logging_properties, pyspark_home
from tests.ports import free_ports

_TIMEOUT_SECONDS = 60.0


@contextlib.contextmanager
def standalone(folder: Path, hosts: Sequence[str] = ("127.0.0.1", "127.0.0.2")) -> Iterator[str]:
    """Start a cluster; yields the master's URL. `hosts`, loopback addresses, have one worker of one core each."""
    with contextlib.ExitStack() as processes:
        (port,) = free_ports(1)
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        log = _start(processes, folder, "org.apache.spark.deploy.master.Master", arguments, "127.0.0.1", "master")
        _await_text(log, "I have been elected leader")
        master = f"spark://127.0.0.1:{port}"
        for number, host in enumerate(hosts):
            work = str(folder / f"work-{number}")
            arguments = [
                "--host",
                host,
                "--webui-port",
                "0",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                work,
                master,
            ]
            name = f"worker-{number}"
            log = _start(processes, folder, "org.apache.spark.deploy.worker.Worker", arguments, host, name)
            _await_text(log, "Successfully registered with master")
        yield master


def _start(
    processes: contextlib.ExitStack, folder: Path, program: str, arguments: list[str], host: str, name: str
) -> Path:
    java = find_java()
    home = str(pyspark_home())
    environ = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "SPARK_", "PYSPARK_"))
    }
    environ |= {
        "SPARK_HOME": home,
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(folder / name),
        "JAVA_HOME": str(Path(java.executable).resolve().parent.parent),
    }
    log = folder / f"{name}.log"
    (folder / f"{name}.properties").write_text(logging_properties("info"))
    command = [java.executable, "-Xmx256m", f"-Dlog4j2.configurationFile={folder / name}.properties"]
    command += ["-XX:TieredStopAtLevel=1", "-cp", f"{home}/jars/*", program, *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environ, cwd=folder)
    processes.callback(_stop, process)
    return log


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_text(log: Path, text: str) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log.name} does not say {text!r}: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


if __name__ == "__main__":
    with standalone(Path(sys.argv[1])) as url:
        print(url, flush=True)
        sys.stdin.read()
