"""Processes and brokers killed while a query writes into a topic: a consumer of transactions has each row once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError
from sharkpy.sources.kafka.producer import CommitMark, MarkedProducer
from sharkpy.streaming import kill_points
from tests.faults.test_killed_epochs import PER_FILE, put_file, runner
from tests.faults.test_killed_windows import BEGIN, SECONDS
from tests.rows import rows
from tests.streaming.folder_input import make_stream, put, state_of
from tests.streaming.kafka_broker import KafkaBroker
from tests.streaming.kafka_topic import KafkaTopic
from tests.waiting import until

_AWAY_SECONDS = 3.0
"""Time for which a broker is away: clients have noticed it, and try to connect again."""
_COMMIT_SECONDS = 60.0
STEPS = (kill_points.BEGUN, *kill_points.SINK_POINTS, *kill_points.POINTS[1:])
ZOMBIE = """
import sys, sharkpy, time
from pathlib import Path
from sharkpy.streaming import kill_points
warehouse, signs = sys.argv[1], Path(sys.argv[2])

def wait(done):
    if done == kill_points.FLUSHED and not (signs / "waiting").exists():
        (signs / "waiting").touch()
        while not (signs / "go").exists():
            time.sleep(0.01)

with sharkpy.connect("local[2]", warehouse) as context:
    kill_points.observer = wait
    context.streams.start()
    time.sleep(600)
