"""Brokers and sessions that are killed while epochs of a topic run: no record is lost, and none comes twice."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from tests.faults.test_killed_epochs import runner
from tests.rows import rows
from tests.streaming.folder_input import numbers, state_of, until_numbers
from tests.streaming.kafka_broker import KafkaBroker
from tests.streaming.kafka_topic import KafkaTopic
from tests.waiting import until

NUMBERS = "CREATE STREAM s (n BIGINT) {}"
TABLE = "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT n FROM s"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    """A broker that the test may kill."""
    broker = KafkaBroker(tmp_path / "kafka")
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


@pytest.mark.slow
def test_the_broker_is_killed(tmp_path: Path, broker: KafkaBroker) -> None:
    """Epochs wait for it, and go on by themselves."""
    topic = KafkaTopic(broker, "numbers", 2)
    is_over = threading.Event()
    sent = [0]

    def send() -> None:
        while not is_over.is_set():
            first, sent[0] = sent[0], sent[0] + 20
            topic.put_numbers(range(first, first + 20), first // 20 % 2)

    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql(NUMBERS.format(topic.source(max_rows_per_epoch="50")))
        context.sql(TABLE)
        sender = threading.Thread(target=send)
        sender.start()
        try:
            for _ in range(2):
                seen = len(numbers(context))
                until(lambda seen=seen: len(numbers(context)) > seen + 200)  # type: ignore[misc]
                broker.kill()
                until(lambda: "Kafka at" in str(state_of(context)[1]))
                assert state_of(context)[0] == "RUNNING"
                broker.start()
        finally:
            is_over.set()
            sender.join()
        until_numbers(context, range(sent[0]))
        # A topic may have a record twice that its producer sent twice; this one's producer does not.
        assert numbers(context, "s") == list(range(sent[0]))
        until(lambda: state_of(context) == ("RUNNING", None))


@pytest.mark.parametrize("kills", [pytest.param(3, id="some"), pytest.param(30, id="many", marks=pytest.mark.slow)])
def test_the_session_is_killed_at_any_moment(tmp_path: Path, kafka: KafkaBroker, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    topic = KafkaTopic(kafka, f"killed{kills}", 3)
    put = 0
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql(NUMBERS.format(topic.source(max_rows_per_epoch="40")))
        context.sql("CREATE CONTINUOUS TABLE t TRIGGER EVERY 5 MILLISECONDS AS SELECT n, __partition AS p FROM s")
    with sharkpy.connect("local[2]", tmp_path / "w") as reader:
        for _ in range(kills):
            with runner(tmp_path) as process:
                for _ in range(chance.randrange(1, 5)):
                    topic.put_numbers(range(put, put + 25), chance.randrange(3))
                    put += 25
                    time.sleep(chance.random() * 0.1)
                time.sleep(chance.random() * 0.4)
                process.kill()
            found = numbers(reader)
            assert len(set(found)) == len(found)
            # Of each partition the table has the first records, without a gap.
            for partition, count in rows(reader, "SELECT p, count(*) FROM t GROUP BY p"):
                there = rows(reader, f"SELECT n FROM s WHERE __partition = {partition} AND __offset < {count}")
                assert sorted(rows(reader, f"SELECT n FROM t WHERE p = {partition}")) == sorted(there)
        reader.streams.start()
        until_numbers(reader, range(put))
