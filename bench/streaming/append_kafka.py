"""A backlog of a topic into a continuous table: records a second, compared with a bare consumer and Spark."""

from __future__ import annotations

from bench.figure import Figure
from bench.streaming.append import compared
from bench.streaming.kafka_engines import ENGINES
from bench.streaming.topic import TOPIC, topic_of_events

_WANTED = {"a bare consumer": 0.7, "Spark Structured Streaming": 2.0}
"""Least ratio of sharkpy's rate to each peer's rate."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    with topic_of_events(scale) as (address, rows):
        what = f"append, {rows:,} records of Kafka"
        return compared(what, "kafka_engines", list(ENGINES), [address, TOPIC], rows, runs, _WANTED)
