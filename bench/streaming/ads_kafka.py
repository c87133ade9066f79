"""A backlog of a topic into counts of ads that are kept up to date: records a second, compared with a bare consumer."""

from __future__ import annotations

from bench.figure import Figure
from bench.streaming.append import compared
from bench.streaming.kafka_kept import BARE, ENGINES
from bench.streaming.topic import TOPIC, topic_of_events
from bench.streaming.workloads import WORKLOADS

_WANTED = {BARE: 0.7}
"""Least ratio of sharkpy's rate to each peer's rate."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    with topic_of_events(scale) as (address, rows):
        what = f"{WORKLOADS['ads'].title}, {rows:,} records of Kafka"
        return compared(what, "kafka_kept", list(ENGINES), [address, TOPIC, "ads"], rows, runs, _WANTED)