"""


def make(root: Path, broker: KafkaBroker, options: str = "('max.files.per.epoch' = '2')") -> KafkaTopic:
    topic = KafkaTopic(broker, f"killed.{uuid.uuid4().hex[:8]}", 2)
    with sharkpy.connect("local[2]", root / "w") as context:
        make_stream(context, root / "in", options)
        (root / "in").mkdir()
        sink = f"CREATE CONTINUOUS SINK s {topic.sink()} TRIGGER EVERY 1 MILLISECONDS"
        context.sql(f"{sink} AS SELECT n, CAST(n AS STRING) AS __key FROM numbers")
    return topic


def numbers_in(topic: KafkaTopic, *, has_open: bool = True) -> list[int]:
    return sorted(json.loads(one.value() or b"")["n"] for one in topic.committed(has_open=has_open))


def check_prefix(topic: KafkaTopic) -> int:
    """The topic has the rows of the first files, each once; returns how many files."""
    found = numbers_in(topic)
    assert found == list(range(len(found)))
    assert len(found) % PER_FILE == 0
    return len(found) // PER_FILE


def until_files(topic: KafkaTopic, count: int) -> None:
    """Wait until the topic has the rows of so many files, and not one more or twice."""
    until(lambda: len(numbers_in(topic)) >= count * PER_FILE)
    assert numbers_in(topic, has_open=False) == list(range(count * PER_FILE))


@pytest.mark.variants(3)
@pytest.mark.parametrize("step", STEPS)
def test_killed_between_two_steps(tmp_path: Path, kafka: KafkaBroker, step: str) -> None:
    topic = make(tmp_path, kafka)
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    sent = 2 if step in (kill_points.BEGUN, kill_points.FLUSHED) else 3
    until(lambda: len(numbers_in(topic)) >= sent * PER_FILE)
    assert numbers_in(topic) == list(range(sent * PER_FILE))
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        epochs = 2 if STEPS.index(step) >= STEPS.index(kill_points.COMMITTED) else 1
        assert rows(context, "SHOW CONTINUOUS TABLES")[0][4] == epochs
        put_file(tmp_path, 3)
        context.streams.start()
        until_files(topic, 4)
        until(lambda: state_of(context, "s") == ("RUNNING", None))
        logged = rows(context, "SHOW EPOCHS s")
        assert [row[0] for row in reversed(logged)] == list(range(1, len(logged) + 1))


@pytest.mark.variants
@pytest.mark.parametrize("step", [*kill_points.SINK_POINTS, kill_points.STAGED, kill_points.COMMITTED])
def test_killed_with_state(tmp_path: Path, kafka: KafkaBroker, step: str) -> None:
    """An epoch's rows of the state are committed though the topic already has its rows: no window lacks a row."""
    topic = KafkaTopic(kafka, f"killed.{uuid.uuid4().hex[:8]}", 2)
    (tmp_path / "in").mkdir()
    columns = "n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    # Two files make a window; one that lacks rows of one of them gives numbers that are not there.
    query = f"SELECT n + 1000000 * (count(*) - 2) AS n FROM events GROUP BY n, window(ts, '{2 * SECONDS} seconds')"
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        options = "('max.files.per.epoch' = '1')"
        context.sql(f"CREATE STREAM events ({columns}) STORED AS JSON FROM FOLDER '{tmp_path}/in' {options}")
        context.sql(f"CREATE CONTINUOUS SINK s {topic.sink()} TRIGGER EVERY 1 MILLISECONDS AS {query}")

    def put_half(number: int) -> None:
        time = str(BEGIN + timedelta(seconds=number * SECONDS))
        first = number // 2 * PER_FILE
        put(tmp_path / "in", f"{number:05}", [{"n": first + one, "ts": time} for one in range(PER_FILE)])

    for number in range(7):
        put_half(number)
    # Epochs without rows are none for the broker: the third is the first that closes a window.
    times = 1 if step in kill_points.SINK_POINTS else 3
    with runner(tmp_path, step, times) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until_files(topic, 3)
        for number in range(7, 11):
            put_half(number)
        until_files(topic, 5)
        until(lambda: state_of(context, "s") == ("RUNNING", None))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kills",
    [pytest.param(4, id="some"), pytest.param(50, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(tmp_path: Path, kafka: KafkaBroker, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    topic, put = make(tmp_path, kafka), 0
    for _ in range(kills):
        with runner(tmp_path) as process:
            for _ in range(chance.randrange(4)):
                put_file(tmp_path, put)
                put += 1
                time.sleep(chance.random() * 0.1)
            time.sleep(chance.random() * 0.6)
            process.kill()
            process.wait()
        assert check_prefix(topic) <= put
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        until_files(topic, put)


@pytest.mark.slow
def test_another_process_comes_in_its_place(tmp_path: Path, kafka: KafkaBroker) -> None:
    """A process that slept while another one wrote its epoch cannot write it too, and goes on after it."""
    topic, signs = make(tmp_path, kafka), tmp_path / "signs"
    signs.mkdir()
    put_file(tmp_path, 0)
    with subprocess.Popen([sys.executable, "-c", ZOMBIE, str(tmp_path / "w"), str(signs)]) as zombie:
        try:
            until((signs / "waiting").exists)
            with sharkpy.connect("local[2]", tmp_path / "w") as context:
                query = context.catalog.table("default", "s").continuous
                put_file(tmp_path, 1)
                context.streams.run_now(query)
                until_files(topic, 2)
                context.sql("RESUME CONTINUOUS SINK s")
                (signs / "go").touch()
                put_file(tmp_path, 2)
                until_files(topic, 3)
                until(lambda: state_of(context, "s") == ("RUNNING", None))
                assert numbers_in(topic, has_open=False) == list(range(3 * PER_FILE))
        finally:
            zombie.kill()


def test_an_epoch_of_another_process_has_its_own_ranges(tmp_path: Path, kafka: KafkaBroker) -> None:
    """The process that finds the epoch at the broker would now read more. It reads the rest in the next epoch."""
    topic = make(tmp_path, kafka)
    put_file(tmp_path, 0)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        query = context.catalog.table("default", "s").continuous
        context.streams.run_now(query)
        context.sql("RESUME CONTINUOUS SINK s")
        context.streams.stop()
        put_file(tmp_path, 1)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        known = context.streams._queries.get(query).runner
        found = context.catalog.streams.find(query)
        assert found is not None
        assert known._restored(found) is None
        with runner(tmp_path, kill_points.SENT, 1) as process:
            assert process.wait(120) == -signal.SIGKILL
        put_file(tmp_path, 2)
        context.streams.run_now(query)
        assert numbers_in(topic, has_open=False) == list(range(3 * PER_FILE))
        assert rows(context, "SHOW EPOCHS s")[0][:2] == (3, "WRITTEN")


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
@pytest.mark.parametrize("step", [kill_points.BEGUN, kill_points.FLUSHED])
def test_the_broker_is_killed(tmp_path: Path, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Epochs wait for it, and go on by themselves."""
    topic = make(tmp_path, broker)
    is_over, is_wanted, put = threading.Event(), threading.Event(), [0]

    def send() -> None:
        while not is_over.is_set():
            put_file(tmp_path, put[0])
            put[0] += 1
            time.sleep(0.05)

    def kill(done: str) -> None:
        # Not right after a commit, which it could lose: see `MarkedProducer._unended`.
        if done == step and is_wanted.is_set():
            is_wanted.clear()
            broker.kill()

    monkeypatch.setattr(kill_points, "observer", kill)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        sender = threading.Thread(target=send)
        sender.start()
        try:
            seen = len(numbers_in(topic))
            until(lambda: len(numbers_in(topic)) > seen + 50)
            is_wanted.set()
            until(lambda: "Kafka at" in str(state_of(context, "s")[1]))
            assert state_of(context, "s")[0] == "RUNNING"
            broker.start()
        finally:
            is_over.set()
            sender.join()
        until_files(topic, put[0])
        until(lambda: state_of(context, "s") == ("RUNNING", None))


def test_the_broker_restarts_between_two_epochs(tmp_path: Path, broker: KafkaBroker) -> None:
    """The client then goes on with a broker from which it has disconnected."""
    topic = make(tmp_path, broker)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.streams.start()
        put_file(tmp_path, 0)
        until_files(topic, 1)
        until(lambda: context.sql("SHOW EPOCHS s").fetchall() != [])
        broker.kill()
        time.sleep(_AWAY_SECONDS)
        broker.start()
        put_file(tmp_path, 1)
        # A commit that hangs is given up later than that.
        until(lambda: len(numbers_in(topic)) == 2 * PER_FILE, _COMMIT_SECONDS / 2)
        until_files(topic, 2)


@pytest.mark.slow
def test_the_broker_restarts_in_a_transaction(tmp_path: Path, broker: KafkaBroker) -> None:
    """A commit ends, whatever the client does, and another producer learns whether it counts."""
    topic = KafkaTopic(broker, "numbers")
    options = (("bootstrap.servers", broker.address), ("topic", topic.name))
    producer = MarkedProducer(options, "one")
    assert producer.take_over() is None
    producer.begin()
    producer.commit(CommitMark(1, "a"))
    # A broker that is killed before may lose it: see `MarkedProducer._unended`.
    assert producer._last_mark() == CommitMark(1, "a")
    broker.kill()
    time.sleep(_AWAY_SECONDS)
    broker.start()
    producer.begin()
    began = time.monotonic()
    with suppress(ExecutionError):
        producer.flush()
        producer.commit(CommitMark(2, "b"))
    assert time.monotonic() - began < _COMMIT_SECONDS
    assert producer.was_cut_off()
    other = MarkedProducer(options, "one")
    assert other.take_over() in (CommitMark(1, "a"), CommitMark(2, "b"))
    other.begin()
    other.commit(CommitMark(3, "c"))
    assert MarkedProducer(options, "one").take_over() == CommitMark(3, "c")
