"""Kernels hear the end of the statement that they are called for, in DuckDB's threads and within one long call."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError, ResourceError
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.optimizer.evaluate import evaluate
from sharkpy.plan.expr import Call, Literal
from sharkpy.udf.masking import mask_text
from sharkpy.udf.printf import printf
from sharkpy.udf.string_kernels import initcap, levenshtein, sentences
from sharkpy.udf.text_codes import java_hash, soundex
from sharkpy.udf.value_limit import check_value, limited_to
from sharkpy.values.types import INT, STRING
from tests.waiting import allowed

LONG = """SELECT max(shark_levenshtein(repeat('a' || x, 3000), repeat('b' || x, 3000))) FROM range(100000) AS t(x)"""


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[ConnectionPool]:
    made = ConnectionPool(ConnectionSettings(2, 512 << 20, str(tmp_path)))
    yield made
    made.close()


def _cancelled_after(seconds: float) -> Cancellation:
    statement = Cancellation()
    timer = threading.Timer(seconds, statement.cancel)
    timer.daemon = True
    timer.start()
    return statement


def test_kernels_end_with_their_statement(pool: ConnectionPool) -> None:
    """No interrupt reaches DuckDB here: only the kernels hear."""
    start = time.perf_counter()
    with pytest.raises(duckdb.Error, match="cancelled"), pool.borrow(_cancelled_after(0.3)) as connection:
        connection.execute(LONG).fetchall()
    assert time.perf_counter() - start < allowed(3)


def test_kernels_of_others_go_on(pool: ConnectionPool) -> None:
    ended = Cancellation()
    ended.cancel()
    with pool.borrow(ended) as one, pool.borrow(Cancellation()) as other:
        query = "SELECT sum(shark_levenshtein('kitten' || x, 'sitting' || x)) FROM range(1000) AS t(x)"
        with pytest.raises(duckdb.Error, match="cancelled"):
            one.execute(query).fetchall()
        assert other.execute(query).fetchall() == [(3000,)]


def test_a_connection_is_lent_to_one_statement_after_another(pool: ConnectionPool) -> None:
    ended = Cancellation()
    ended.cancel()
    with pool.borrow(ended):
        pass
    with pool.borrow() as connection:
        assert connection.execute("SELECT shark_levenshtein('ä', 'b')").fetchall() == [(1,)]


def test_folding_ends_with_the_statement() -> None:
    statement = Cancellation()
    statement.cancel()
    call = Call("levenshtein", (Literal("ä" * 2000, STRING), Literal("b" * 2001, STRING)), INT)
    with statement.active(), pytest.raises(CancelledError):
        evaluate([call])
    (value,) = evaluate([call])
    assert value == Literal(2001, INT)


@pytest.mark.parametrize(
    "call",
    [
        lambda: levenshtein("a" * 60_000, "b" * 60_000),
        lambda: initcap("ab " * 20_000_000),
        lambda: soundex("a" * 50_000_000),
        lambda: java_hash("a" * 50_000_000),
        lambda: mask_text("a" * 50_000_000, "all", 0, 88, 120, 110, -1),
        lambda: sentences("One two. " * 3_000_000),
        lambda: printf("%1$s" * 3_000_000, "x", ["a"]),
    ],
    ids=["levenshtein", "initcap", "soundex", "java_hash", "mask_text", "sentences", "printf"],
)
def test_a_long_call_hears_the_end(call: Callable[[], object]) -> None:
    start = time.perf_counter()
    with _cancelled_after(0.02).active(), pytest.raises(CancelledError):
        call()
    assert time.perf_counter() - start < allowed(1)


def test_the_limit_is_that_of_the_connection(tmp_path: Path) -> None:
    small = ConnectionPool(ConnectionSettings(1, 512 << 20, str(tmp_path), value_bytes=100_000))
    with small.borrow() as connection, pytest.raises(duckdb.Error, match="more than the 100000"):
        connection.execute("SELECT shark_format_places('1.5', 200000, false)").fetchall()
    small.close()


def test_a_value_is_checked_before_it_is_made() -> None:
    with limited_to(1000), pytest.raises(ResourceError, match="f would make a value of 1001 bytes, more than the 1000"):
        check_value("f", 1001)
    check_value("f", 1001)
