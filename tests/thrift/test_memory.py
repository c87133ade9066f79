"""Clients that ask for more memory than there is: each is ended, other clients go on, and the memory comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from tests.thrift.caller import Caller, State
from tests.thrift.conftest import MAKE_NUMBERS
from tests.thrift.server_process import Process
from tests.waiting import allowed, until

GB = 1 << 30
GREEDY = (
    "SELECT size(collect_list(concat(a.s, ' ', b.s))) FROM numbers a CROSS JOIN (SELECT s FROM numbers LIMIT 2000) b",
    "SELECT count(DISTINCT concat(a.s, ' ', b.s)) FROM numbers a CROSS JOIN (SELECT s FROM numbers LIMIT 2000) b",
    "SELECT max(size(split(repeat(a.s, 5000), ' '))), collect_list(repeat(a.s, 2000)) FROM numbers a",
)
FILLS = "SELECT max(size(c)) FROM (SELECT collect_list(s) OVER (ORDER BY n) AS c FROM numbers) t"
SMALL = "SELECT max(n) FROM numbers WHERE n < 8"


def resident(pid: int) -> int:
    """Bytes of a process's own memory."""
    _, all_pages, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(all_pages) - int(shared)) * 4096


class Sampler:
    """The most that a process has held so far."""

    def __init__(self, pid: int) -> None:
        self.most = 0
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.02):
            self.most = max(self.most, resident(self._pid))

    def stop(self) -> int:
        self._ended.set()
        self._thread.join()
        return self.most


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    with sharkpy.connect("local[2]", folder / "w") as session:
        session.sql(MAKE_NUMBERS).close()
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[Process]:
    """DuckDB may take more than the process: only the watch protects the machine from the clients."""
    settings = {
        "shark.process.memory": "1500m",
        "shark.driver.memory": "64g",
        "shark.query.max.concurrent": "64",
        "shark.placement.driver.max.bytes": "64g",
    }
    one = Process(folder, settings=settings)
    yield one
    one.process.kill()
    one.process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("clients", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_clients_that_ask_for_too_much(server: Process, clients: int) -> None:
    answers: list[tuple[int, str]] = []
    pid = server.process.pid

    def ask(number: int) -> None:
        with Caller(server.port) as caller:
            answer = caller.until_ended(caller.begin(GREEDY[number % len(GREEDY)]), 300)
            answers.append((answer.operationState, answer.sqlState))

    with Caller(server.port) as other:
        other.rows("SELECT count(*) FROM numbers")
        before, sampler = resident(pid), Sampler(pid)
        threads = [threading.Thread(target=ask, args=[number]) for number in range(clients)]
        for thread in threads:
            thread.start()
        seconds = []
        while any(thread.is_alive() for thread in threads):
            began = time.monotonic()
            assert other.rows("SELECT 1") == [[1]]
            seconds.append(time.monotonic() - began)
            time.sleep(0.02)
        most = sampler.stop()
        print(f"most {most / GB:.2f} GB; select 1: {len(seconds)}, worst {max(seconds):.2f} s")
        assert {state for _, state in answers} <= {"53200", None}
        assert (State.ERROR_STATE, "53200") in answers
        assert len(answers) == clients
        assert most < 8 * GB
        assert sorted(seconds)[int(len(seconds) * 0.99) - 1] < allowed(1)
        until(lambda: resident(pid) < before + GB // 4)
        assert other.rows("SELECT count(*) FROM numbers") == [[100_000]]
    server.stop()
    assert "sharkpy.execution.memory_watch" in server.wait(60)


@pytest.fixture
def narrow(folder: Path) -> Iterator[Process]:
    """DuckDB has little memory, and no room to spill."""
    one = Process(folder, settings={"shark.driver.memory": "192m", "shark.temp.max.bytes": "1m"})
    yield one
    one.process.kill()
    one.process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_clients_beside_some_that_fill_the_database(narrow: Process) -> None:
    """All queries share DuckDB's memory. Queries that ask for more than it has are ended, whichever query meets its end
    first.
    """
    states: list[str] = []

    def ask() -> None:
        with Caller(narrow.port) as caller:
            states.extend(caller.until_ended(caller.begin(FILLS), 120).sqlState for _ in range(3))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    answers = []
    with Caller(narrow.port) as other:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            answers += [other.rows("SELECT 1"), other.rows(SMALL)]
    assert states == ["53200"] * 6
    assert all(answer == [[1]] for answer in answers[::2])
    assert all(answer == [[7]] for answer in answers[1::2])
    assert len(answers) > 10


@pytest.mark.slow
def test_large_results_leave_nothing_behind(server: Process) -> None:
    """DuckDB's allocator keeps more memory of such results than the rows that are ready."""
    pid = server.process.pid
    with Caller(server.port) as caller:
        caller.rows("SELECT length(repeat('x', 1000))")
        before = resident(pid)
        for _ in range(3):
            operation = caller.begin("SELECT repeat(s, 20000) FROM numbers")
            caller.until_ended(operation)
            caller.fetch(operation, 10)
            caller.close(operation)
        until(lambda: resident(pid) < before + GB // 5)
