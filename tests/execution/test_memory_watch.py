"""Cancelled statements when the process holds too much memory, and the memory that is returned."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from sharkpy.base.errors import ResourceError
from sharkpy.columnar import host
from sharkpy.columnar.host import private_memory
from sharkpy.execution import memory_watch
from sharkpy.execution.memory_watch import MemoryWatch, give_back_memory
from sharkpy.execution.statement import Statement
from tests.waiting import until

MB = 1 << 20


class Process:
    """A process whose memory and running statements the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, limit: int = 1000 * MB) -> None:
        self.held = 100 * MB
        self.now = 50.0
        self.ticks: dict[int, int] = {}
        self.statements: list[Statement] = []
        monkeypatch.setattr(memory_watch, "private_memory", lambda: self.held)
        monkeypatch.setattr(memory_watch, "thread_ticks", lambda thread: self.ticks.get(thread, 0))
        monkeypatch.setattr(memory_watch, "give_back_memory", lambda: None)
        monkeypatch.setattr(memory_watch, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.watch = MemoryWatch(limit, lambda: self.statements)

    def begin(self) -> Statement:
        statement = Statement()
        statement.thread = statement.number
        self.statements.append(statement)
        return statement

    def look(self, grown: int, **ticks: Statement) -> None:
        """A tenth of a second goes by; the process grows by so many MB while `ten` and `one` compute so many ticks."""
        first = min(grown, 10) if grown > 0 else 0
        for part, computed in ((first, {}), (grown - first, ticks)):
            self.now += 0.05
            self.held += part * MB
            for name, statement in computed.items():
                self.ticks[statement.number] = self.ticks.get(statement.number, 0) + {"ten": 10, "one": 1}[name]
            self.watch.look(self.held)


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(monkeypatch)


def ended(*statements: Statement) -> list[bool]:
    return [one.is_cancelled for one in statements]


def test_who_computes_has_taken_it(process: Process) -> None:
    idle, busy = process.begin(), process.begin()
    process.look(800, ten=busy)
    assert busy.grown_bytes > 700 * MB > 100 * MB > idle.grown_bytes
    process.look(200, ten=busy)
    assert ended(idle, busy) == [False, True]
    error = busy.error
    assert isinstance(error, ResourceError)
    assert error.sqlstate == "53200"
    assert "shark.process.memory allows 1,048,576,000" in error.message


def test_a_statement_goes_on_while_it_is_looked_at(process: Process) -> None:
    class Moving(Statement):
        """Another thread works for it each time it is asked for."""

        def __getattribute__(self, name: str) -> object:
            return next(numbers) if name == "thread" else super().__getattribute__(name)

    numbers = itertools.count(1)
    moving = Moving()
    process.statements.append(moving)
    process.look(800)
    assert moving.grown_bytes == 800 * MB


def test_the_next_one_has_to_go_where_the_first_does_not_help(process: Process) -> None:
    small, large = process.begin(), process.begin()
    process.look(700, ten=large)
    process.look(150, ten=small)
    process.look(100, ten=large)
    assert ended(small, large) == [False, True]
    for _ in range(28):
        process.look(0)
    assert ended(small, large) == [False, True], "it has three seconds to give back what it has"
    for _ in range(4):
        process.look(0)
    assert ended(small, large) == [True, True]


def test_who_has_little_goes_on_where_ended_ones_are_slow(process: Process) -> None:
    """A growth also counts for statements that happen to compute meanwhile."""
    small, large = process.begin(), process.begin()
    process.look(1300, ten=large, one=small)
    assert small.grown_bytes > 8 * MB
    small.grown_bytes = 10 * MB
    for _ in range(50):
        process.look(0)
    assert ended(small, large) == [False, True]


def test_several_are_ended_at_once_where_one_is_not_enough(process: Process) -> None:
    statements = [process.begin() for _ in range(5)]
    process.look(5000)
    for _ in range(5):
        process.look(0)
    assert ended(*statements) == [True] * 5


def test_of_equals_the_newest_goes(process: Process) -> None:
    old, new = process.begin(), process.begin()
    process.look(1000)
    assert ended(old, new) == [False, True]


def test_what_is_gone_is_no_more_counted(process: Process) -> None:
    one, other = process.begin(), process.begin()
    process.look(600, ten=one)
    process.look(-550)
    process.look(400, ten=other)
    process.look(500, ten=other)
    assert ended(one, other) == [False, True]


def test_what_an_ended_one_has_left_is_nobody_elses(process: Process) -> None:
    gone, stays = process.begin(), process.begin()
    process.look(400, ten=gone)
    process.look(200, ten=stays)
    before = stays.grown_bytes
    process.statements.remove(gone)
    process.look(0)
    process.look(-150)
    assert stays.grown_bytes == before


def test_what_an_ended_one_has_left_is_given_back(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []

    def give_back() -> None:
        given.append(process.held)
        process.held = 100 * MB

    monkeypatch.setattr(memory_watch, "give_back_memory", give_back)
    one = process.begin()
    process.look(500, ten=one)
    process.look(0, ten=one)
    assert not given
    process.statements.remove(one)
    process.look(0)
    process.look(0)
    assert given == [600 * MB]
    assert process.watch.held == 100 * MB


def test_unused_memory_goes_back_before_anybody_is_ended(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_watch, "give_back_memory", lambda: setattr(process, "held", 100 * MB))
    one = process.begin()
    process.look(2000, ten=one)
    assert not one.is_cancelled


def test_a_statement_beyond_its_own_limit(process: Process) -> None:
    """Memory is counted while no other statement works: otherwise the growth may be another's."""
    limited, other = process.begin(), process.begin()
    limited.memory_limit = 10 * MB
    process.look(600, ten=limited)
    assert ended(limited, other) == [False, False]
    other.thread = 0
    process.look(-500)
    process.look(400, ten=limited)
    assert ended(limited, other) == [False, False]
    process.look(200, ten=limited)
    assert ended(limited, other) == [True, False]
    assert limited.error is not None
    assert "shark.query.memory allows 10,485,760" in limited.error.message


def test_a_thread_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(monkeypatch)
    statement = process.begin()
    process.watch.start()
    process.held += 2000 * MB
    until(lambda: statement.is_cancelled)
    process.watch.close()


def test_memory_is_measured_and_goes_back() -> None:
    before = private_memory()
    pieces = [bytearray(64 << 10) for _ in range(4096)]
    array = pa.array(range(10))
    for piece in pieces:
        piece[::4096] = b"x" * 16
    assert private_memory() - before > 200 * MB
    last = pieces.pop()
    del pieces
    give_back_memory()
    assert private_memory() - before < 60 * MB
    assert len(last) + len(array)


def test_a_control_group_limits_the_memory(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    for folder, name, value in (
        ("a", "memory.max", "5000"),
        ("a/b", "memory.max", "max"),
        ("memory/x", "memory.limit_in_bytes", "7000"),
    ):
        (mount / folder).mkdir(parents=True, exist_ok=True)
        (mount / folder / name).write_text(f"{value}\n")
    memberships = tmp_path / "memberships"
    memberships.write_text("9:name=systemd:/\n4:memory,cpu:/x/y\n3:cpu:/x\n0::/a/b\n")
    assert sorted(host._control_group_limits(memberships, mount)) == [5000, 7000]
    assert list(host._control_group_limits(tmp_path / "missing", mount)) == []


def test_a_process_at_rest_gives_back(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def give_back() -> None:
        given.append(process.now)
        process.held -= 50 * MB

    monkeypatch.setattr(memory_watch, "give_back_memory", give_back)
    for _ in range(20):
        # Of statements that are too short to be seen.
        process.look(7)
    assert not given
    running = process.begin()
    for _ in range(100):
        process.look(0)
    assert not given
    process.statements.remove(running)
    for _ in range(100):
        process.look(0)
    assert len(given) == 1
    assert process.watch.held == 190 * MB
    for _ in range(100):
        process.look(0)
    assert len(given) == 1, "it holds what it held at its last rest"
    process.look(70)
    for _ in range(100):
        process.look(0)
    assert len(given) == 2
