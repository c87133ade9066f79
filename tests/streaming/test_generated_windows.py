"""Random windows over random streams: after each epoch a table has the windows that its watermark has closed, over the
rows in time, as DuckDB computes them. A stream of the table has brought each window once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.definitions import windowed
from tests.streaming.random_events import COLUMNS, Events, Watermark, canonical
from tests.streaming.test_generated_definitions import Warehouse, run_all

_EPOCHS = 14
"""Epochs of each definition."""


def each_epoch(
    warehouse: Warehouse, events: Events, mark: Watermark, given: tuple[str, str], *, is_appended: bool
) -> Iterator[list[str]]:
    """Return the rows of the table `t` after each epoch, as DuckDB computes them. The query is in HiveQL and for
    DuckDB. `is_appended`: emitted rows stay.
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
    watermark = f"WATERMARK FOR ts AS ts - INTERVAL {delay} SECONDS"
    sql = warehouse.context.sql
    sql(f"CREATE STREAM events ({COLUMNS}, {watermark}) STORED AS JSON FROM FOLDER '{folder}' {limit}")
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
def test_many_windows(tmp_path: Path) -> None:
    run_all(tmp_path, range(1000, 1020), 280, run)
