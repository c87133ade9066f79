"""Real Kafka broker on this machine: one node that is broker and controller, in a JVM of its own."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from sharkpy.base.java import find_java
from tests.jars import jars_of
from tests.ports import free_ports

VERSION = "4.3.1"
_CLUSTER = "c2hhcmtweS1zdHJlYW0gMQ"
"""Id of a cluster: 16 bytes in base64."""
_HEAP = "512m"
_JVM = (f"-Xmx{_HEAP}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ActiveProcessorCount=2")
_START_SECONDS = 120
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=100
log.initial.task.delay.ms=100
num.network.threads=2
num.io.threads=2
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1000
"""


class KafkaBroker:
    """Broker whose data stay in `folder` over its starts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port, self._controller = free_ports(2)
        self._settings = folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the broker, and wait until it answers."""
        if not self._settings.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            values = {"port": self.port, "controller": self._controller, "folder": self._folder}
            self._settings.write_text(_PROPERTIES.format(**values))
            format_ = self._command("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._settings))
            subprocess.run(format_, capture_output=True, check=True, timeout=_START_SECONDS)
        with open(self._folder / "log", "ab") as log:
            command = self._command("kafka.Kafka", str(self._settings))
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, start_new_session=True)
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            assert self._process.poll() is None, (self._folder / "log").read_text()[-4000:]
            with suppress(KafkaException):
                if admin.list_topics(timeout=1).brokers:
                    return
        raise AssertionError(f"the broker does not answer: {(self._folder / 'log').read_text()[-4000:]}")

    def kill(self) -> None:
        """End the broker as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart_later(self, seconds: float) -> threading.Timer:
        """Start the broker again in a thread, after some seconds."""
        timer = threading.Timer(seconds, self.start)
        timer.start()
        return timer

    def _command(self, *arguments: str) -> list[str]:
        quiet = "-Dorg.apache.logging.log4j.level=WARN"
        jars = ":".join(jars_of("org.apache.kafka", "kafka_2.13", VERSION))
        return [find_java().executable, *_JVM, quiet, "-cp", jars, *arguments]
