"""Hadoop on this machine: the daemons of HDFS and of YARN, each a JVM of its own on free ports of the loopback address.

Their jars come from Hadoop's mini cluster, of the version that Spark brings along.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import psutil

from sharkpy.base.java import find_java
from sharkpy.execution.spark.jvm_process import logging_properties, pyspark_home
from tests.jars import jars_of
from tests.ports import free_ports
from tests.waiting import allowed

_PACKAGES = (
    ("org.apache.hadoop", "hadoop-client-minicluster", "3.5.0"),
    # The resource manager's, which the mini cluster lacks.
    ("org.bouncycastle", "bcpkix-jdk18on", "1.82"),
)
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ActiveProcessorCount=2")
_START_SECONDS = 120
_NONE: Mapping[str, str] = {}
_HDFS = "org.apache.hadoop.hdfs.server"
_YARN = "org.apache.hadoop.yarn.server"
_LOGGERS = ("slf4j-api", "log4j-slf4j2-impl", "log4j-api", "log4j-core", "log4j-1.2-api")
_WEB_APPS = ("cluster", "node", "yarn")
"""Folders that YARN's daemons look for on their class path, and that the jar lacks."""


class HadoopCluster:
    """Daemons whose settings are in `conf`, a HADOOP_CONF_DIR, and all of whose files are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = folder / "conf"
        self.processes: dict[str, psutil.Popen] = {}
        self._web: dict[str, int] = {}
        for name in _WEB_APPS:
            (self.conf / "webapps" / name).mkdir(parents=True)

    @property
    def hdfs(self) -> str:
        """URI of the name node."""
        return f"hdfs://127.0.0.1:{self._web['rpc']}"

    def start_hdfs(self, data_nodes: int = 3, replication: int = 2) -> None:
        """A data node that is killed is missed after some ten seconds."""
        rpc, web = free_ports(2)
        self._web |= {"rpc": rpc, "namenode": web}
        self.write("core-site", {"fs.defaultFS": self.hdfs, "hadoop.tmp.dir": str(self.folder / "tmp")})
        values = {
            "dfs.namenode.http-address": f"127.0.0.1:{web}",
            "dfs.namenode.name.dir": str(self.folder / "names"),
            "dfs.namenode.fs-limits.min-block-size": "4096",
            "dfs.namenode.heartbeat.recheck-interval": "1000",
            "dfs.heartbeat.interval": "1",
            "dfs.replication": str(replication),
            **{f"dfs.datanode.{name}address": "127.0.0.1:0" for name in ("", "http.", "ipc.")},
        }
        self.write("hdfs-site", values)
        done = subprocess.run(
            self.command(f"{_HDFS}.namenode.NameNode", "-format", "-nonInteractive"),
            env=self.environ(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=allowed(_START_SECONDS),
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        self.start("namenode", f"{_HDFS}.namenode.NameNode", {})
        for number in range(data_nodes):
            self.start_data_node(number)
        self.await_data_nodes(data_nodes)

    def start_data_node(self, number: int) -> None:
        place = {"dfs.datanode.data.dir": str(self.folder / f"blocks-{number}")}
        self.start(f"datanode-{number}", f"{_HDFS}.datanode.DataNode", place)

    def await_data_nodes(self, wanted: int) -> None:
        """Wait until the name node counts so many that live."""
        self._await("namenode", "NameNode,name=FSNamesystemState", "NumLiveDataNodes", wanted)

    def start_yarn(self, node_managers: int = 2, memory_mb: int = 2048) -> None:
        """Each node has room for containers of `memory_mb`; one that is killed is missed after a few seconds."""
        if not (self.conf / "core-site.xml").exists():
            self.write("core-site", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(self.folder / "tmp")})
        web, *ports = free_ports(5)
        self._web["resourcemanager"] = web
        names = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
        manager = "yarn.resourcemanager"
        values = {
            **{f"{manager}.{name}": f"127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)},
            f"{manager}.webapp.address": f"127.0.0.1:{web}",
            f"{manager}.scheduler.class": f"{_YARN}.resourcemanager.scheduler.fifo.FifoScheduler",
            f"{manager}.nodemanagers.heartbeat-interval-ms": "500",
            "yarn.nm.liveness-monitor.expiry-interval-ms": "5000",
            "yarn.scheduler.minimum-allocation-mb": "256",
            "yarn.nodemanager.resource.memory-mb": str(memory_mb),
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.enable": "false",
            **{f"yarn.nodemanager.{name}address": "127.0.0.1:0" for name in ("", "localizer.", "webapp.")},
        }
        self.write("yarn-site", values)
        self.start("resourcemanager", f"{_YARN}.resourcemanager.ResourceManager", {})
        for number in range(node_managers):
            folders = {
                f"yarn.nodemanager.{kind}-dirs": str(self.folder / f"{kind}-{number}") for kind in ("local", "log")
            }
            self.start(f"nodemanager-{number}", f"{_YARN}.nodemanager.NodeManager", folders)
        self._await("resourcemanager", "ResourceManager,name=ClusterMetrics", "NumActiveNMs", node_managers)

    def start(self, name: str, program: str, settings: Mapping[str, str]) -> None:
        with open(self.folder / f"{name}.log", "ab") as log:
            command = self.command(program, settings=settings)
            self.processes[name] = psutil.Popen(command, stdout=log, stderr=log, env=self.environ(), cwd=self.folder)

    def kill(self, name: str) -> None:
        """End a daemon as the loss of its host does: with the containers that it has started."""
        process = self.processes.pop(name)
        below: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            below = process.children(recursive=True)
        for one in (process, *below):
            with suppress(psutil.NoSuchProcess):
                one.kill()
        process.wait()

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-4000:]

    def write(self, name: str, values: Mapping[str, str]) -> None:
        rows = "".join(
            f"<property><name>{key}</name><value>{escape(value)}</value></property>\n" for key, value in values.items()
        )
        (self.conf / f"{name}.xml").write_text(f"<configuration>\n{rows}</configuration>\n")

    def command(self, program: str, *arguments: str, settings: Mapping[str, str] = _NONE) -> list[str]:
        """Command that runs a Java program of Hadoop's with the cluster's settings."""
        jars = [jar for package in _PACKAGES for jar in jars_of(*package)]
        # Hadoop's daemons say only in their log why they end, and the jars bring no logger.
        loggers = [path for kind in _LOGGERS for path in sorted((pyspark_home() / "jars").glob(f"{kind}-[0-9]*.jar"))]
        classes = ":".join(map(str, [self.conf, *loggers, *jars]))
        (self.conf / "log4j2.properties").write_text(logging_properties("warn"))
        given = [text for key, value in settings.items() for text in ("-D", f"{key}={value}")]
        return [find_java().executable, *_JVM, "-cp", classes, program, *given, *arguments]

    def environ(self) -> dict[str, str]:
        """Environment of the programs: Java, the settings, and nothing of Spark's or Python's."""
        home = Path(find_java().executable).resolve().parent.parent
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
        return {**kept, "JAVA_HOME": str(home), "HADOOP_CONF_DIR": str(self.conf)}

    def _await(self, daemon: str, bean: str, key: str, wanted: int) -> None:
        """Wait until a daemon counts the wanted number of other daemons."""
        deadline = time.monotonic() + allowed(_START_SECONDS)
        while self.figure(daemon, bean, key) != wanted:
            for name, process in self.processes.items():
                assert process.poll() is None, self.log(name)
            assert time.monotonic() < deadline, self.log(daemon)
            time.sleep(0.2)

    def figure(self, daemon: str, bean: str, key: str) -> Any:
        """Figure that a daemon tells by HTTP; None while it does not."""
        with suppress(OSError, LookupError):
            place = f"http://127.0.0.1:{self._web[daemon]}/jmx?qry=Hadoop:service={bean}"
            with _opener.open(place, timeout=5) as answer:
                return json.load(answer)["beans"][0][key]
        return None


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
