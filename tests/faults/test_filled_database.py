"""DuckDB's database of all driver queries, filled by one of them: the other queries go on, and a query that asks for
more is cancelled.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import duckdb
import pytest

import sharkpy
from sharkpy.base.errors import ResourceError
from sharkpy.execution.workers.memory_shares import MemoryShares

ROWS = 100_000
SMALL: dict[str, list[tuple[object, ...]]] = {
    "SELECT 1": [(1,)],
    "SELECT count(*), max(s) FROM numbers": [(ROWS, "row 99999")],
    "SELECT n % 2 AS k, count(*) FROM numbers GROUP BY n % 2 ORDER BY k": [(0, ROWS // 2), (1, ROWS // 2)],
    "SELECT count(*) FROM numbers a JOIN (SELECT * FROM numbers WHERE n < 50) b ON a.n = b.n": [(50,)],
}
GREEDY = "SELECT max(size(c)) FROM (SELECT collect_list(s) OVER (ORDER BY n) AS c FROM numbers) t"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    """Session whose queries cannot spill what they hold."""
    folder = tmp_path_factory.mktemp("filled")
    conf = {"shark.driver.memory": "128m", "shark.temp.max.bytes": "1m", "shark.temp.dir": str(folder)}
    with sharkpy.connect("local[2]", folder / "w", **conf) as context:
        numbers = f"(SELECT explode(sequence(0, {ROWS - 1})) AS n) t"
        context.sql(f"CREATE TABLE numbers AS SELECT n, concat('row ', n) AS s FROM {numbers}").close()
        context.sql("CREATE TABLE made (n BIGINT)").close()
        yield context


@contextlib.contextmanager
def filled(context: sharkpy.SharkContext) -> Iterator[None]:
    """Inside, another query has all the memory of the database."""
    with context.engine.pool.borrow() as connection:
        connection.execute("CREATE TEMP TABLE held (x VARCHAR)")
        for rows in (10_000, 1_000, 100, 10, 1):
            with contextlib.suppress(duckdb.Error):
                while True:
                    connection.execute(f"INSERT INTO held SELECT repeat(range::VARCHAR, 200) FROM range({rows})")
        yield
        connection.execute("DROP TABLE held")


@pytest.mark.variants(3)
@pytest.mark.parametrize("query", SMALL)
def test_a_small_query_has_its_answer(owner: sharkpy.SharkContext, query: str) -> None:
    with filled(owner):
        assert owner.sql(query).fetchall() == SMALL[query]


def test_a_small_insert_is_done_once(owner: sharkpy.SharkContext) -> None:
    with filled(owner):
        owner.sql("INSERT OVERWRITE TABLE made SELECT n FROM numbers WHERE n < 20").close()
    assert owner.sql("SELECT count(*), sum(n) FROM made").fetchall() == [(20, 190)]


@pytest.mark.slow
def test_who_asks_for_more_is_ended(owner: sharkpy.SharkContext) -> None:
    """Also in a database of its own."""
    with filled(owner), pytest.raises(ResourceError, match="out of memory: ") as caught:
        owner.sql(GREEDY).fetchall()
    assert caught.value.sqlstate == "53200"
    assert owner.sql("SELECT 1").fetchall() == [(1,)]


def test_sessions_beside_a_greedy_one(owner: sharkpy.SharkContext) -> None:
    ended: list[BaseException] = []

    def ask() -> None:
        for _ in range(3):
            try:
                owner.sql(GREEDY).fetchall()
            except ResourceError as error:
                ended.append(error)

    greedy = threading.Thread(target=ask)
    with owner.new_session() as other:
        greedy.start()
        try:
            while greedy.is_alive():
                assert other.sql("SELECT 1").fetchall() == [(1,)]
                assert other.sql("SELECT max(n) FROM numbers WHERE n < 8").fetchall() == [(7,)]
        finally:
            greedy.join()
    assert [error.sqlstate for error in ended if isinstance(error, ResourceError)] == ["53200"] * 3


class _Database:
    wanted_memory = 100

    def limit_memory(self, size: int) -> None:
        """Accept any limit."""


def test_a_query_alone_fails_at_once() -> None:
    shares, database = MemoryShares(100), _Database()
    shares.enter(database)
    shares.leave(database)
    assert not shares.had_others(0.0)
    shares.enter(database)
    assert shares.had_others(0.0), "the one that is there, for one that could not enter"
    shares.enter(database)
    shares.leave(database)
    shares.leave(database)
    assert shares.had_others(0.0)
    assert not shares.had_others(time.monotonic() + 1)
