"""Continuous tables whose epochs are tasks of two executors, and what may befall these."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

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
    """Let files arrive until `wanted` events have happened: tables have a prefix of their rows, in the end all."""
    generator = random.Random(seed)
    with connect(folder) as context:
        make_stream(context, folder / "in", "('max.files.per.epoch' = '2')")
        _put(folder, 0)
        for kind, clauses in KINDS.items():
            text = f"CREATE CONTINUOUS TABLE {kind} {clauses} AS SELECT n, concat('p', n % 3) AS s FROM numbers"
            context.sql(text)
        for kind in KINDS:
            until_numbers(context, range(PER_FILE), kind)
        assert context.engine.is_spark_started, "the epochs were no tasks"
        put = 1
        before = dict.fromkeys(KINDS, PER_FILE)
        happened: Counter[str] = Counter()
        for number in range(wanted * 3):
            event = list(KILLS)[number % len(KILLS)]
            with befalls(event, context, generator) as seen:
                for _ in range(1 + generator.randrange(4)):
                    _put(folder, put)
                    put += 1
                # Where the files were read before it, it does not happen.
                with suppress(AssertionError):
                    until(lambda seen=seen: seen, _LONGEST_ROUND)  # type: ignore[misc]
            happened += seen
            for kind in KINDS:
                found = numbers(context, kind)
                assert found == list(range(len(found))), f"seed {seed}, round {number}: {kind} after {event}"
                assert len(found) % PER_FILE == 0
                assert before[kind] <= len(found) <= put * PER_FILE
                before[kind] = len(found)
            if happened.total() >= wanted:
                break
        assert set(happened) == set(KILLS), happened
        for kind in KINDS:
            until_numbers(context, range(put * PER_FILE), kind)
        print(dict(happened))


def _put(folder: Path, number: int) -> None:
    put_numbers(folder / "in", f"{number:05}", range(number * PER_FILE, (number + 1) * PER_FILE))
