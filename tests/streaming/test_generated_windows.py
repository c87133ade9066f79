"""Random windows over random streams: after each epoch a table has those that its watermark has closed, of rows that
came in time, by DuckDB; and a stream of them has brought each once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.definitions import windowed
from tests.streaming.folder_input import rows
from tests.streaming.test_generated_definitions import Events, Warehouse, canonical, run_all

_EPOCHS = 14
"""Epochs of each definition."""


class Watermark:
    """Tells DuckDB the epoch of each row and the watermark that it has come behind, and the watermark of now."""

    def __init__(self, events: Events, delay: int) -> None:
        self._duck, self._delay = events.duck, timedelta(seconds=delay)
        self._known = self._epoch = 0
        self._duck.execute("ALTER TABLE events ADD COLUMN before TIMESTAMP")
        self._duck.execute("ALTER TABLE events ADD COLUMN epoch INT")
        self._duck.execute("CREATE TABLE mark AS SELECT CAST(NULL AS TIMESTAMP) AS w")

    def end_epoch(self) -> None:
        """The rows that have come since the last call are those of an epoch."""
        execute = self._duck.execute
        self._epoch += 1
        text = "UPDATE events SET before = (SELECT w FROM mark), epoch = ? WHERE rowid >= ?"
        execute(text, [self._epoch, self._known])
        self._known, latest = execute("SELECT count(*), max(ts) FROM events").fetchall()[0]
        execute("UPDATE mark SET w = ?", [None if latest is None else latest - self._delay])


def each_epoch(
    warehouse: Warehouse, events: Events, mark: Watermark, given: tuple[str, str], *, is_appended: bool
) -> Iterator[list[str]]:
    """Rows of the table `t` after each epoch: those of its query, in HiveQL and for DuckDB, by DuckDB. `is_appended`:
    those that were given stay.
    """
    chance, (hive, duck), before = events.chance, given, list[str]()
    for _ in range(_EPOCHS):
        for _ in range(chance.choice((1, 1, 3))):
            events.put()
        mark.end_epoch()
        if chance.random() < 0.05:
            warehouse.restart()
        warehouse.context.sql("RESUME CONTINUOUS TABLE t")
        found = canonical(rows(warehouse.context, "SELECT * FROM t"))
        assert found == canonical(events.duck.execute(duck).fetchall()), hive
        assert not is_appended or not Counter(before) - Counter(found), "rows that were given stay"
        before = found
        yield found


def run(warehouse: Warehouse, folder: Path, seed: int) -> int:
    """Number of epochs of a random definition."""
    chance = random.Random(seed)
    given, events, delay = windowed(chance), Events(chance, folder), chance.choice((0, 2, 8))
    mark = Watermark(events, delay)
    is_file_by_file = chance.random() < 0.5
    limit = "('max.files.per.epoch' = '1')" if is_file_by_file else ""
    columns = "id BIGINT, k STRING, v INT, d DECIMAL(10,2), b BOOLEAN, ts TIMESTAMP"
    watermark = f"WATERMARK FOR ts AS ts - INTERVAL {delay} SECONDS"
    sql = warehouse.context.sql
    sql(f"CREATE STREAM events ({columns}, {watermark}) STORED AS JSON FROM FOLDER '{folder}' {limit}")
    sql(f"CREATE CONTINUOUS TABLE t {chance.choice(('', MEMORY))} {NOW} EMIT APPEND AS {given.hive}")
    sql("CREATE STREAM closed FROM TABLE t WITH HISTORY")
    sql(f"CREATE CONTINUOUS TABLE u {chance.choice(('', MEMORY))} {NOW} AS SELECT * FROM closed")
    num_epochs = 0
    while num_epochs < _EPOCHS:
        for _ in range(chance.choice((1, 1, 1, 3))):
            events.put()
            if is_file_by_file:
                mark.end_epoch()
        if not is_file_by_file:
            mark.end_epoch()
        if chance.random() < 0.03:
            warehouse.restart()
        warehouse.context.sql("RESUME CONTINUOUS TABLE t")
        num_epochs = warehouse.context.stream("t").status().epoch
        found = canonical(rows(warehouse.context, "SELECT * FROM t"))
        assert found == canonical(events.duck.execute(given.duck).fetchall()), given.hive
        if chance.random() < 0.5:
            warehouse.context.sql("RESUME CONTINUOUS TABLE u")
            assert canonical(rows(warehouse.context, "SELECT * FROM u")) == found, given.hive
    for one in ("CONTINUOUS TABLE u", "STREAM closed", "CONTINUOUS TABLE t", "STREAM events"):
        warehouse.context.sql(f"DROP {one}")
    events.duck.close()
    return num_epochs


def test_each_window_is_given_once(tmp_path: Path) -> None:
    run_all(tmp_path, range(4), 56, run)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_many_windows(tmp_path: Path, part: int) -> None:
    run_all(tmp_path, range(1000 + part * 40, 1000 + part * 40 + 40), 560, run)
