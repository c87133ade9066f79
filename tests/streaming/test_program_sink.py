"""Functions of programs that take the rows of a sink: each epoch comes at least once, under one number."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import BindError, ExecutionError, ResourceError, SharkError
from sharkpy.streaming import kill_points
from tests.rows import rows
from tests.streaming.folder_input import make_stream, put_numbers, state_of, until_numbers
from tests.waiting import until

WAITING = "WAITING FOR ITS PROGRAM"
LIVE = "TRIGGER EVERY 1 MILLISECONDS"
PROGRAM = """
import os, signal, sys, sharkpy, time
warehouse, taken, last = sys.argv[1:]

def take(epoch, rows):
    with open(taken, "a") as file:
        file.write(f"{epoch} {','.join(map(str, rows.column('n').to_pylist()))}\\n")
    if epoch == int(last):
        os.kill(os.getpid(), signal.SIGKILL)

with sharkpy.connect("local[2]", warehouse) as context:
    context.foreach_batch("s", take)
    print("taking", flush=True)
    time.sleep(600)
"""


class Taken:
    """Function that keeps what it was given."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, list[int]]] = []
        self.threads: set[str] = set()

    def __call__(self, epoch: int, rows: pa.Table) -> None:
        assert isinstance(rows, pa.Table)
        self.threads.add(threading.current_thread().name)
        self.epochs.append((epoch, sorted(rows.column("n").to_pylist())))

    @property
    def numbers(self) -> list[int]:
        return sorted(number for _, numbers in self.epochs for number in numbers)


def test_each_epoch_comes(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder, "('max.files.per.epoch' = '1')")
    context.sql("CREATE CONTINUOUS SINK s TO PROGRAM AS SELECT n, upper(s) AS s FROM numbers")
    put_numbers(folder, "a", [1, 2])
    put_numbers(folder, "b", [3])
    assert state_of(context, "s") == (WAITING, None)
    taken = Taken()
    handle = context.foreach_batch("s", taken)
    until(lambda: taken.numbers == [1, 2, 3])
    assert taken.epochs == [(1, [1, 2]), (2, [3])]
    assert handle.await_epoch(2, 10).state == "RUNNING"
    assert threading.current_thread().name not in taken.threads
    put_numbers(folder, "c", [4])
    until(lambda: taken.epochs[-1] == (3, [4]))
    assert [(row[0], row[3]) for row in rows(context, "SHOW EPOCHS s")][1:] == [(2, 1), (1, 2)]
    made = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE s"))
    assert made.startswith("CREATE CONTINUOUS SINK `default`.`s`\nTO PROGRAM\nTRIGGER")
    assert ("Sink", "PROGRAM") in [
        tuple(str(one).strip() for one in row[:2]) for row in rows(context, "DESCRIBE EXTENDED s")
    ]
    context.sql("DROP CONTINUOUS SINK s")
    assert list(Path(context.catalog.state_dir, "streams").iterdir()) == []


def test_over_a_stream(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1, 2])
    taken = Taken()
    context.stream("numbers").foreach_batch(taken, name="s")  # type: ignore[call-arg]
    until(lambda: taken.epochs == [(1, [1, 2])])
    again = Taken()
    context.stream("numbers").foreach_batch(again, name="default.s")  # type: ignore[call-arg]
    put_numbers(folder, "b", [3])
    until(lambda: again.epochs == [(2, [3])])
    assert taken.epochs == [(1, [1, 2])]


