"""DuckDB databases that a worker process keeps between tasks."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import duckdb
import pytest

from sharkpy.execution.workers import connection_pool
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings, process_pool


class _Allocated(ctypes.Structure):
    """`struct mallinfo2` of glibc 2.33 and later."""

    _fields_ = (("before", ctypes.c_size_t * 7), ("in_use", ctypes.c_size_t), ("behind", ctypes.c_size_t * 2))


_mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
if _mallinfo is not None:
    _mallinfo.restype = _Allocated


def test_databases_of_ended_sessions_are_closed(tmp_path: Path) -> None:
    ended, running = tmp_path / "ended", tmp_path / "running"
    for folder in (ended, running):
        folder.mkdir()
    of_ended, of_running = (
        ConnectionSettings(1, 64 << 20, str(folder / "duckdb-tasks")) for folder in (ended, running)
    )
    with process_pool(of_ended).borrow() as cursor:
        cursor.execute("SELECT 1")
    kept = process_pool(of_running)
    ended.rmdir()
    process_pool(ConnectionSettings(1, 65 << 20, str(running / "duckdb-tasks")))
    assert of_ended not in connection_pool._pools
    assert process_pool(of_running) is kept


@pytest.mark.skipif(_mallinfo is None, reason="the C library does not tell what is allocated")
def test_files_that_were_read_are_forgotten(tmp_path: Path) -> None:
    """A stream reads a new file in every epoch, for months."""
    assert _mallinfo is not None
    file = tmp_path / "0.parquet"
    with process_pool(ConnectionSettings(1, 64 << 20, str(tmp_path / "duckdb-tasks"))).borrow() as cursor:
        cursor.execute(f"COPY (SELECT range AS n FROM range(20)) TO '{file}'")
        held = []
        for rounds in (200, 1_000):
            for number in range(rounds):
                other = file.rename(tmp_path / f"{rounds}-{number}.parquet")
                assert cursor.execute(f"SELECT sum(n) FROM read_parquet('{other}')").fetchall() == [(190,)]
                file = other
            held.append(_mallinfo().in_use)
    assert held[1] - held[0] < 200_000


def _wait_for_beginning() -> None:
    for thread in threading.enumerate():
        if thread.name == "sharkpy-database":
            thread.join(10)


def test_a_database_is_opened_while_a_query_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    connect = connection_pool._connect
    monkeypatch.setattr(connection_pool, "_connect", lambda settings: opened.append(settings) or connect(settings))
    pool = ConnectionPool(ConnectionSettings(1, 64 << 20, str(tmp_path / "duckdb")))
    pool.begin()
    _wait_for_beginning()
    assert len(opened) == 1
    with pool.borrow() as cursor:
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    pool.begin()
    pool.close()
    pool.begin()
    _wait_for_beginning()
    assert len(opened) == 1


def test_the_query_gets_the_error_of_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    pool = ConnectionPool(ConnectionSettings(0, 64 << 20, str(tmp_path / "duckdb")))
    pool.begin()
    _wait_for_beginning()
    with pytest.raises(duckdb.Error, match="at least 1 thread"), pool.borrow():
        pass
