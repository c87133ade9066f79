"""Statements that could stop or starve a server: each ends as it must, and another client is served meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

import sharkpy
from sharkpy.thrift.bindings import ttypes
from tests.thrift.caller import SUCCESS, Caller, columns_of
from tests.thrift.conftest import MAKE_NUMBERS
from tests.thrift.evil.evil import LIMIT, Answer, Evil
from tests.thrift.evil.files import FILES, write_files
from tests.thrift.evil.patterns import PATTERNS
from tests.thrift.evil.rows import ROWS, THINGS
from tests.thrift.evil.texts import TEXTS
from tests.thrift.evil.values import VALUES
from tests.thrift.server_process import Process
from tests.waiting import allowed, is_busy

EVIL = (*PATTERNS, *VALUES, *TEXTS, *ROWS, *THINGS, *FILES)
QUERY_SECONDS = 5
OTHERS_SECONDS = 1.0
"""Longest that another client may wait for SELECT 1."""
ENDED_SECONDS = QUERY_SECONDS + 5
MEMORY = 4 << 30
"""Bytes that the server's process may hold after any of them."""


def test_there_are_many() -> None:
    names = [evil.name for evil in EVIL]
    assert len(EVIL) >= 200
    assert len(set(names)) == len(names)
    assert sum(evil.is_short for evil in EVIL) >= 40


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._start()

    def _start(self) -> None:
        limit = f"query_seconds={QUERY_SECONDS}"
        self.process = Process(self.folder, "--limit", limit, settings={"shark.driver.memory": "2g"})

    def revived(self) -> Process:
        """The process, or another one if a statement has ended it."""
        if self.process.process.poll() is not None:
            self._start()
        return self.process

    def kill(self) -> None:
        self.process.process.kill()
        self.process.process.communicate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("evil")
    with sharkpy.connect("local[2]", folder / "w") as session:
        session.sql(MAKE_NUMBERS).close()
        session.sql("CREATE TABLE made (n BIGINT)").close()
    write_files(folder / "w" / "files")
    started = Server(folder)
    yield started
    started.kill()


@pytest.mark.variants(3)
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "evil", [pytest.param(one, id=one.name, marks=[] if one.is_short else [pytest.mark.slow]) for one in EVIL]
)
def test_it_ends_and_others_are_served(server: Server, evil: Evil) -> None:
    process = server.revived()
    text = evil.statement().replace("{files}", str(server.folder / "w" / "files"))
    with Caller(process.port) as caller, Others(process.port) as others:
        began = time.monotonic()
        ended = _end_of(caller, text)
        seconds = time.monotonic() - began
    assert process.process.poll() is None, "the server has ended"
    if not (ended in LIMIT and seconds >= QUERY_SECONDS and is_busy()):
        _check(evil, ended)
    assert seconds < allowed(ENDED_SECONDS)
    assert others.longest() < allowed(OTHERS_SECONDS)
    assert _resident(process) < MEMORY


class Others:
    """Another client that asks for SELECT 1 all the time."""

    def __init__(self, port: int) -> None:
        self._caller = Caller(port)
        self._caller.rows("SELECT 1")
        self._waits: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Others:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._caller.transport.close()

    def longest(self) -> float:
        """Seconds of the 99th part in a hundred of the waits."""
        return sorted(self._waits)[int(len(self._waits) * 0.99)]

    def _ask(self) -> None:
        for number in count():
            began = time.monotonic()
            ended = _end_of(self._caller, "SELECT 1")
            self._waits.append(time.monotonic() - began)
            # On a machine that is busy enough it meets the limit, too: `longest` says whether that is too long.
            assert ended == (1,) or ended in LIMIT, number
            if self._done.wait(0.02):
                return


def _end_of(caller: Caller, text: str) -> tuple[object, ...] | str | None:
    """The first row, None without rows, or the SQLSTATE of the error."""
    began = caller.execute(text, is_async=True)
    if began.status.statusCode != SUCCESS:
        return str(began.status.sqlState)
    operation = began.operationHandle
    try:
        return _end_of_operation(caller, operation)
    finally:
        caller.close(operation)


def _end_of_operation(caller: Caller, operation: Any) -> tuple[object, ...] | str | None:
    status = caller.until_ended(operation)
    if status.operationState != ttypes.TOperationState.FINISHED_STATE:
        return str(status.sqlState)
    if not operation.hasResultSet:
        return None
    fetched = caller.fetch(operation, 1)
    if fetched.status.statusCode != SUCCESS:
        return str(fetched.status.sqlState)
    columns = columns_of(fetched)
    nulls = [next(one for one in vars(column).values() if one is not None).nulls for column in fetched.results.columns]
    row = tuple(
        None if ord(null[:1] or b"\0") & 1 else column[0] for column, null in zip(columns, nulls, strict=True) if column
    )
    return row or None


def _check(evil: Evil, ended: object) -> None:
    match evil.gets:
        case Answer(or_states=states):
            assert not isinstance(ended, str) or ended in states
        case tuple(states) if states and all(isinstance(one, str) and len(one) == 5 for one in states):
            assert ended in states
        case row:
            assert ended == row


def _resident(process: Process) -> int:
    return int(psutil.Process(process.process.pid).memory_info().rss)
