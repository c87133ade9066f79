"""What the tests of streams share: one Kafka broker for those that do not end it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.streaming.kafka_broker import KafkaBroker


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()
