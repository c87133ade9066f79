"""Topics of a test's own, filled as programs do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.streaming.kafka_broker import KafkaBroker
from tests.waiting import PATIENCE

QUIET = {"log_level": 0}


class KafkaTopic:
    """Topic of a broker, made with its first test and never removed, unless `delete` is called."""

    def __init__(self, broker: KafkaBroker, name: str, partitions: int = 1, **settings: str) -> None:
        self.broker = broker
        self.name = name
        self.admin = AdminClient({"bootstrap.servers": broker.address, **QUIET})
        self._settings = {key.replace("_", "."): value for key, value in settings.items()}
        self.create(partitions)
        self._producer = self._new_producer()

    def create(self, partitions: int) -> None:
        topic = NewTopic(self.name, partitions, 1, config=self._settings)
        self.admin.create_topics([topic])[self.name].result(PATIENCE)

    def delete(self) -> None:
        self.admin.delete_topics([self.name])[self.name].result(PATIENCE)

    def grow(self, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(self.name, partitions)])[self.name].result(PATIENCE)
        # Another one would learn of the new partitions only after minutes.
        self._producer = self._new_producer()

    def _new_producer(self) -> Producer:
        settings = {"bootstrap.servers": self.broker.address, "linger.ms": 0, "enable.idempotence": True}
        return Producer({**settings, **QUIET})

    def delete_records(self, before: Mapping[int, int]) -> None:
        """Delete the first records of partitions, as retention does."""
        places = [TopicPartition(self.name, partition, offset) for partition, offset in before.items()]
        for answer in self.admin.delete_records(places).values():
            answer.result(PATIENCE)

    def put(self, values: Iterable[bytes | str | None], partition: int = 0, **more: Any) -> None:
        """Write records to a partition; they are there on return."""
        for value in values:
            self._producer.produce(self.name, value, partition=partition, **more)
            self._producer.poll(0)
        assert self._producer.flush(PATIENCE) == 0

    def put_numbers(self, numbers: Iterable[int], partition: int = 0) -> None:
        self.put([json.dumps({"n": number, "s": f"s{number}"}) for number in numbers], partition)

    def transaction(self, name: str) -> Producer:
        """A producer within a transaction that has begun."""
        producer = Producer({"bootstrap.servers": self.broker.address, "transactional.id": name, **QUIET})
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        return producer

    def source(self, **options: str) -> str:
        """The clause FROM KAFKA; `_` in names stands for a point."""
        given = {"bootstrap.servers": self.broker.address, "topic": self.name}
        given |= {name.replace("_", "."): value for name, value in options.items()}
        pairs = [f"'{name}' = '{value}'" for name, value in given.items()]
        return f"FROM KAFKA ({', '.join(pairs)})"
