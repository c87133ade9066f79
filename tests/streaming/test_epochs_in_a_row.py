"""Epochs of a query in one thread, one after the other, as long as no other query waits for the thread."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming.epoch_input import EpochView
from sharkpy.streaming.epoch_log import Ranges
from sharkpy.streaming.epoch_runner import EpochRunner
from sharkpy.streaming.scheduled_queries import ScheduledQuery
from sharkpy.streaming.scheduler import StreamScheduler
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers
from tests.waiting import until

NUM_FILES = 6
ONE_BY_ONE = "('max.files.per.epoch' = '1')"


@dataclass(slots=True)
class Row:
    """Epochs in the order in which they have run: the query of each, and the number of the call that has run it."""

    epochs: list[tuple[str, int]] = field(default_factory=list)
    calls: int = 0
    _of_thread: dict[int, int] = field(default_factory=dict)

    def begin(self) -> None:
        self.calls += 1
        self._of_thread[threading.get_ident()] = self.calls

    def add(self, query_id: str) -> None:
        self.epochs.append((query_id, self._of_thread[threading.get_ident()]))

    def queries(self) -> list[str]:
        return [query for query, _ in self.epochs]

    def calls_of(self, query_id: str) -> set[int]:
        return {call for query, call in self.epochs if query == query_id}


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Row:
    row, catch_up, run = Row(), StreamScheduler._run_due_query, EpochRunner.run

    def noted(self: StreamScheduler, query_id: str, scheduled: ScheduledQuery) -> None:
        row.begin()
        catch_up(self, query_id, scheduled)

    def run_noted(self: EpochRunner, view: EpochView, ranges: Ranges) -> None:
        row.add(view.query.query_id)
        run(self, view, ranges)

    monkeypatch.setattr(StreamScheduler, "_run_due_query", noted)
    monkeypatch.setattr(EpochRunner, "run", run_noted)
    return row


def make_paused(context: sharkpy.SharkContext, folder: Path, names: list[str], trigger: str = "") -> list[str]:
    """Make continuous tables that wait while files come; the ids of their queries."""
    make_stream(context, folder, ONE_BY_ONE)
    folder.mkdir(exist_ok=True)
    for name in names:
        context.sql(f"CREATE CONTINUOUS TABLE {name} {trigger} AS SELECT n FROM numbers")
        context.sql(f"PAUSE CONTINUOUS TABLE {name}")
    for number in range(NUM_FILES):
        put_numbers(folder, f"{number}", [number])
    # Each one starts again.
    until(lambda: not list(context.streams._queries))
    return [context.catalog.table("default", name).continuous for name in names]


def test_a_query_alone_keeps_its_thread(context: sharkpy.SharkContext, folder: Path, row: Row) -> None:
    (query_id,) = make_paused(context, folder, ["t"])
    context.sql("RESUME CONTINUOUS TABLE t")
    until_numbers(context, range(NUM_FILES))
    assert row.queries() == [query_id] * NUM_FILES
    assert len(row.calls_of(query_id)) == 1


def test_a_query_with_a_trigger_gives_its_thread_back(context: sharkpy.SharkContext, folder: Path, row: Row) -> None:
    (query_id,) = make_paused(context, folder, ["t"], "TRIGGER EVERY 1 MILLISECONDS")
    context.sql("RESUME CONTINUOUS TABLE t")
    until_numbers(context, range(NUM_FILES))
    assert len(row.calls_of(query_id)) == NUM_FILES


def test_queries_take_turns(tmp_path: Path, folder: Path, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three queries, and one thread for them."""
    run = EpochRunner.run
    names = ["t", "u", "v"]
    with sharkpy.connect("local[2]", tmp_path / "w", **{"shark.stream.epochs.at.once": 1}) as context:
        ids = make_paused(context, folder, names)

        def run_slowly(self: EpochRunner, view: EpochView, ranges: Ranges) -> None:
            """Run an epoch when the others that have something to do are queued."""
            done = Counter(row.queries())
            others = sum(done[one] < NUM_FILES for one in ids if one != view.query.query_id)
            until(lambda: context.streams._num_queued >= others)
            run(self, view, ranges)

        monkeypatch.setattr(EpochRunner, "run", run_slowly)
        for name in names:
            context.sql(f"RESUME CONTINUOUS TABLE {name}")
        for name in names:
            until_numbers(context, range(NUM_FILES), name)
    turns = row.queries()
    assert [set(turns[place : place + 3]) for place in range(0, 3 * NUM_FILES, 3)] == [set(ids)] * NUM_FILES
    assert len(row.calls_of(ids[0])) == NUM_FILES


def test_who_waits_for_the_end_of_an_epoch_waits_for_one(
    context: sharkpy.SharkContext, folder: Path, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    (query_id,) = make_paused(context, folder, ["t"])
    run, begun, waiting = EpochRunner.run, threading.Event(), list[int]()

    def run_awaited(self: EpochRunner, view: EpochView, ranges: Ranges) -> None:
        begun.set()
        if not waiting:
            until(lambda: context.streams._queries.get(query_id).is_awaited)
        run(self, view, ranges)

    monkeypatch.setattr(EpochRunner, "run", run_awaited)
    context.sql("RESUME CONTINUOUS TABLE t")
    assert begun.wait(60)
    calls = row.calls
    with context.streams._queries.between_epochs(query_id):
        waiting.append(len(row.epochs))
        # The thread of the first epoch gives the query back, and another call waits for the end of this body.
        until(lambda: row.calls > calls)
        assert context.catalog.streams.get(query_id).epoch == len(row.epochs)
    until_numbers(context, range(NUM_FILES))
    assert waiting[0] < NUM_FILES
    assert len(row.calls_of(query_id)) > 1


@pytest.mark.parametrize("statement", ["PAUSE", "DROP"])
def test_a_row_ends_with_its_query(
    context: sharkpy.SharkContext, folder: Path, row: Row, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (query_id,) = make_paused(context, folder, ["t"])
    run, begun = EpochRunner.run, threading.Event()
    streams = context.streams

    def run_noted(self: EpochRunner, view: EpochView, ranges: Ranges) -> None:
        begun.set()
        until(lambda: streams._queries.get(query_id).is_awaited)
        run(self, view, ranges)

    monkeypatch.setattr(EpochRunner, "run", run_noted)
    context.sql("RESUME CONTINUOUS TABLE t")
    assert begun.wait(60)
    if statement == "DROP":
        context.sql("PAUSE CONTINUOUS TABLE t")
    context.sql(f"{statement} CONTINUOUS TABLE t")
    num_epochs = len(row.epochs)
    assert num_epochs == 1
    until(lambda: not any(one.is_busy for one in streams._queries))
    assert len(row.epochs) == num_epochs
    if statement == "PAUSE":
        assert numbers(context) == [0]
