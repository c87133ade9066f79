"""Topics of a test's own, filled as programs do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

from tests.streaming.kafka_broker import KafkaBroker
from tests.waiting import PATIENCE, until

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
        # The broker learns of it from the controller.
        until(lambda: self._is_there(partitions))

    def _is_there(self, partitions: int) -> bool:
        found = self.admin.list_topics(self.name, timeout=PATIENCE).topics[self.name]
        is_led = all(one.error is None and one.leader >= 0 for one in found.partitions.values())
        if found.error is not None or len(found.partitions) != partitions or not is_led:
            return False
        with suppress(KafkaException):
            return len(self._ends(range(partitions))) == partitions
        return False

    def delete(self) -> None:
        self.admin.delete_topics([self.name])[self.name].result(PATIENCE)

    def grow(self, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(self.name, partitions)])[self.name].result(PATIENCE)
        until(lambda: self._is_there(partitions))
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

    def committed(self, *, has_open: bool = False) -> list[Message]:
        """All committed records, in the order of their partitions and offsets, as a consumer of transactions reads
        them. If the topic `has_open` transactions, their records and all later ones are left out. Else the method waits
        for the ends of transactions, which the broker writes after its answer.
        """
        partitions = range(len(self.admin.list_topics(self.name, timeout=PATIENCE).topics[self.name].partitions))
        if not has_open:
            until(lambda: self._ends(partitions, IsolationLevel.READ_COMMITTED) == self._ends(partitions))
        ends = self._ends(partitions, IsolationLevel.READ_COMMITTED)
        settings = {"bootstrap.servers": self.broker.address, "group.id": "test", "enable.partition.eof": True}
        settings |= {"isolation.level": "read_committed", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer, found = Consumer({**settings, **QUIET}), list[Message]()
        consumer.assign([TopicPartition(self.name, partition, 0) for partition in partitions])
        left = {partition for partition in partitions if ends[partition]}
        deadline = time.monotonic() + PATIENCE
        while left:
            assert time.monotonic() < deadline, f"{self.name} does not come to its end"
            for message in consumer.consume(10000, 0.1):
                if (error := message.error()) is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
                else:
                    raise AssertionError(error.str())
        consumer.close()
        return sorted(found, key=lambda one: (one.partition(), one.offset()))

    def _ends(
        self, partitions: Iterable[int], level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> dict[int, int]:
        places = {TopicPartition(self.name, partition): OffsetSpec.latest() for partition in partitions}
        answers = self.admin.list_offsets(places, isolation_level=level)
        return {place.partition: answer.result(PATIENCE).offset for place, answer in answers.items()}

    def sink(self, **options: str) -> str:
        """The clause TO KAFKA."""
        return self.source(**options).replace("FROM", "TO", 1)

    def source(self, **options: str) -> str:
        """The clause FROM KAFKA; `_` in names stands for a point."""
        given = {"bootstrap.servers": self.broker.address, "topic": self.name}
        given |= {name.replace("_", "."): value for name, value in options.items()}
        pairs = [f"'{name}' = '{value}'" for name, value in given.items()]
        return f"FROM KAFKA ({', '.join(pairs)})"
