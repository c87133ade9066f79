"""Catalog requests of a step of a continuous query, and changes of the catalog by other sessions meanwhile."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError, TableChangedError, TableNotFoundError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState
from sharkpy.streaming import kill_points, scheduler
from sharkpy.streaming.sources.folder_reader import FolderReader
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers

COUNTED = "SELECT s, count(*) AS n FROM numbers GROUP BY s"
JOINED = "SELECT n, word FROM numbers JOIN words ON n = id"
BEFORE_COMMIT = (kill_points.BEGUN, kill_points.STAGED)
Change = Callable[[Catalog, ContinuousQuery], None]
Meanwhile = Callable[[str, Change], SharkError | None]


@pytest.fixture(autouse=True)
def each_look_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_SHARED_SECONDS", 0.0)


pytestmark = pytest.mark.settings({"shark.compaction": "false"})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    return context


@pytest.fixture
def other(tmp_path: Path, context: sharkpy.SharkContext) -> Iterator[Catalog]:
    """The catalog as another process has it."""
    with closing(Catalog(tmp_path / "w")) as catalog:
        yield catalog


def query_of(context: sharkpy.SharkContext) -> ContinuousQuery:
    (query,) = context.catalog.streams.queries()
    return query


def make(context: sharkpy.SharkContext, folder: Path, query: str, clauses: str = NOW) -> None:
    """Make a continuous table with one epoch; only `step` runs it."""
    put_numbers(folder, "000", [0])
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS {query}")
    with context.catalog.transaction():
        context.catalog.streams.set_state(query_of(context).query_id, QueryState.RUNNING)


def step(context: sharkpy.SharkContext) -> None:
    """Look after the query once, as the scheduler's threads do."""
    query_id = query_of(context).query_id
    with context.streams._queries.between_epochs(query_id) as scheduled:
        context.streams._step(query_id, scheduled)


@contextmanager
def statements(context: sharkpy.SharkContext) -> Iterator[list[str]]:
    """Statements of SQLite in the body."""
    found: list[str] = []
    connections = context.catalog._file._reading, context.catalog._file._writing
    for connection in connections:
        connection.set_trace_callback(found.append)
    try:
        yield found
    finally:
        for connection in connections:
            connection.set_trace_callback(None)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("query", "clauses", "most"),
    [
        ("SELECT n FROM numbers", NOW, 24),
        ("SELECT n FROM numbers", f"{MEMORY} {NOW}", 28),
        (COUNTED, f"{NOW} WITH UNBOUNDED STATE", 27),
        (JOINED, NOW, 31),
    ],
)
def test_an_epoch_asks_little(context: sharkpy.SharkContext, folder: Path, query: str, clauses: str, most: int) -> None:
    context.sql("CREATE TABLE words AS SELECT 1 AS id, 'one' AS word")
    make(context, folder, query, clauses)
    for number in range(1, 4):
        put_numbers(folder, f"{number:03d}", [number])
        step(context)
    query_id = query_of(context).query_id
    with context.streams._queries.between_epochs(query_id) as scheduled, statements(context) as found:
        for number in range(4, 7):
            put_numbers(folder, f"{number:03d}", [number])
            context.streams._step(query_id, scheduled)
        num_written = len(found)
        context.streams._step(query_id, scheduled)
    assert query_of(context).epoch == 7
    assert num_written <= 3 * most, found
    assert found.count("BEGIN IMMEDIATE") <= 2 * 3, found
    assert len(found) - num_written <= 4, found[num_written:]


def drop(other: Catalog, query: ContinuousQuery) -> None:
    other.drop_table(other.table("default", "t"))
    other.collect_garbage()


def alter(other: Catalog, query: ContinuousQuery) -> None:
    with other.transaction():
        other.streams.redefine(dataclasses.replace(query, text="SELECT n + 100 AS n, s FROM numbers"))


def pause(other: Catalog, query: ContinuousQuery) -> None:
    with other.transaction():
        other.streams.set_state(query.query_id, QueryState.PAUSED)


def write(other: Catalog, query: ContinuousQuery) -> None:
    """Another process writes the epoch, which has no rows of the stream."""
    with other.transaction():
        other.streams.end_epoch(query, query.offsets)


