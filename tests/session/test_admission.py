"""Turns of queries: how many run at once, the order of waiting, and the ends of a wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, ResourceError
from sharkpy.base.settings import Conf
from sharkpy.execution.queries.admission import Admission
from sharkpy.execution.spark.pools import Pool
from sharkpy.execution.statement import Progress, Statement
from tests.waiting import allowed, until

ENDLESS = "SELECT count(*) FROM t a CROSS JOIN t b CROSS JOIN t c WHERE hash(a.k, b.k, c.k) % 7 = 3"
SHORT = "SELECT sum(k) FROM t WHERE k > 0"


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE t AS SELECT explode(sequence(1, 3000)) AS k; CACHE TABLE t")
    return context


def one_at_a_time(context: sharkpy.SharkContext, **conf: object) -> None:
    for key, value in {"shark.query.max.concurrent": 1, "shark.query.short.max.rows": 0, **conf}.items():
        context.conf.set(key, str(value))


def in_background(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        with pytest.raises(CancelledError):
            work()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def occupy(context: sharkpy.SharkContext) -> tuple[sharkpy.SharkContext, threading.Thread]:
    """Session whose query has the only turn, until it is cancelled."""
    session = context.new_session()
    thread = in_background(session.sql(ENDLESS).fetchall)
    until(lambda: context._shared.admission.num_running == 1)
    return session, thread


def test_short_queries_pass_long_ones(context: sharkpy.SharkContext) -> None:
    sessions = [context.new_session() for _ in range(4)]
    threads = [in_background(session.sql(ENDLESS).fetchall) for session in sessions]
    admission = context._shared.admission
    until(lambda: admission.num_running == 1 and admission.num_waiting == 3)
    usages = {one.lane: (one.running, one.waiting, len(one.pools)) for one in admission.usage()}
    assert usages["short"] == (0, 0, 0)
    assert sorted([usages["long"], usages["longest"]]) == [(0, 0, 0), (1, 3, 4)], "each session is a pool"
    start = time.monotonic()
    result = context.sql(SHORT)
    assert result.fetchall() == [(3000 * 3001 // 2,)]
    assert time.monotonic() - start < allowed(5)
    assert result.profile is not None
    assert result.profile.queued_seconds < 1
    assert all(thread.is_alive() for thread in threads)
    for session, thread in zip(sessions, threads, strict=True):
        session.stop()
        thread.join()
    assert (admission.num_running, admission.num_waiting) == (0, 0)


def test_a_full_queue_refuses(context: sharkpy.SharkContext) -> None:
    one_at_a_time(context, **{"shark.query.queue.max": 0})
    session, thread = occupy(context)
    with pytest.raises(ResourceError, match=r"shark\.query\.queue\.max allows 0") as caught:
        context.sql(SHORT).fetchall()
    assert caught.value.sqlstate == "53300"
    session.cancel()
    thread.join()
    assert len(context.sql(SHORT).fetchall()) == 1


def test_waiting_has_an_end(context: sharkpy.SharkContext) -> None:
    one_at_a_time(context, **{"shark.query.queue.timeout": 0.3})
    session, thread = occupy(context)
    start = time.monotonic()
    with pytest.raises(ResourceError, match=r"shark\.query\.queue\.timeout") as caught:
        context.sql(SHORT).fetchall()
    assert caught.value.sqlstate == "53300"
    assert 0.3 <= time.monotonic() - start < allowed(5)
    session.cancel()
    thread.join()


def test_waiting_is_seen_and_cancelled(context: sharkpy.SharkContext) -> None:
    one_at_a_time(context)
    session, thread = occupy(context)
    seen: list[Progress] = []
    remove = context.add_progress_listener(seen.append)
    result = context.sql(SHORT)
    waiting = in_background(result.fetchall)
    until(lambda: any(progress.queued_behind == 0 for progress in seen))
    start = time.monotonic()
    result.cancel()
    waiting.join()
    assert time.monotonic() - start < allowed(1)
    remove()
    following = context.sql(SHORT)
    timer = threading.Timer(0.4, session.cancel)
    timer.start()
    assert len(following.fetchall()) == 1
    assert following.profile is not None
    assert following.profile.queued_seconds >= 0.3
    timer.join()
    thread.join()


def test_statements_without_work_do_not_wait(context: sharkpy.SharkContext) -> None:
    one_at_a_time(context, **{"shark.query.queue.max": 0})
    session, thread = occupy(context)
    for text in (
        "SHOW TABLES",
        "SET a=b",
        "DESCRIBE t",
        "SELECT 1",
        "SELECT count(*), max(k) FROM t",
        "EXPLAIN " + SHORT,
    ):
        context.sql(text).fetchall()
    session.cancel()
    thread.join()


def test_a_result_that_is_not_read_on_gives_its_turn_away(context: sharkpy.SharkContext) -> None:
    one_at_a_time(context, **{"shark.query.queue.timeout": 5, "shark.result.batch.rows": 100})
    first = context.sql("SELECT k FROM t ORDER BY k")
    assert first.fetchone() == (1,)
    assert len(context.sql(SHORT).fetchall()) == 1
    assert len(first.fetchall()) == 2999
    assert context._shared.admission.num_running == 0


def turns(weights: dict[str, int], per_pool: int) -> list[str]:
    """Order in which queries of equal length get the only turn, if all come before the first is done."""
    admission = Admission(Conf({"shark.query.max.concurrent": "1", "shark.query.short.max.rows": "0"}), lambda: 1)
    order: list[str] = []
    gate = threading.Event()

    def run(pool: Pool) -> None:
        with admission.turn(1, pool, Statement(), lambda num_before: None):
            order.append(pool.name)
            gate.wait() if pool.name == "first" else time.sleep(0.03)

    threads = [threading.Thread(target=run, args=(Pool("first"),))]
    for number in range(per_pool):
        threads += [threading.Thread(target=run, args=(Pool(name, weights[name]),)) for name in weights]
        del number
    for place, thread in enumerate(threads):
        thread.start()
        until(lambda place=place: admission.num_running + admission.num_waiting == place + 1)  # type: ignore[misc]
    gate.set()
    for thread in threads:
        thread.join()
    return order[1:]


def test_pools_take_turns() -> None:
    order = turns({"a": 1, "b": 1}, 6)
    assert {order.count("a"), order.count("b")} == {6}
    for half in (order[:6], order[6:]):
        assert 2 <= half.count("a") <= 4


def test_a_pool_of_more_weight_has_more_turns() -> None:
    order = turns({"a": 1, "b": 3}, 9)
    assert order[:8].count("b") >= 5


def test_queries_of_a_pool_keep_their_order() -> None:
    admission = Admission(Conf({"shark.query.max.concurrent": "1", "shark.query.short.max.rows": "0"}), lambda: 1)
    order: list[int] = []
    gate = threading.Event()

    def run(number: int) -> None:
        with admission.turn(1, Pool("one"), Statement(), lambda num_before: None):
            gate.wait()
            order.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for number, thread in enumerate(threads):
        thread.start()
        until(lambda number=number: admission.num_running + admission.num_waiting == number + 1)  # type: ignore[misc]
    # Not before: the sum that is waited for above would be there for less than a look's interval.
    gate.set()
    for thread in threads:
        thread.join()
    assert order == list(range(8))
