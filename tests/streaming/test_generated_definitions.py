"""Random definitions over random streams: after each epoch a continuous table has what its query gives of all that has
come, by our own batch engine and by DuckDB.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import sharkpy
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.definitions import Definition, definition
from tests.streaming.folder_input import rows

NAMES = [("a", "ant"), ("b", "bee"), ("z", "zebra")]
_TYPES = [
    ("id", pa.int64()),
    ("k", pa.string()),
    ("v", pa.int32()),
    ("d", pa.decimal128(10, 2)),
    ("b", pa.bool_()),
    ("ts", pa.timestamp("us")),
]
_FEW = {"shark.stream.kept.epochs": 4, "shark.compaction.min.blocks": 3}
_EPOCHS = 12
"""Epochs of each definition."""
Row = dict[str, object]


class Events:
    """A random stream, in a folder and in DuckDB: out of order, with doubles, NULLs, bursts and files without rows."""

    def __init__(self, chance: random.Random, folder: Path) -> None:
        self.chance, self._folder = chance, folder
        self._front = datetime(2024, 5, 1, 10)
        self._rows = list[Row]()
        self._ids = itertools.count()
        self._num_files = 0
        self.duck = duckdb.connect(config={"threads": 1})
        self.duck.execute("CREATE TABLE events (id BIGINT, k VARCHAR, v INT, d DECIMAL(10,2), b BOOLEAN, ts TIMESTAMP)")
        self.duck.execute("CREATE TABLE names (k VARCHAR, name VARCHAR)")
        self.duck.executemany("INSERT INTO names VALUES (?, ?)", NAMES)
        folder.mkdir()

    def put(self) -> None:
        """Put a file."""
        chance = self.chance
        made = [self._row() for _ in range(chance.choice((0, 1, 5, 20, 20, 150)))]
        self._front += timedelta(seconds=chance.choice((0, 3, 15)))
        self._rows += made
        name = f"{self._num_files:05d}.json"
        self._num_files += 1
        text = "".join(f"{json.dumps(row, default=str)}\n" for row in made)
        (self._folder / f".{name}").write_text(text)
        (self._folder / f".{name}").rename(self._folder / name)
        given = pa.table({key: pa.array([row[key] for row in made], dtype) for key, dtype in _TYPES})
        self.duck.register("given", given)
        self.duck.execute("INSERT INTO events BY NAME SELECT * FROM given")
        self.duck.unregister("given")

    def _row(self) -> Row:
        chance = self.chance
        if self._rows and chance.random() < 0.05:
            return chance.choice(self._rows)
        return {
            "id": next(self._ids),
            "k": chance.choice(("a", "b", "c", None)),
            "v": chance.choice((None, *range(-5, 6))),
            "d": chance.choice((None, Decimal("1.25"), Decimal("-99999.99"), Decimal("7.00"))),
            "b": chance.choice((None, True, False)),
            "ts": chance.choice((None, *(self._front + timedelta(seconds=chance.randrange(-15, 4)) for _ in range(5)))),
        }


class Warehouse:
    """A warehouse, whose session may end and begin anew."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.context = sharkpy.connect("local[1]", place, **_FEW)

    def restart(self) -> None:
        self.context.stop()
        self.context = sharkpy.connect("local[1]", self._place, **_FEW)


def canonical(found: Sequence[Sequence[object]]) -> list[str]:
    return sorted(repr([_text(value) for value in row]) for row in found)


def _text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return str(value + 0.0) if isinstance(value, float) else str(value)


def check(warehouse: Warehouse, events: Events, given: Definition) -> list[str]:
    """The table's rows are those of the query over the whole stream, and of DuckDB."""
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
    columns = "id BIGINT, k STRING, v INT, d DECIMAL(10,2), b BOOLEAN, ts TIMESTAMP"
    sql(f"CREATE STREAM events ({columns}) STORED AS JSON FROM FOLDER '{folder}' {few}")
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


@pytest.mark.parametrize("part", range(2))
def test_each_epoch_gives_the_answer_over_all(tmp_path: Path, part: int) -> None:
    run_all(tmp_path, range(part * 6, part * 6 + 6), 72)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(19))
def test_many_definitions(tmp_path: Path, part: int) -> None:
    run_all(tmp_path, range(1000 + part * 60, 1000 + part * 60 + 60), 720)
