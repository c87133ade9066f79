"""Random definitions over random streams: after each epoch a continuous table has what its query gives of all that has
come, by our own batch engine and by DuckDB.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import sharkpy
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.definitions import Definition, definition
from tests.streaming.random_events import COLUMNS, NAMES, Events, canonical

_FEW = {"shark.stream.kept.epochs": 4, "shark.compaction.min.blocks": 3}
_EPOCHS = 12
"""Epochs of each definition."""


class Warehouse:
    """A warehouse, whose session may end and start again."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.context = sharkpy.connect("local[1]", place, **_FEW)

    def restart(self) -> None:
        self.context.stop()
        self.context = sharkpy.connect("local[1]", self._place, **_FEW)


def check(warehouse: Warehouse, events: Events, given: Definition) -> list[str]:
    """Check that the table's rows equal the answers of the query over the whole stream, and of DuckDB."""
    found = canonical(rows(warehouse.context, "SELECT * FROM t"))
    assert found == canonical(rows(warehouse.context, given.hive)), given.hive
    assert found == canonical(events.duck.execute(given.duck).fetchall()), given.duck
    return found


def run(warehouse: Warehouse, folder: Path, seed: int) -> int:
    """Number of epochs of a random definition."""
    chance = random.Random(seed)
    given, events = definition(chance), Events(chance, folder)
    sql = warehouse.context.sql
    few = chance.choice(("", "('max.files.per.epoch' = '1')"))
    sql(f"CREATE STREAM events ({COLUMNS}) STORED AS JSON FROM FOLDER '{folder}' {few}")
    sql(f"CREATE CONTINUOUS TABLE t {chance.choice(('', MEMORY))} {NOW} WITH UNBOUNDED STATE AS {given.hive}")
    answers = {0: check(warehouse, events, given)}
    while (epoch := max(answers)) < _EPOCHS:
        for _ in range(chance.choice((1, 1, 1, 3))):
            events.put()
        if chance.random() < 0.02:
            warehouse.restart()
        warehouse.context.sql("RESUME CONTINUOUS TABLE t")
        epoch = warehouse.context.stream("t").status().epoch
        answers[epoch] = check(warehouse, events, given)
        kept = [one for one in answers if one and epoch - 3 <= one < epoch]
        if kept and chance.random() < 0.15:
            back = chance.choice(kept)
            warehouse.context.sql(f"ROLLBACK CONTINUOUS TABLE t TO EPOCH {back}")
            assert canonical(rows(warehouse.context, "SELECT * FROM t")) == answers[back], given.hive
            warehouse.context.sql("RESUME CONTINUOUS TABLE t")
            answers = {back: answers[back]}
            answers[warehouse.context.stream("t").status().epoch] = check(warehouse, events, given)
        elif chance.random() < 0.03:
            warehouse.context.sql("REFRESH CONTINUOUS TABLE t")
            answers = {warehouse.context.stream("t").status().epoch: check(warehouse, events, given)}
    warehouse.context.sql("DROP CONTINUOUS TABLE t")
    warehouse.context.sql("DROP STREAM events")
    events.duck.close()
    return max(answers)


def run_all(place: Path, seeds: range, num_epochs: int, run_one: Callable[[Warehouse, Path, int], int] = run) -> None:
    """Run definitions by their seeds, which have to come to so many epochs."""
    warehouse = Warehouse(place / "w")
    try:
        warehouse.context.sql("CREATE TABLE names (k STRING, name STRING)")
        warehouse.context.sql(f"INSERT INTO names VALUES {', '.join(map(str, NAMES))}")
        assert sum(run_one(warehouse, place / f"in{seed}", seed) for seed in seeds) >= num_epochs
    finally:
        warehouse.context.stop()


def test_each_epoch_gives_the_answer_over_all(tmp_path: Path) -> None:
    run_all(tmp_path, range(6), 72)


@pytest.mark.slow
def test_many_definitions(tmp_path: Path) -> None:
    run_all(tmp_path, range(1000, 1055), 660)