def test_a_trigger_that_ends(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql("CREATE CONTINUOUS SINK s TO PROGRAM TRIGGER AVAILABLE NOW AS SELECT n FROM numbers")
    assert state_of(context, "s") == ("FINISHED", None)
    with pytest.raises(ExecutionError, match=r"default.s waits for its program"):
        context.sql("RESUME CONTINUOUS SINK s")
    taken = Taken()
    context.foreach_batch("s", taken)
    assert taken.epochs == [(1, [1])]
    put_numbers(folder, "b", [2])
    context.sql("RESUME CONTINUOUS SINK s")
    assert taken.epochs == [(1, [1]), (2, [2])]


def test_an_error_stops_the_sink(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    taken, left = Taken(), [1]

    def fail_once(epoch: int, rows: pa.Table) -> None:
        taken(epoch, rows)
        if left:
            raise ValueError(f"no {left.pop()}")

    context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {LIVE} AS SELECT n FROM numbers")
    context.foreach_batch("s", fail_once)
    until(lambda: state_of(context, "s")[0] == "STOPPED")
    assert "the program of default.s has failed on epoch 1: ValueError: no 1" in str(state_of(context, "s")[1])
    put_numbers(folder, "b", [2])
    context.sql("RESUME CONTINUOUS SINK s")
    until(lambda: taken.epochs[1:] == [(1, [1]), (2, [2])])
    assert state_of(context, "s") == ("RUNNING", None)


def test_the_catalog_fails_behind_the_function(context: sharkpy.SharkContext, folder: Path) -> None:
    """The function is called again, with the same number and the same rows, whatever has come since."""
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    taken, failed = Taken(), list[str]()

    def fail_once(step: str) -> None:
        if step == kill_points.PLACED and not failed:
            put_numbers(folder, "b", [2])
            failed.append(step)
            raise ResourceError("no room", sqlstate="53100")

    kill_points.observer = fail_once
    try:
        context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {LIVE} AS SELECT n FROM numbers")
        context.foreach_batch("s", taken)
        until(lambda: taken.epochs == [(1, [1]), (1, [1]), (2, [2])])
    finally:
        kill_points.observer = None


def test_a_reader_of_batches(context: sharkpy.SharkContext, folder: Path) -> None:
    """Rows that the function does not read count as taken. Errors of the rows do not count as its errors."""
    make_stream(context, folder)
    put_numbers(folder, "a", range(1000))
    found: list[object] = []

    def take(epoch: int, reader: pa.RecordBatchReader) -> None:
        found.append((epoch, reader.schema.names))
        if epoch == 1:
            found.append(sum(batch.num_rows for batch in reader))
        if epoch == 3:
            reader.read_all()

    context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {LIVE} AS SELECT n, assert_true(n >= 0) AS ok FROM numbers")
    context.foreach_batch("s", take, as_reader=True)
    until(lambda: found == [(1, ["n", "ok"]), 1000])
    put_numbers(folder, "b", range(10))
    until(lambda: found[2:] == [(2, ["n", "ok"])])
    until(lambda: [row[3] for row in rows(context, "SHOW EPOCHS s")] == [10, 1000])
    put_numbers(folder, "c", [-1])
    until(lambda: state_of(context, "s")[0] == "STOPPED")
    assert "the program of" not in str(state_of(context, "s")[1])


def test_the_function_uses_the_engine(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    context.sql("CREATE TABLE copies (n BIGINT) STORED AS PARQUET")

    def copy(epoch: int, rows: pa.Table) -> None:
        with context.new_session() as session:
            for number in rows.column("n").to_pylist():
                session.sql(f"INSERT INTO copies VALUES ({number})")

    context.stream("numbers").foreach_batch(copy, name="s")  # type: ignore[call-arg]
    put_numbers(folder, "a", [1, 2])
    until_numbers(context, [1, 2], "copies")
    context.stream("s").await_epoch(1, 10)  # type: ignore[union-attr]


def test_it_runs_where_its_program_is(tmp_path: Path, folder: Path) -> None:
    """The program is not the process that has the warehouse's lease. When the program is killed, another one takes over
    with the same epoch.
    """
    taken = tmp_path / "taken"
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder, "('max.files.per.epoch' = '1')")
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
        context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {LIVE} AS SELECT n FROM numbers")
        put_numbers(folder, "a", [1])
        until_numbers(context, [1])
        assert state_of(context, "s") == (WAITING, None)
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "w"), str(taken), "4"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                until(lambda: taken.exists() and taken.read_text() == "1 1\n")
                until(lambda: state_of(context, "s") == ("RUNNING", None))
                mine = Taken()
                context.foreach_batch("s", mine)
                for epoch in (2, 3):
                    put_numbers(folder, str(epoch), [epoch])
                    until(lambda wanted=epoch: rows(context, "SHOW EPOCHS s")[0][:2] == (wanted, "WRITTEN"))  # type: ignore[misc]
                assert not mine.epochs
                put_numbers(folder, "4", [4])
                assert process.wait(120) == -signal.SIGKILL
            finally:
                process.kill()
        assert taken.read_text() == "1 1\n2 2\n3 3\n4 4\n"
        until(lambda: mine.epochs == [(4, [4])])
        until_numbers(context, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("TO PROGRAM STORED AS PARQUET AS SELECT n FROM numbers", "a format of a continuous sink TO PROGRAM"),
        ("TO PROGRAM ('x' = 'y') AS SELECT n FROM numbers", 'TO PROGRAM has no option "x"'),
        ("TO PROGRAM 'x' AS SELECT n FROM numbers", "syntax error"),
        ("TO PROGRAM AS SELECT count(*) AS c FROM numbers", "whose rows change with each epoch"),
    ],
)
def test_refused(context: sharkpy.SharkContext, folder: Path, text: str, error: str) -> None:
    make_stream(context, folder)
    with pytest.raises(SharkError, match=error):
        context.sql(f"CREATE CONTINUOUS SINK s {text}")
    assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_other_tables_take_no_function(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS SINK f TO FOLDER '{tmp_path}/out' AS SELECT n FROM numbers")
    for name in ("numbers", "f"):
        with pytest.raises(BindError, match="is not a continuous sink TO PROGRAM"):
            context.foreach_batch(name, Taken())
    context.sql("CREATE CONTINUOUS SINK s TO PROGRAM AS SELECT n FROM numbers")
    with pytest.raises(SharkError, match="its program has received the rows already"):
        context.sql("REFRESH CONTINUOUS SINK s")
    context.sql("PAUSE CONTINUOUS SINK s")
    assert state_of(context, "s") == ("PAUSED", None)
