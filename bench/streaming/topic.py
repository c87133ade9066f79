"""Ad events as the records of a topic, of a broker that is started for them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.streaming.events import events
from bench.suites import CACHE
from tests.streaming.kafka_broker import KafkaBroker

RECORDS = int(os.environ.get("SHARKPY_RECORDS", "1000000"))
TOPIC = "events"
_PARTITIONS = 4


@contextlib.contextmanager
def topic_of_events(scale: float) -> Iterator[tuple[str, int]]:
    """Address of the broker, and the number of records in TOPIC."""
    rows = max(_PARTITIONS, int(RECORDS * scale))
    source = events("json", rows)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        broker = KafkaBroker(Path(folder))
        try:
            broker.start()
            _fill(broker.address, source)
            yield broker.address, rows
        finally:
            broker.kill()


def _fill(address: str, source: Path) -> None:
    """Write the lines of all files as records, to the partitions in turn."""
    settings = {"bootstrap.servers": address, "log_level": 0}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(TOPIC, _PARTITIONS, 1)])[TOPIC].result(30)
    producer = Producer({**settings, "linger.ms": 20, "queue.buffering.max.messages": 200_000})
    for path in sorted(source.glob("*.json")):
        for number, line in enumerate(path.read_bytes().splitlines()):
            while True:
                try:
                    producer.produce(TOPIC, line, partition=number % _PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(60) == 0, "the broker has not taken all records"
