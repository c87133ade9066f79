"""A statement hears its end from the first byte of its text on, in whichever phase it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, StatementTimeoutError
from sharkpy.sql import context as bind_context
from sharkpy.sql.grammar import long_text
from tests.waiting import allowed

_SECONDS = 0.3
LONG = {
    "words": "SELECT " + "a, " * 400_000 + "a FROM t",
    "plus": "SELECT " + "a + " * 200_000 + "a FROM t",
    "and": "SELECT a FROM t WHERE " + " AND ".join(f"a > {n} + b" for n in range(60_000)),
    "or": "SELECT a FROM t WHERE " + " OR ".join(f"(a = {n} AND b = {n})" for n in range(60_000)),
    "union": " UNION ALL ".join(["SELECT a FROM t"] * 60_000),
    "constants": " UNION ALL ".join(["SELECT 1"] * 60_000),
    "decimals": "SELECT a IN (" + ", ".join(f"{n}.5" for n in range(300_000)) + ") FROM t",
    "case": "SELECT CASE " + " ".join(f"WHEN a = {n} THEN {n}" for n in range(60_000)) + " END FROM t",
    "calls": "SELECT concat(" + ", ".join(f"upper(b + {n})" for n in range(60_000)) + ") FROM t",
    "groups": "SELECT 1 FROM t GROUP BY " + ", ".join(f"a + {n}" for n in range(60_000)),
    "names": "SELECT a + 1 x0" + "".join(f", x{n} + x{n} x{n + 1}" for n in range(22)) + " FROM t",
    "explain": "EXPLAIN SELECT a FROM t WHERE " + " OR ".join(f"(a = {n} AND b = {n})" for n in range(60_000)),
    "insert": "INSERT INTO t SELECT " + "a + " * 200_000 + "a, b FROM t",
    "view": "CREATE VIEW w AS SELECT " + ", ".join(f"a + {n} c{n}" for n in range(60_000)) + " FROM t",
}
"""Texts that take seconds to plan, or to refuse."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        opened.sql("CREATE TABLE t (a INT, b INT)")
        opened.sql("INSERT INTO t VALUES (1, 2)")
        yield opened


@pytest.fixture(autouse=True)
def without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are not refused here, so that all phases see large statements."""
    monkeypatch.setattr(long_text, "MOST_TOKENS", 1 << 40)
    monkeypatch.setattr(bind_context.ExpressionBudget.__init__, "__defaults__", (1 << 40,))


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", LONG)
def test_a_limit_ends_it(session: sharkpy.SharkContext, name: str) -> None:
    start = time.monotonic()
    with pytest.raises(StatementTimeoutError):
        session.prepare(LONG[name], timeout=_SECONDS).run().fetchall()
    assert time.monotonic() - start < _SECONDS + allowed(1.5)


@pytest.mark.parametrize("seconds", [0.05, 0.5, 1.5, 3])
@pytest.mark.parametrize("name", ["and", "or", "calls"])
def test_a_cancel_ends_it_in_every_phase(session: sharkpy.SharkContext, name: str, seconds: float) -> None:
    cancelled: list[float] = []
    ended = threading.Event()

    def cancel() -> None:
        # On a busy machine the first one may come before the statement.
        wait = seconds
        while not ended.wait(wait):
            cancelled.append(time.monotonic())
            session.cancel()
            wait = 0.1

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        with pytest.raises(CancelledError):
            session.sql(LONG[name]).fetchall()
    finally:
        ended.set()
        canceller.join()
    assert time.monotonic() - cancelled[0] < allowed(1.5)


def test_others_go_on_meanwhile(session: sharkpy.SharkContext) -> None:
    """Planning holds Python's lock for moments only: another session's statements take their usual time."""
    stopped = threading.Event()

    def plan_for_long() -> None:
        while not stopped.is_set():
            with pytest.raises(StatementTimeoutError), session.new_session() as own:
                own.prepare(LONG["or"], timeout=1).run()

    thread = threading.Thread(target=plan_for_long)
    thread.start()
    taken = []
    try:
        with session.new_session() as other:
            for _ in range(30):
                start = time.monotonic()
                assert other.sql("SELECT 1").fetchall() == [(1,)]
                taken.append(time.monotonic() - start)
    finally:
        stopped.set()
        thread.join()
    assert max(taken) < allowed(1)
