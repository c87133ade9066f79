"""Random streams, in DuckDB and in folders, and what tests compare of them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa

COLUMNS = "id BIGINT, k STRING, v INT, d DECIMAL(10,2), b BOOLEAN, ts TIMESTAMP"
"""Of the stream, in HiveQL."""
_DUCK_COLUMNS = COLUMNS.replace("STRING", "VARCHAR")
NAMES = [("a", "ant"), ("b", "bee"), ("z", "zebra")]
_TYPES = [
    ("id", pa.int64()),
    ("k", pa.string()),
    ("v", pa.int32()),
    ("d", pa.decimal128(10, 2)),
    ("b", pa.bool_()),
    ("ts", pa.timestamp("us")),
    ("before", pa.timestamp("us")),
    ("epoch", pa.int32()),
]
Row = dict[str, object]


class Bursts:
    """A random stream, burst by burst: out of order, with doubles and NULLs."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._front = datetime(2024, 5, 1, 10)
        self._rows = list[Row]()
        self._ids = itertools.count()

    def next_rows(self) -> list[Row]:
        """Rows of a burst, or none."""
        chance = self.chance
        made = [self._row() for _ in range(chance.choice((0, 1, 5, 20, 20, 150)))]
        self._front += timedelta(seconds=chance.choice((0, 3, 15)))
        self._rows += made
        return made

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


class Events:
    """A random stream, in a folder and in DuckDB, with the table `names`; some files have no rows."""

    def __init__(self, chance: random.Random, folder: Path) -> None:
        self.chance, self._folder = chance, folder
        self._bursts, self._num_files = Bursts(chance), 0
        self.duck = duckdb.connect(config={"threads": 1})
        self.duck.execute(f"CREATE TABLE events ({_DUCK_COLUMNS})")
        add_names(self.duck)
        folder.mkdir()

    def put(self) -> None:
        """Put a file."""
        made = self._bursts.next_rows()
        name = f"{self._num_files:05d}.json"
        self._num_files += 1
        text = "".join(f"{json.dumps(row, default=str)}\n" for row in made)
        (self._folder / f".{name}").write_text(text)
        (self._folder / f".{name}").rename(self._folder / name)
        insert(self.duck, "events", made)


class EventsInMemory:
    """Random epochs of a stream, in DuckDB, and the table `names`.

    Once epochs are shown, `events` has all rows up to the last one of them, with the number of their epoch and the
    watermark `before` it; `fresh` has the rows of the last one, and `mark` the watermark after it.
    """

    def __init__(self, chance: random.Random, duck: duckdb.DuckDBPyConnection, num_epochs: int, delay: int) -> None:
        """The watermark is `delay` seconds before the latest row."""
        self._duck = duck
        bursts, rows, marks = Bursts(chance), list[Row](), list[datetime | None]([None])
        for epoch in range(1, num_epochs + 1):
            of_epoch = [row for _ in range(chance.choice((1, 1, 1, 3))) for row in bursts.next_rows()]
            rows += [{**row, "before": marks[-1], "epoch": epoch} for row in of_epoch]
            times = [time - timedelta(seconds=delay) for row in of_epoch if isinstance(time := row["ts"], datetime)]
            marks.append(max((*times, *(mark for mark in marks[-1:] if mark is not None)), default=None))
        duck.execute(f"CREATE OR REPLACE TABLE stream ({_DUCK_COLUMNS}, before TIMESTAMP, epoch INT)")
        duck.execute("CREATE OR REPLACE TABLE marks (w TIMESTAMP, epoch INT)")
        duck.executemany("INSERT INTO marks VALUES (?, ?)", [(mark, epoch) for epoch, mark in enumerate(marks)])
        duck.execute(
            "CREATE OR REPLACE VIEW events AS SELECT *, rowid FROM stream WHERE epoch <= getvariable('shown');"
            "CREATE OR REPLACE VIEW fresh AS FROM stream WHERE epoch = getvariable('shown');"
            "CREATE OR REPLACE VIEW mark AS SELECT w FROM marks WHERE epoch = getvariable('shown')"
        )
        insert(duck, "stream", rows)
        add_names(duck)

    def show(self, epoch: int) -> None:
        """Show the epochs up to one of them."""
        self._duck.execute(f"SET VARIABLE shown = {epoch}")


def insert(duck: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Row]) -> None:
    """Insert rows into a table of DuckDB, by the names of columns."""
    if not rows:
        return
    types = [(key, dtype) for key, dtype in _TYPES if key in rows[0]]
    given = pa.table({key: pa.array([row[key] for row in rows], dtype) for key, dtype in types})
    duck.register("given", given)
    duck.execute(f"INSERT INTO {table} BY NAME SELECT * FROM given")
    duck.unregister("given")


def add_names(duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE OR REPLACE TABLE names (k VARCHAR, name VARCHAR)")
    duck.executemany("INSERT INTO names VALUES (?, ?)", NAMES)


class Watermark:
    """Give DuckDB the epoch of each row, the watermark when the row came, and the current watermark."""

    def __init__(self, events: Events, delay: int) -> None:
        self._duck, self._delay = events.duck, timedelta(seconds=delay)
        self._known = self._epoch = 0
        self._duck.execute("ALTER TABLE events ADD COLUMN before TIMESTAMP")
        self._duck.execute("ALTER TABLE events ADD COLUMN epoch INT")
        self._duck.execute("CREATE TABLE mark AS SELECT CAST(NULL AS TIMESTAMP) AS w")

    def end_epoch(self) -> None:
        """Make an epoch of the rows that have come since the last call."""
        execute = self._duck.execute
        self._epoch += 1
        text = "UPDATE events SET before = (SELECT w FROM mark), epoch = ? WHERE rowid >= ?"
        execute(text, [self._epoch, self._known])
        self._known, latest = execute("SELECT count(*), max(ts) FROM events").fetchall()[0]
        execute("UPDATE mark SET w = ?", [None if latest is None else latest - self._delay])


def canonical(found: Sequence[Sequence[object]]) -> list[str]:
    return sorted(repr([_text(value) for value in row]) for row in found)


def _text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return str(value + 0.0) if isinstance(value, float) else str(value)


def have_same(found: Sequence[Sequence[object]], expected: Sequence[Sequence[object]]) -> bool:
    """Whether the rows are the same, in whichever order."""
    return sorted(map(repr, found)) == sorted(map(repr, expected)) or canonical(found) == canonical(expected)
