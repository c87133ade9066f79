"""Databases of one process that share its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings

MB = 1 << 20


@pytest.fixture
def pool(tmp_path: Path) -> ConnectionPool:
    return ConnectionPool(ConnectionSettings(1, 400 * MB, str(tmp_path)))


def limit(cursor: object) -> str:
    return str(cursor.execute("SELECT current_setting('memory_limit')").fetchone()[0])  # type: ignore[attr-defined]


def test_databases_in_use_share_the_memory(pool: ConnectionPool) -> None:
    with pool.borrow() as one:
        assert limit(one) == "400.0 MiB"
        assert pool.decoded_limit == 100 * MB
        with pool.in_order.borrow() as other, pool.borrow() as third:
            assert [limit(cursor) for cursor in (one, other, third)] == ["200.0 MiB"] * 3
            assert pool.decoded_limit == 100 * MB // 3
        assert limit(one) == "400.0 MiB"
    with pool.in_order.borrow() as other:
        assert limit(other) == "400.0 MiB"
    pool.close()


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
    """A query that has taken more than its new share goes on; whoever comes takes what is left."""
    with pool.borrow() as one:
        one.execute("SET temp_directory = ''")
        one.execute("CREATE TEMP TABLE held AS SELECT range AS n, hash(range) AS h FROM range(18_000_000)")
        with pool.in_order.borrow() as other:
            assert other.execute("SELECT 1").fetchall() == [(1,)]
        assert one.execute("SELECT count(*) FROM held").fetchall() == [(18_000_000,)]
    pool.close()
