"""The algebra of epochs over random streams, without files: after each epoch, and after folds, the state's answer
equals DuckDB's over all rows so far.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import duckdb
import pytest

from sharkpy.udf.connection import prepare_connection
from tests.streaming.definitions import definition, windowed
from tests.streaming.epochs_in_memory import EpochsInMemory
from tests.streaming.random_events import EventsInMemory, have_same
from tests.streaming.random_joins import join, outer_join
from tests.streaming.random_window_functions import definition as window_functions

_EPOCHS = 20
"""Epochs of each definition."""


@dataclass(frozen=True)
class Table:
    """Definition of a continuous table, in HiveQL and for DuckDB, whose text has the watermark if a stream has one."""

    hive: str
    duck: str
    clauses: str = ""
    delays: Mapping[str, int | None] = field(default_factory=lambda: {"events": None})
    """Seconds from the watermark of each stream to its latest row; None: the stream has no watermark."""
    counts_late: bool = False
    """Whether the state has the number of all rows that came too late."""


def _any_query(chance: random.Random) -> Table:
    given = definition(chance)
    return Table(given.hive, given.duck, "WITH UNBOUNDED STATE")


def _windows(chance: random.Random) -> Table:
    given = windowed(chance)
    return Table(given.hive, given.duck, "EMIT APPEND", {"events": chance.choice((0, 2, 8))})


def _join(chance: random.Random, *, is_outer: bool = False) -> Table:
    delays = {"events": chance.choice((0, 2, 8))}
    other = chance.choice(("events", "others"))
    delays.setdefault(other, chance.choice((0, 2, 8, 20)))
    ahead = delays["events"] - delays[other]
    return Table(*(outer_join if is_outer else join)(chance, other, ahead), delays=delays)


def _outer_join(chance: random.Random) -> Table:
    return _join(chance, is_outer=True)


def _window_functions(chance: random.Random) -> Table:
    hive, duck, grows = window_functions(chance)
    clauses = f"EMIT APPEND {'WITH UNBOUNDED STATE' if grows else ''}"
    return Table(hive, duck, clauses, {"events": chance.choice((0, 2, 8))}, counts_late=" WHERE " not in hive)


def run(duck: duckdb.DuckDBPyConnection, chance: random.Random, table: Table) -> None:
    """Compare the table's rows after each epoch, and perhaps a fold, with DuckDB's rows."""
    events = EventsInMemory(chance, duck, _EPOCHS, table.delays["events"] or 0)
    epochs = EpochsInMemory(duck, f"CREATE CONTINUOUS TABLE t {table.clauses} AS {table.hive}", table.delays)
    (expected,) = duck.extract_statements(table.duck)
    for number in range(1, _EPOCHS + 1):
        events.show(number)
        epochs.run(number)
        if chance.random() < 0.25:
            last = chance.randint(1, number)
            epochs.fold(chance.randint(1, last), last)
        assert have_same(epochs.rows(), duck.execute(expected).fetchall()), f"epoch {number} of {table.hive}"
    if table.counts_late:
        late = "SELECT count(*) FROM events WHERE ts < before"
        assert duck.execute("SELECT coalesce(sum(late), 0) FROM state").fetchall() == duck.execute(late).fetchall()


_SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("made", "seeds"),
    [
        (_any_query, range(25)),
        (_windows, range(10)),
        (_join, range(5)),
        (_outer_join, range(4)),
        (_window_functions, range(4)),
        *(pytest.param(_any_query, range(first, first + 100), marks=_SLOW) for first in range(1000, 1600, 100)),
        *(pytest.param(_windows, range(first, first + 100), marks=_SLOW) for first in range(1000, 1200, 100)),
        pytest.param(_join, range(1000, 1080), marks=_SLOW),
        pytest.param(_outer_join, range(1000, 1060), marks=_SLOW),
        pytest.param(_window_functions, range(1000, 1060), marks=_SLOW),
    ],
)
def test_the_state_gives_the_answer_over_all_rows(made: Callable[[random.Random], Table], seeds: range) -> None:
    with duckdb.connect(config={"threads": 1}) as duck:
        _calling = prepare_connection(duck)  # its functions work as long as it is there
        for seed in seeds:
            chance = random.Random(seed)
            run(duck, chance, made(chance))
