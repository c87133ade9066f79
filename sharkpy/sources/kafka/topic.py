"""Partitions and offsets of a topic, from the brokers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sharkpy.base.errors import SharkError
from sharkpy.catalog.kafka_options import TOPIC, Options
from sharkpy.sources.kafka.client import admin_client, broker_error

_ANSWER_SECONDS = 5.0


class Topic:
    """Topic in a stream's options. Its methods raise the errors of `broker_error`."""

    def __init__(self, options: Options) -> None:
        from confluent_kafka import IsolationLevel

        self._options = tuple(options)
        self._name = dict(self._options)[TOPIC]
        self._admin = admin_client(self._options)
        level = dict(self._options).get("kafka.isolation.level", "read_committed")
        self._isolation = IsolationLevel[level.upper()]

    def num_partitions(self) -> int:
        from confluent_kafka import KafkaException

        try:
            found = self._admin.list_topics(self._name, timeout=_ANSWER_SECONDS).topics[self._name]
        except KafkaException as error:
            raise self._failure(error.args[0]) from None
        if found.error is not None:
            raise self._failure(found.error)
        return len(found.partitions)

    def firsts(self, partitions: Iterable[int]) -> dict[int, int]:
        """Offset of the earliest record of each partition that is still available."""
        return self._offsets(dict.fromkeys(partitions, _specs().earliest()))

    def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Offset after the last readable record of each partition."""
        return self._offsets(dict.fromkeys(partitions, _specs().latest()))

    def since(self, partitions: Iterable[int], milliseconds: int) -> dict[int, int]:
        """Offset of the first record of each partition that is not older than a time; the partition's end if there is
        none.
        """
        partitions = list(partitions)
        ends = self.ends(partitions)
        found = self._offsets(dict.fromkeys(partitions, _specs().for_timestamp(milliseconds)))
        return {one: ends[one] if offset < 0 else offset for one, offset in found.items()}

    def _offsets(self, wanted: dict[int, Any]) -> dict[int, int]:
        from confluent_kafka import KafkaException, TopicPartition

        if not wanted:
            return {}
        places = {TopicPartition(self._name, partition): spec for partition, spec in wanted.items()}
        # Connection errors and log messages wait in the client until they are polled.
        self._admin.poll(0)
        try:
            answers = self._admin.list_offsets(places, isolation_level=self._isolation, request_timeout=_ANSWER_SECONDS)
            return {place.partition: answer.result().offset for place, answer in answers.items()}
        except KafkaException as error:
            raise self._failure(error.args[0]) from None

    def _failure(self, error: Any) -> SharkError:
        return broker_error(error, self._options, self._name)


def _specs() -> Any:
    """Class of the positions that a client may request; the client's type stubs lack it."""
    from confluent_kafka import admin

    return vars(admin)["OffsetSpec"]
