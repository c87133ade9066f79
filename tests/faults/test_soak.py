"""Thirty sessions of a server for long, with kills and evil statements between: sums hold, and nothing grows."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

import sharkpy
from sharkpy.base.errors import InternalError
from tests.thrift.caller import SUCCESS, Caller, State, columns_of
from tests.thrift.conftest import LONG_QUERY, MAKE_NUMBERS
from tests.thrift.server_process import Process
from tests.waiting import until

pytestmark = pytest.mark.spark

SESSIONS = 30
ACCOUNTS = 20
TOTAL = 1000 * ACCOUNTS
BATCH = 10
"""Rows of an INSERT: a batch is there whole or not at all."""
EVIL = (
    "SELECT concat(repeat('a', 40), 'b') RLIKE '^(a+)+$'",
    "SELECT repeat('x', 2000000000)",
    "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT 1 IN (" + ", ".join(map(str, range(20_000))) + ")",
    "SELECT count(*) FROM no_such_table",
    "SELECT explode(sequence(1, 2000000000))",
)


class WrongAnswerError(Exception):
    pass


class Refused(Exception):
    """An error of the server that tells the client why, as it may."""


@dataclass
class Client:
    """A session that does this and that; errors other than clear ones, and wrong sums, are raised."""

    caller: Caller
    chance: random.Random
    number: int
    done: int = 0

    def act(self) -> None:
        action = self.chance.choices(_ACTIONS, _WEIGHTS)[0]
        try:
            action(self)
        except Refused:
            return
        self.done += 1

    def rows(self, text: str) -> list[list[object]]:
        answer = self.caller.execute(text)
        if answer.status.statusCode != SUCCESS:
            state = answer.status.sqlState
            if state == InternalError.sqlstate or (state.startswith("42") and text not in EVIL):
                raise WrongAnswerError(f"{text[:200]}: {answer.status.errorMessage}")
            raise Refused(answer.status.errorMessage)
        handle = answer.operationHandle
        columns = columns_of(self.caller.fetch(handle)) if handle.hasResultSet else []
        self.caller.close(handle)
        return columns

    def expect(self, text: str, holds: Callable[..., bool]) -> None:
        found = [column[0] for column in self.rows(text)]
        if not holds(*found):
            raise WrongAnswerError(f"{text}: {found}")

    def sums(self) -> None:
        self.expect("SELECT sum(amount), count(*) FROM accounts", lambda total, n: (total, n) == (TOTAL, ACCOUNTS))
        self.expect("SELECT count(*), coalesce(sum(v), 0) FROM batches", lambda n, v: n == v and n % BATCH == 0)

    def transfer(self) -> None:
        """Move an amount from one account to another. The sum stays, whatever other writers do at the same time."""
        first, second = self.chance.sample(range(ACCOUNTS), 2)
        change = f"CASE id WHEN {first} THEN -7 WHEN {second} THEN 7 ELSE 0 END"
        self.rows(f"INSERT OVERWRITE TABLE accounts SELECT id, amount + {change} FROM accounts")

    def insert(self) -> None:
        values = ", ".join(["(1)"] * BATCH)
        self.rows(f"INSERT INTO batches VALUES {values}")

    def own_table(self) -> None:
        name = f"own_{self.number}"
        self.rows(f"DROP TABLE IF EXISTS {name}")
        cached = self.chance.choice(["TBLPROPERTIES ('shark.cache' = 'MEMORY')", "STORED AS ORC", ""])
        self.rows(f"CREATE TABLE {name} {cached} AS SELECT n, s FROM numbers WHERE n < 5000")
        self.expect(f"SELECT count(*), sum(n) FROM {name}", lambda *found: found == (5000, 12_497_500))
        self.rows(f"DROP TABLE {name}")

    def models(self) -> None:
        points = "(SELECT cast(n % 7 AS DOUBLE) AS x, cast(n % 11 AS DOUBLE) AS y FROM numbers WHERE n < 900)"
        groups = self.rows(f"GENERATE KMeans({points}, 3)")
        if {len(column) for column in groups} != {900}:
            raise WrongAnswerError(f"{[len(column) for column in groups]} of 900 points are in groups")

    def join(self) -> None:
        self.expect("SELECT count(*), sum(b.n) FROM numbers a JOIN numbers b ON a.n = b.n", _all_numbers)

    def cancel(self) -> None:
        operation = self.caller.begin(LONG_QUERY)
        time.sleep(self.chance.random())
        self.caller.cancel(operation)
        state = self.caller.until_ended(operation).operationState
        self.caller.close(operation)
        if state not in (State.CANCELED_STATE, State.ERROR_STATE):
            raise WrongAnswerError(f"a cancelled query is in state {state}")

    def evil(self) -> None:
        self.rows(self.chance.choice(EVIL))

    def renew(self) -> None:
        """A client that goes without a word, and one that comes."""
        port = self.caller.transport._TBufferedTransport__trans.port
        self.caller.transport.close()
        Caller.made.remove(self.caller)
        self.caller = Caller(port)


def _all_numbers(count: int, total: int) -> bool:
    return (count, total) == (100_000, 4_999_950_000)


_ACTIONS = (
    Client.sums,
    Client.transfer,
    Client.insert,
    Client.own_table,
    Client.models,
    Client.join,
    Client.cancel,
    Client.evil,
    Client.renew,
)
_WEIGHTS = (30, 10, 10, 10, 3, 10, 5, 10, 5)


@contextmanager
def _server(folder: Path) -> Iterator[Process]:
    with sharkpy.connect("local[2]", folder / "w") as session:
        session.sql(MAKE_NUMBERS).close()
        session.sql("CREATE TABLE batches (v INT)").close()
        ids = f"(SELECT explode(sequence(0, {ACCOUNTS - 1})) AS id) t"
        session.sql(f"CREATE TABLE accounts AS SELECT id, 1000 AS amount FROM {ids}").close()
    process = Process(folder, "--limit", "query_seconds=20")
    try:
        yield process
    finally:
        process.process.kill()
        process.process.communicate()


@dataclass(frozen=True, slots=True)
class Held:
    """Figures of a server that has nothing to do."""

    files: int
    threads: int
    shared_bytes: int
    resident: int

    @classmethod
    def by(cls, server: Process) -> Held:
        process = psutil.Process(server.process.pid)
        shared = sum(path.stat().st_size for path in server.shm.rglob("*") if path.is_file())
        return cls(process.num_fds(), process.num_threads(), shared, process.memory_info().rss)


def _work(port: int, seconds: float, seed: int, failures: list[str]) -> int:
    """Work of all sessions for so long; returns the number of actions that ended well."""
    end = time.monotonic() + seconds
    done: list[int] = []

    def run(number: int) -> None:
        try:
            client = Client(Caller(port), random.Random(seed * 1000 + number), number)
            while time.monotonic() < end and not failures:
                client.act()
            client.caller.close_session()
            client.caller.transport.close()
            Caller.made.remove(client.caller)
            done.append(client.done)
        except Exception as error:
            failures.append(f"session {number}, seed {seed}: {error!r}"[:2000])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done)


def _kill_now_and_then(server: Process, seconds: float, seed: int) -> threading.Thread:
    """Kills of Python workers, their daemons and the JVM until the time is over."""
    chance = random.Random(seed)
    end = time.monotonic() + seconds

    def run() -> None:
        while time.monotonic() < end:
            time.sleep(chance.uniform(1, seconds / 10))
            family = psutil.Process(server.process.pid).children(recursive=True)
            if family:
                _kill(chance.choice(family))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def _kill(victim: psutil.Process) -> None:
    try:
        victim.kill()
    except psutil.NoSuchProcess:
        return


SECONDS = float(os.environ.get("SHARKPY_SOAK_SECONDS", "300"))
"""Length in `make test-all`; an hour by SHARKPY_SOAK_SECONDS=3600."""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [20, pytest.param(SECONDS, marks=pytest.mark.timeout(SECONDS * 2 + 600))])
def test_a_server_under_load(tmp_path: Path, seed: int, seconds: float) -> None:
    failures: list[str] = []
    with _server(tmp_path) as server:
        # On a busy machine it takes some seconds until all threads have begun.
        _work(server.port, max(seconds / 4, 20), seed, failures)
        before = _rested(server)
        killer = _kill_now_and_then(server, seconds * 0.7, seed)
        done = _work(server.port, seconds * 0.75, seed + 1, failures)
        killer.join()
        assert not failures
        assert done > SESSIONS
        with Caller(server.port) as caller:
            Client(caller, random.Random(seed), 0).sums()
        after = _rested(server)
    assert after.files <= before.files + 10, (before, after)
    assert after.threads <= before.threads + 10, (before, after)
    assert after.shared_bytes <= before.shared_bytes + (1 << 20), (before, after)
    assert after.resident <= before.resident * 1.3 + (200 << 20), (before, after)


def _rested(server: Process) -> Held:
    """Figures once they change no more."""
    last: list[Held] = [Held.by(server)]

    def is_calm() -> bool:
        # What statements have left is given back after some seconds without any.
        time.sleep(10)
        last.append(Held.by(server))
        return last[-1].files == last[-2].files and last[-1].threads == last[-2].threads

    until(is_calm, 120)
    return last[-1]
