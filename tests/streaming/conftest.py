"""Fixtures of the tests of streams: a session, a folder of input, and a Kafka broker for tests that do not stop it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.streaming.kafka_broker import KafkaBroker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "in"


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()
