"""Databases of one process that share its memory."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from sharkpy.execution.workers import memory_shares
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.execution.workers.memory_shares import MemoryShares
from tests.waiting import until

MB = 1 << 20


@pytest.fixture
def pool(tmp_path: Path) -> ConnectionPool:
    return ConnectionPool(ConnectionSettings(1, 400 * MB, str(tmp_path)))


class Database:
    """Database that notes the changes of its limit."""

    def __init__(self, wanted: int = 100) -> None:
        self.wanted_memory = self.memory_limit = wanted
        self.given: list[int] = []

    def limit_memory(self, size: int) -> None:
        if size != self.memory_limit:
            self.memory_limit = size
            self.given.append(size)


def limit(cursor: object) -> str:
    return str(cursor.execute("SELECT current_setting('memory_limit')").fetchone()[0])  # type: ignore[attr-defined]


def test_databases_in_use_share_the_memory(pool: ConnectionPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_shares, "CALM_SECONDS", 0.0)
    with pool.borrow() as one:
        assert limit(one) == "400.0 MiB"
        assert pool.decoded_limit == 100 * MB
        with pool.in_order().borrow() as other, pool.borrow() as third:
            assert [limit(cursor) for cursor in (one, other, third)] == ["200.0 MiB"] * 3
            assert pool.decoded_limit == 100 * MB // 3
        assert limit(one) == "400.0 MiB"
    with pool.in_order().borrow() as other:
        assert limit(other) == "400.0 MiB"
    pool.close()


def test_limits_stay_while_databases_are_used_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_shares, "CALM_SECONDS", 3600.0)
    shares, one, other = MemoryShares(100), Database(), Database()
    shares.enter(one)
    for _ in range(5):
        shares.enter(other)
        shares.leave(other)
    shares.leave(one)
    shares.enter(other)
    assert (one.memory_limit, other.memory_limit) == (50, 50)
    assert one.given == other.given == [50]
    assert shares._timer is not None
    shares._timer.cancel()


def test_a_thread_that_cannot_begin_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shares, one, other = MemoryShares(100), Database(), Database()

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    shares.enter(one)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        shares.enter(other)
        shares.leave(other)
    assert shares.num_queries == 1
    monkeypatch.setattr(memory_shares, "CALM_SECONDS", 0.05)
    shares.enter(other)
    shares.leave(other)
    until(lambda: one.memory_limit == 100)


def test_a_database_that_is_used_on_gets_its_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_shares, "CALM_SECONDS", 0.05)
    shares, one, other = MemoryShares(100), Database(), Database()
    shares.enter(one)
    shares.enter(other)
    shares.leave(other)
    until(lambda: one.memory_limit == 100)
    assert other.memory_limit == 50
    shares.leave(one)
    shares.enter(other)
    until(lambda: other.memory_limit == 100)


def test_a_query_right_behind_others_may_have_met_their_limit() -> None:
    shares, one, other = MemoryShares(100), Database(), Database()
    shares.enter(one)
    shares.enter(other)
    shares.leave(one)
    shares.leave(other)
    left = shares._left_at
    assert shares.had_others(left + 0.5)
    assert not shares.had_others(left + memory_shares.CALM_SECONDS + 0.5)


@pytest.mark.parametrize("calm", [0.0, 3600.0])
def test_databases_in_use_never_have_more_than_there_is(calm: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_shares, "CALM_SECONDS", calm)
    chance = random.Random(1)
    shares, databases = MemoryShares(150), [Database(wanted) for wanted in (100, 100, 60, 10)]
    entered: list[Database] = []
    for _ in range(500):
        if entered and chance.random() < 0.5:
            shares.leave(entered.pop(chance.randrange(len(entered))))
        else:
            entered.append(chance.choice(databases))
            shares.enter(entered[-1])
        assert sum(one.memory_limit for one in set(entered)) <= 150
        assert all(0 < one.memory_limit <= one.wanted_memory for one in databases)
    if shares._timer is not None:
        shares._timer.cancel()


def test_a_database_of_its_own_has_no_more_than_there_is(pool: ConnectionPool) -> None:
    large, small = pool.limited(4000 * MB), pool.limited(40 * MB)
    with large.borrow() as one:
        assert limit(one) == "400.0 MiB"
    with small.borrow() as one, pool.borrow() as other:
        assert int(limit(one).split(".")[0]) == 400 * 40 // 440
        assert int(limit(other).split(".")[0]) == 400 * 400 // 440
    for each in (large, small, pool):
        each.close()


def test_what_is_held_is_kept(pool: ConnectionPool) -> None:
    """A query that has taken more than its new share goes on; a new query takes the rest."""
    with pool.borrow() as one:
        one.execute("SET temp_directory = ''")
        one.execute("CREATE TEMP TABLE held AS SELECT range AS n, hash(range) AS h FROM range(18_000_000)")
        with pool.in_order().borrow() as other:
            assert other.execute("SELECT 1").fetchall() == [(1,)]
        assert one.execute("SELECT count(*) FROM held").fetchall() == [(18_000_000,)]
    pool.close()
