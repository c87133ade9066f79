"""The program in `examples` that needs a Kafka broker: it finds each of its events once, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient

import sharkpy
from tests.rows import rows
from tests.streaming.kafka_broker import KafkaBroker
from tests.streaming.kafka_topic import QUIET
from tests.waiting import allowed, until

PROGRAM = Path(__file__).parents[2] / "examples" / "kafka_events.py"
EVENTS = range(3000)


def expected() -> list[tuple[str, int, float]]:
    """Visits of each page, and their mean time."""
    times = {title: [n % 100 for n in EVENTS if n % 3 == page and n % 100 > 10] for page, title in enumerate(TITLES)}
    return [(title, len(found), float(round(sum(found) / len(found)))) for title, found in times.items()]


TITLES = ("home", "shop")


def topics(broker: KafkaBroker) -> set[str]:
    """Topics of the program."""
    found = AdminClient({"bootstrap.servers": broker.address, **QUIET}).list_topics(timeout=30).topics
    return {name for name in found if name.startswith("visits-")}


def test_it_finds_its_events(kafka: KafkaBroker, tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), kafka.address]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[1])},
        capture_output=True,
        text=True,
        timeout=allowed(120),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["1000 sent", "2000 sent", "3000 sent", "all"]
    assert lines[-1] == f"all: {expected()}"
    until(lambda: not topics(kafka))
    with sharkpy.connect("local[2]", tmp_path / "warehouse") as context:
        assert rows(context, "SHOW TABLES") == []


def test_it_is_short() -> None:
    assert len(PROGRAM.read_text().splitlines()) < 60
