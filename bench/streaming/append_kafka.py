"""A backlog of a topic into a continuous table: records a second, beside a bare consumer and Spark."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.pde import Figure
from bench.streaming.append import compared
from bench.streaming.events import events
from bench.streaming.kafka_engines import ENGINES
from bench.suites import CACHE
from tests.streaming.kafka_broker import KafkaBroker

RECORDS = int(os.environ.get("SHARKPY_RECORDS", "1000000"))
PARTITIONS = 4
_TOPIC = "events"
_WANTED = {"a bare consumer": 0.7, "Spark Structured Streaming": 2.0}
"""Least ratio of sharkpy's rate to that of each peer."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    rows = max(PARTITIONS, int(RECORDS * scale))
    source = events("json", rows)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        broker = KafkaBroker(Path(folder))
        try:
            broker.start()
            _fill(broker.address, source)
            return compared("kafka_engines", list(ENGINES), [broker.address, _TOPIC], rows, runs, _WANTED)
        finally:
            broker.kill()


def _fill(address: str, source: Path) -> None:
    """Write the lines of all files as records, to the partitions in turn."""
    settings = {"bootstrap.servers": address, "log_level": 0}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(_TOPIC, PARTITIONS, 1)])[_TOPIC].result(30)
    producer = Producer({**settings, "linger.ms": 20, "queue.buffering.max.messages": 200_000})
    for path in sorted(source.glob("*.json")):
        for number, line in enumerate(path.read_bytes().splitlines()):
            while True:
                try:
                    producer.produce(_TOPIC, line, partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(60) == 0, "the broker has not taken all records"
