"""Scripts of cancelled statements, and of workers that are killed, end within a second; queries go on after them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, SharkError
from tests.waiting import allowed

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("scripts")) as session:
        session.sql("CREATE TABLE t AS SELECT posexplode(split(space(999), ' ')) AS (a, s)")
        yield session


WAYS = {
    "waits": "bash -c 'echo $$ >> {mark}; sleep 600'",
    "has_children": "bash -c 'sleep 600 & echo $! >> {mark}; sleep 600; wait'",
    "prints_for_ever": "bash -c 'echo $$ >> {mark}; while true; do echo 1; done'",
    "deaf": """bash -c 'trap "" TERM PIPE; echo $$ >> {mark}; while true; do sleep 1; done'""",
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("placement", ["driver", "rdd"])
@pytest.mark.parametrize("way", list(WAYS))
def test_a_cancelled_script_ends_within_a_second(
    context: sharkpy.SharkContext, tmp_path: Path, way: str, placement: str
) -> None:
    session = context.new_session(shark_placement_driver=placement == "driver")
    mark = tmp_path / "started"
    query = f'SELECT count(*) FROM (SELECT TRANSFORM(a) USING "{_quoted(WAYS[way], mark)}" AS (x INT) FROM t) q'
    failure: list[BaseException] = []

    def run() -> None:
        try:
            session.sql(query).fetchall()
        except SharkError as error:
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    pids = _started(mark)
    start = time.perf_counter()
    session.cancel()
    thread.join(10)
    assert isinstance(failure[0], CancelledError)
    while any(map(_lives, pids)):
        assert time.perf_counter() - start < allowed(2), "a script outlives its statement"
        time.sleep(0.01)
    after = "SELECT count(*), sum(x) FROM (SELECT TRANSFORM(a) USING 'cat' AS (x INT) FROM t) q"
    assert session.sql(after).fetchall() == [(1000, 499_500)]


def test_a_time_limit_ends_a_script(context: sharkpy.SharkContext) -> None:
    session = context.new_session(shark_query_timeout=0.5)
    start = time.perf_counter()
    with pytest.raises(SharkError) as raised:
        session.sql("SELECT TRANSFORM(a) USING 'sleep 600' AS (x INT) FROM t").fetchall()
    assert raised.value.sqlstate == "57014"
    assert time.perf_counter() - start < allowed(5)


def test_a_script_that_is_killed_is_an_error(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    query = f'SELECT TRANSFORM(a) USING "{_quoted(WAYS["waits"], mark)}" AS (x INT) FROM t'
    killer = threading.Thread(target=lambda: os.kill(_started(mark)[0], signal.SIGKILL))
    killer.start()
    with pytest.raises(SharkError, match="SIGKILL"):
        context.sql(query).fetchall()
    killer.join()


def _quoted(command: str, mark: Path) -> str:
    return command.format(mark=mark).replace('"', '\\"')


def _started(mark: Path) -> list[int]:
    for _ in range(1000):
        if mark.exists() and (pids := mark.read_text().split()):
            return list(map(int, pids))
        time.sleep(0.02)
    raise AssertionError("the script has not begun")


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
