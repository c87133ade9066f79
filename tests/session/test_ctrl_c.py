"""Ctrl-C in a Python program ends the statement that its main thread waits for, however the rows are read."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import polars  # noqa: F401  the first import takes longer than half a second
import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.dbapi import Connection
from tests.waiting import allowed, until

LONG = {
    "join": "SELECT count(*) FROM big a CROSS JOIN big b WHERE a.id * b.id % 7 = 3",
    "window": "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY a.id % 7 ORDER BY hash(a.id, b.id)) AS r "
    "FROM big a CROSS JOIN (SELECT id FROM big LIMIT 1000) b) t",
    "kernel": "SELECT sum(levenshtein(repeat(cast(id AS STRING), 500), repeat('x', 3000))) FROM big",
}
READERS: dict[str, Callable[[sharkpy.Result], object]] = {
    "fetchall": lambda result: result.fetchall(),
    "fetchone": lambda result: result.fetchone(),
    "show": lambda result: result.show(),
    "to_arrow": lambda result: result.to_arrow(),
    "to_polars": lambda result: result.to_polars(),
    "iteration": list,
    "notebook": lambda result: result._repr_html_(),
}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as context:
        context.sql("CREATE TABLE big TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT id FROM range(100000)").close()
        yield context


@contextlib.contextmanager
def interrupted() -> Iterator[None]:
    """Press Ctrl-C half a second from now, which must end the body."""
    pressed: list[float] = []

    def press() -> None:
        time.sleep(0.5)  # within the work, not before it
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    thread.join()
    assert time.monotonic() - pressed[0] < allowed(0.3)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("reader", READERS)
def test_a_query_ends(context: sharkpy.SharkContext, reader: str) -> None:
    result = context.sql(LONG["join"])
    with interrupted():
        READERS[reader](result)
    with pytest.raises(ExecutionError, match="closed"):
        result.fetchall()
    assert context.sql("SELECT count(*) FROM big").fetchall() == [(100000,)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["window", "kernel"])
def test_its_work_ends_too(context: sharkpy.SharkContext, name: str) -> None:
    with interrupted():
        context.sql(LONG[name]).fetchall()
    until(lambda: not context._statements.num_running)


@pytest.mark.timeout(60)
def test_a_command_leaves_nothing(context: sharkpy.SharkContext) -> None:
    with interrupted():
        context.sql(f"CREATE TABLE made AS {LONG['join']}")
    until(lambda: not context._statements.num_running)
    assert context.sql("SHOW TABLES LIKE 'made'").fetchall() == []


@pytest.mark.timeout(60)
def test_a_cursor_ends(context: sharkpy.SharkContext) -> None:
    with contextlib.closing(Connection(context.new_session())) as connection:
        with interrupted():
            connection.execute(LONG["join"]).fetchall()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_errors_are_those_of_the_work(context: sharkpy.SharkContext) -> None:
    with pytest.raises(SharkError, match="nowhere"):
        context.sql("SELECT 1 FROM nowhere")
