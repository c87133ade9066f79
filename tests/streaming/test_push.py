"""Rows that a program pushes: safe when the call returns, read once, and gone when all have read them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import BindError, DataError, ResourceError, TableNotFoundError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import Position
from sharkpy.streaming.sources.spool import StreamWriter
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import numbers, until_numbers
from tests.waiting import until, when


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE STREAM events (n BIGINT, s STRING) FROM PROGRAM ('max.bytes' = '20000')")
    return context


def waiting_files(context: sharkpy.SharkContext) -> list[Path]:
    return list(Path(context.catalog.table("default", "events").location or "").iterdir())


def write_often(out: StreamWriter, data: object, times: int) -> None:
    for _ in range(times):
        out.write(data)


def test_data_of_any_common_kind(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n, s FROM events")
    with context.push("events") as out:
        assert out.write([(1, "a"), (2, None)]) == 2
        assert out.write([{"n": 3, "s": "c"}, {"s": "d", "n": 4}]) == 2
        assert out.write(pa.table({"s": ["e"], "n": [5]})) == 1
        assert out.write(pa.record_batch({"n": [6], "s": ["f"]})) == 1
        assert out.write([]) == 0
    until_numbers(context, range(1, 7))
    assert rows(context, "SELECT n FROM t WHERE s IS NULL") == [(2,)]
    assert rows(context, "SELECT n FROM t WHERE s = 'd'") == [(4,)]


def test_what_does_not_fit_is_refused_and_nothing_is_written(context: sharkpy.SharkContext) -> None:
    with context.push("default.events") as out:
        for data in ([(1, "a"), ("none", "b")], pa.table({"n": ["x"], "s": ["y"]})):
            with pytest.raises(DataError):
                out.write(data)
        with pytest.raises(sharkpy.SharkError):
            out.write(np.zeros((2, 3)))
        with pytest.raises(sharkpy.SharkError):
            out.write(7)
    assert waiting_files(context) == []
    with pytest.raises(TableNotFoundError):
        context.push("nowhere")
    context.sql("CREATE TABLE plain (n INT)")
    with pytest.raises(BindError, match="is not a stream FROM PROGRAM"):
        context.push("plain")
    assert rows(context, "SELECT * FROM events") == []


def test_rows_go_once_all_have_read_them(context: sharkpy.SharkContext) -> None:
    for name in ("t", "u"):
        context.sql(f"CREATE CONTINUOUS TABLE {name} {NOW} AS SELECT n FROM events")
    with context.push("events") as out:
        for number in range(5):
            out.write([(number, "x")])
    assert len(waiting_files(context)) == 5
    context.sql("RESUME CONTINUOUS TABLE t")
    assert (numbers(context), len(waiting_files(context))) == (list(range(5)), 5)
    assert numbers(context, "events") == list(range(5))
    context.sql("RESUME CONTINUOUS TABLE u")
    assert (numbers(context, "u"), waiting_files(context)) == (list(range(5)), [])
    context.sql(f"CREATE CONTINUOUS TABLE late {NOW} AS SELECT n FROM events")
    with context.push("events") as out:
        out.write([(5, "x")])
    for name in ("t", "u", "late"):
        context.sql(f"RESUME CONTINUOUS TABLE {name}")
    assert (numbers(context, "u"), numbers(context, "late")) == (list(range(6)), [5])
    assert waiting_files(context) == []


def test_numbers_are_never_given_again(tmp_path: Path) -> None:
    for number in range(4):
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            if not number:
                context.sql("CREATE STREAM events (n BIGINT, s STRING) FROM PROGRAM")
                context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM events")
            with context.push("events") as out:
                out.write([(number, "x")])
            context.sql("RESUME CONTINUOUS TABLE t")
            assert numbers(context) == list(range(number + 1))
            assert [row[5] for row in rows(context, "SHOW EPOCHS t LIMIT 1")] == [
                f'{{"default.events": [{number}, {number + 1}]}}'
            ]
            assert waiting_files(context) == []


def test_a_producer_waits_for_who_reads(context: sharkpy.SharkContext) -> None:
    large = [(number, "x" * 50) for number in range(100)]
    with context.push("events") as out:
        with pytest.raises(ResourceError, match="which no continuous table reads"):
            write_often(out, large, 1000)
        num_waiting = len(waiting_files(context))
        assert num_waiting < 100
        context.sql("CREATE CONTINUOUS TABLE t TRIGGER EVERY 1 HOURS AS SELECT n FROM events")
        until(lambda: not waiting_files(context))
        context.sql("PAUSE CONTINUOUS TABLE t")
        began = time.monotonic()
        resumed = when(lambda: time.monotonic() > began + 1.0, lambda: context.sql("RESUME CONTINUOUS TABLE t").close())
        write_often(out, large, 2 * num_waiting)
        assert time.monotonic() > began + 1.0
        resumed.join()


def test_what_was_pushed_survives_the_program(tmp_path: Path) -> None:
    code = """
import sharkpy, sys, itertools
with sharkpy.connect("local[2]", sys.argv[1]) as context:
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM events")
    with context.push("events") as out:
        for number in itertools.count():
            out.write([(number, "x")])
            print(number, flush=True)
"""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("CREATE STREAM events (n BIGINT, s STRING) FROM PROGRAM")
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "w")], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        safe = [other.stdout.readline() for _ in range(60)]
        other.send_signal(signal.SIGKILL)
        safe += [line for line in other.stdout if line.endswith("\n")]
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.start_streams()
        until(lambda: len(numbers(context)) >= len(safe))
        time.sleep(0.5)
        found = numbers(context)
        assert found == list(range(len(found)))


def test_several_producers(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM events")

    def produce(first: int) -> None:
        with context.push("events") as out:
            for number in range(first, 100, 4):
                out.write([(number, "x")])

    threads = [threading.Thread(target=produce, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until_numbers(context, range(100))


def test_drop_takes_what_waits_along(context: sharkpy.SharkContext) -> None:
    with context.push("events") as out:
        out.write([(1, "x")])
    place = waiting_files(context)[0].parent
    assert rows(context, "SHOW STREAMS") == [("default", "events", "PROGRAM", None, None)]
    made = [str(row[0]) for row in rows(context, "SHOW CREATE TABLE events")]
    context.sql("DROP STREAM events")
    until(lambda: not place.exists())
    context.sql("\n".join(made))
    assert rows(context, "SELECT * FROM events") == []
    with pytest.raises(BindError, match="STREAM"):
        context.sql("DROP TABLE events")


def test_a_rollback_never_counts_on_rows_that_are_gone(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rollback asks for the first item in its own transaction; one that drops rows may come before it."""
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM events")
    with context.push("events") as out:
        out.write([(1, "a")])
    stream, transaction = context.catalog.table("default", "events"), Catalog.transaction
    found = list[tuple[int, Position]]()

    @contextmanager
    def ended(self: Catalog, **given: bool) -> Iterator[None]:
        with transaction(self, **given):
            yield
        known = context.catalog.streams.files(stream.table_id, 0, 10)
        found.append((len(known), context.streams.readers.of(stream).first()))

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "transaction", ended)
        context.sql("RESUME CONTINUOUS TABLE t")
    gone = [first for num_files, first in found[found.index((1, (0,))) :] if not num_files]
    assert gone
    assert set(gone) == {(1,)}
