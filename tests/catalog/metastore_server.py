"""A metastore's server in a process of its own, over a database of Derby; its classes are in Spark's jars."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sharkpy.base.java import find_java
from sharkpy.execution.spark.jvm_process import pyspark_home
from tests.ports import free_ports
from tests.waiting import allowed

_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@contextmanager
def metastore_server(folder: Path, **given: str) -> Iterator[str]:
    """Address of a server whose database and warehouse are in a folder; `given`: further settings, by their names."""
    (port,) = free_ports(1)
    settings = {
        "hive.async.log.enabled": "false",
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "DBCP",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file:{folder / 'warehouse'}",
        **given,
    }
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "net", "util")]
    texts = [text for key, value in settings.items() for text in ("--hiveconf", f"{key}={value}")]
    jars = str(pyspark_home() / "jars" / "*")
    main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
    with Path(folder, "server.log").open("wb") as log:
        command = [find_java(None).executable, *_JVM, *opened, "-cp", jars, main, "-p", str(port), *texts]
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        _await(port, process, folder / "server.log")
        yield f"thrift://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + allowed(60)
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(log.read_text(errors="replace")[-2000:])
