"""Streams and continuous tables in the hands of a program."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ExecutionError, StatementTimeoutError
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.streaming.dstreams.handles import ContinuousTable, Stream
from sharkpy.streaming.epoch_log import EpochFigures
from sharkpy.streaming.scheduled_queries import ScheduledQuery
from sharkpy.streaming.status import ContinuousStatus
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, put_numbers


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE STREAM events (n BIGINT) FROM PROGRAM")
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM events")
    return context


def table(context: sharkpy.SharkContext) -> ContinuousTable:
    found = context.stream("t")
    assert isinstance(found, ContinuousTable)
    return found


def stream(context: sharkpy.SharkContext) -> Stream:
    found = context.stream("default.events")
    assert isinstance(found, Stream)
    return found


def test_status_tells_how_far_a_table_is(context: sharkpy.SharkContext) -> None:
    before = table(context).status()
    assert (before.name, before.state, before.epoch, before.lag) == ("default.t", "RUNNING", 0, 0)
    stream(context).push().write([(1,), (2,), (3,)])
    status = table(context).await_epoch(1, timeout=60)
    assert numbers(context) == [1, 2, 3]
    assert (status.epoch, status.lag, status.fault) == (1, 0, None)
    assert status.offsets == {"default.events": (1,)}
    assert (status.rows, status.epochs, status.failures) == (3, 1, 0)
    assert status.seconds
    assert status.rows_per_second


def test_an_epoch_has_come_with_its_figures(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    add = EpochFigures.add

    def add_late(figures: EpochFigures, rows: int, seconds: float, bad_rows: int) -> None:
        time.sleep(0.3)
        add(figures, rows, seconds, bad_rows)

    monkeypatch.setattr(EpochFigures, "add", add_late)
    stream(context).push().write([(1,), (2,), (3,)])
    assert table(context).await_epoch(1, timeout=60).rows == 3


def test_lag_grows_while_a_table_is_paused(context: sharkpy.SharkContext) -> None:
    table(context).pause()
    for number in range(4):
        stream(context).push().write([(number,)])
    context.sql("CREATE CONTINUOUS TABLE other AS SELECT n FROM events")
    other = context.stream("other")
    assert isinstance(other, ContinuousTable)
    other.await_epoch(1, timeout=60)
    status = stream(context).status()
    assert (status.source, status.end) == ("PROGRAM", (4,))
    assert {one.name: one.lag for one in status.readers} == {"default.t": 4, "default.other": 0}
    table(context).resume()
    table(context).await_epoch(1, timeout=60)
    assert numbers(context) == [0, 1, 2, 3]


def test_an_epoch_that_does_not_come(context: sharkpy.SharkContext) -> None:
    with pytest.raises(StatementTimeoutError, match="is at epoch 0 after"):
        table(context).await_epoch(1, timeout=0.05)
    table(context).pause()
    with pytest.raises(ExecutionError, match=r"default\.t is PAUSED at epoch 0"):
        table(context).await_epoch(1)
    held = table(context)
    context.sql("DROP CONTINUOUS TABLE t")
    with pytest.raises(BindError, match=r"default\.t was dropped"):
        held.status()


def test_other_tables_have_no_handle(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE plain (n INT)")
    with pytest.raises(BindError, match="neither a stream nor a continuous table"):
        context.stream("plain")


def test_rows_are_counted_from_session_to_session(tmp_path: Path, folder: Path) -> None:
    for number in range(3):
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            put_numbers(folder, f"f{number}", range(4))
            if number == 0:
                make_stream(context, folder)
                context.sql("CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW AS SELECT n FROM numbers")
            else:
                assert rows(context, "SELECT rows FROM sys.continuous_tables") == [(4 * number,)]
                context.sql("RESUME CONTINUOUS TABLE t")
            assert [row[6] for row in rows(context, "SHOW CONTINUOUS TABLES")] == [4 * number + 4]
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("REFRESH CONTINUOUS TABLE t")
        assert [row[6] for row in rows(context, "SHOW CONTINUOUS TABLES")] == [12]
        status = context.stream("t").status()
        assert isinstance(status, ContinuousStatus)
        assert (status.rows, status.total_rows, status.total_bad_rows) == (12, 12, 0)


def test_the_end_of_the_engine_is_no_fault_of_queries(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    streams, begin = context.streams, context.streams._begin
    thread = streams._thread
    assert thread is not None

    def begin_at_the_end(query: ContinuousQuery, now: float, quiet: list[ScheduledQuery]) -> float:
        # The engine is stopped just when the thread comes to a query that it does not know yet.
        streams._queries._by_id.clear()
        streams._queries._is_closed = streams._is_stopped = True
        return begin(query, now, quiet)

    monkeypatch.setattr(streams, "_begin", begin_at_the_end)
    streams.wake()
    thread.join(60)
    assert not thread.is_alive()
    assert [record.getMessage() for record in caplog.records] == []
    streams._queries._is_closed = streams._is_stopped = False