def roll_back(other: Catalog, query: ContinuousQuery) -> None:
    """Another process writes the epoch, and takes it back."""
    (kept,) = other.streams.epochs.kept(query.query_id)
    write(other, query)
    with other.transaction():
        other.streams.epochs.roll_back(other.streams.get(query.query_id), kept, kept.generation)


@pytest.fixture
def meanwhile(
    context: sharkpy.SharkContext, other: Catalog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Meanwhile:
    """Look after the query while the other process does something, at one step of an epoch; returns its error."""

    def run(at: str, change: Change) -> SharkError | None:
        make(context, folder, "SELECT n, s FROM numbers")
        put_numbers(folder, "001", [1])
        query = query_of(context)

        def hook(done: str) -> None:
            if done == at:
                monkeypatch.setattr(kill_points, "observer", None)
                change(other, query)

        monkeypatch.setattr(kill_points, "observer", hook)
        try:
            step(context)
        except SharkError as error:
            return error
        return None

    return run


@pytest.mark.parametrize("at", BEFORE_COMMIT)
def test_a_table_is_dropped_meanwhile(
    context: sharkpy.SharkContext, tmp_path: Path, meanwhile: Meanwhile, at: str
) -> None:
    assert isinstance(meanwhile(at, drop), TableNotFoundError)
    assert context.catalog.streams.queries() == []
    assert not (tmp_path / "w" / "t").exists()


@pytest.mark.parametrize("at", BEFORE_COMMIT)
def test_a_query_is_altered_meanwhile(context: sharkpy.SharkContext, meanwhile: Meanwhile, at: str) -> None:
    assert isinstance(meanwhile(at, alter), TableChangedError)
    assert numbers(context) == [0]
    step(context)
    assert numbers(context) == [0, 101]


@pytest.mark.parametrize("at", BEFORE_COMMIT)
def test_an_epoch_ends_though_its_query_is_paused(
    context: sharkpy.SharkContext, folder: Path, meanwhile: Meanwhile, at: str
) -> None:
    assert meanwhile(at, pause) is None
    put_numbers(folder, "002", [2])
    step(context)
    assert numbers(context) == [0, 1]


@pytest.mark.parametrize("at", BEFORE_COMMIT)
@pytest.mark.parametrize(("change", "epoch"), [(write, 2), (roll_back, 1)])
def test_another_process_writes_or_takes_back_meanwhile(
    context: sharkpy.SharkContext,
    meanwhile: Meanwhile,
    at: str,
    change: Change,
    epoch: int,
) -> None:
    error = meanwhile(at, change)
    if epoch == 2:
        assert isinstance(error, TableChangedError)
        assert query_of(context).epoch == 2
        assert numbers(context) == [0]
        step(context)
    # After a rollback to the epoch's start, the epoch commits as usual.
    assert numbers(context) == [0, 1]
    assert query_of(context).epoch == epoch + 1


def test_what_comes_behind_a_change_of_its_stream_is_read_by_it(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream is altered while a step looks at it. Then a file comes, which the same look still finds."""
    make(context, folder, "SELECT n FROM numbers")
    look = FolderReader._look

    def altering(reader: FolderReader, now: float, *, is_thorough: bool) -> None:
        monkeypatch.setattr(FolderReader, "_look", look)
        context.sql("ALTER TABLE numbers SET TBLPROPERTIES ('stream.new.columns' = 'stop')")
        (folder / ".new").write_text('{"n": 1, "s": "s1", "more": 2}\n')
        (folder / ".new").rename(folder / "new")
        look(reader, now, is_thorough=is_thorough)

    monkeypatch.setattr(FolderReader, "_look", altering)
    with pytest.raises(BindError, match="more"):
        step(context)
    assert numbers(context) == [0]


def test_tables_of_a_query_are_dropped_and_made_again(context: sharkpy.SharkContext, folder: Path) -> None:
    """A query is bound again when a name means another table. Tables that the definition knows by id have to exist."""
    context.sql("CREATE TABLE words AS SELECT 1 AS id, 'one' AS word")
    make(context, folder, JOINED)
    for number in (1, 2):
        put_numbers(folder, f"{number:03d}", [number])
        step(context)
        context.sql("DROP TABLE words; CREATE TABLE words AS SELECT 2 AS id, 'two' AS word")
    assert rows(context, "SELECT n, word FROM t ORDER BY n") == [(1, "one"), (2, "two")]
