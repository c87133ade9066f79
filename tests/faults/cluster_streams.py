"""Continuous tables whose epochs are tasks, and what may befall these."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

import sharkpy
from tests.faults.cluster import KILLS, befalls, connect
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers
from tests.waiting import until

PER_FILE = 1_000
KINDS = {
    "plain": "STORED AS PARQUET",
    "cached": "TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "parts": "PARTITIONED BY (s) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
}
_LONGEST_ROUND = 10.0
"""Seconds for an event to happen: without tasks there are no workers."""


def continuous_tables(folder: Path, seed: int, wanted: int) -> None:
    """Let files arrive until `wanted` executors, daemons and workers were killed."""
    generator = random.Random(seed)
    with connect(folder) as context:
        tables = _Tables(context, folder, generator)
        happened: Counter[str] = Counter()
        for number in range(wanted * 3):
            event = list(KILLS)[number % len(KILLS)]
            with befalls(event, context, generator) as seen:
                tables.put()
                # If the files were read before the event, it does not happen.
                with suppress(AssertionError):
                    until(lambda seen=seen: seen, _LONGEST_ROUND)  # type: ignore[misc]
            happened += seen
            tables.check_prefix(f"seed {seed}, round {number}, {event}")
            if happened.total() >= wanted:
                break
        assert set(happened) == set(KILLS), happened
        tables.check_whole()
        print(dict(happened))


def lost_jvms(folder: Path, seed: int, kills: int) -> None:
    """Let files arrive while the JVM is killed."""
    generator = random.Random(seed)
    with connect(folder, "local[2]") as context:
        tables = _Tables(context, folder, generator)
        for number in range(kills):
            tables.put()
            time.sleep(generator.random())
            for child in psutil.Process().children():
                if "java" in child.name():
                    child.kill()
            tables.put()
            tables.check_prefix(f"seed {seed}, kill {number}")
            if generator.random() < 0.5:
                tables.check_whole()
        tables.check_whole()


class _Tables:
    """Continuous tables of each kind, over files that hold the numbers from 0 on."""

    def __init__(self, context: sharkpy.SharkContext, folder: Path, generator: random.Random) -> None:
        self._context, self._folder, self._generator = context, folder, generator
        self._files = 0
        self._seen = dict.fromkeys(KINDS, 0)
        make_stream(context, folder / "in", "('max.files.per.epoch' = '2')")
        self.put()
        for kind, clauses in KINDS.items():
            text = f"CREATE CONTINUOUS TABLE {kind} {clauses} AS SELECT n, concat('p', n % 3) AS s FROM numbers"
            context.sql(text)
        self.check_whole()
        assert context.engine.is_spark_started, "the epochs were no tasks"

    def put(self) -> None:
        """Let one to four files arrive."""
        for _ in range(1 + self._generator.randrange(4)):
            start = self._files * PER_FILE
            put_numbers(self._folder / "in", f"{self._files:05}", range(start, start + PER_FILE))
            self._files += 1

    def check_prefix(self, when: str) -> None:
        for kind in KINDS:
            found = numbers(self._context, kind)
            assert found == list(range(len(found))), f"{when}: {kind}"
            assert len(found) % PER_FILE == 0, f"{when}: {kind}"
            assert self._seen[kind] <= len(found) <= self._files * PER_FILE, f"{when}: {kind}"
            self._seen[kind] = len(found)

    def check_whole(self) -> None:
        for kind in KINDS:
            until_numbers(self._context, range(self._files * PER_FILE), kind)
