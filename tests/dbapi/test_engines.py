"""Connections of one process share an engine, and end it with the last of them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sharkpy import dbapi
from sharkpy.dbapi import engines

SLOW = "SELECT count(*) FROM t a, t b, t c, t d WHERE hash(a.k, b.k, c.k, d.k) % 7 = 3"


def names(connection: dbapi.Connection) -> list[tuple[str]]:
    return connection.execute("SHOW TABLES").fetchall()


def test_an_engine_for_each_warehouse(tmp_path: Path) -> None:
    one = dbapi.connect(tmp_path / "a", "local[2]")
    two = dbapi.connect(str(tmp_path / "a"), "local[2]")
    other = dbapi.connect(tmp_path / "b", "local[2]")
    assert one.session is not two.session
    assert one.session.engine is two.session.engine
    assert one.session.engine is not other.session.engine
    owner = engines._engines[str(tmp_path / "a"), "local[2]"].owner
    one.close()
    assert two.execute("SELECT 1").fetchall() == [(1,)]
    two.close()
    assert owner.is_stopped
    assert {key[0] for key in engines._engines} == {str(tmp_path / "b")}
    other.close()
    with dbapi.connect(tmp_path / "a", "local[2]") as again:
        assert again.execute("SELECT 2").fetchall() == [(2,)]


def test_what_is_a_connections_own(tmp_path: Path) -> None:
    with dbapi.connect(tmp_path, "local[2]", shark_block_rows=7) as one, dbapi.connect(tmp_path, "local[2]") as two:
        one.execute("CREATE TEMPORARY TABLE mine (k INT)")
        two.execute("CREATE TABLE ours (k INT)")
        assert names(one) == [("mine",), ("ours",)]
        assert names(two) == [("ours",)]
        assert one.session.conf["shark.block.rows"] == "7"
        assert two.session.conf["shark.block.rows"] == "1000000"


def test_settings_of_the_engine_come_with_its_first_connection(tmp_path: Path) -> None:
    first = dbapi.connect(tmp_path, "local[2]", **{"shark.store.memory.limit": "64m"})
    with pytest.raises(dbapi.OperationalError, match=r"shark\.store\.memory\.limit is a setting of the engine"):
        dbapi.connect(tmp_path, "local[2]", shark_store_memory_limit="32m")
    dbapi.connect(tmp_path, "local[2]", shark_store_memory_limit="64m").close()
    assert first.execute("SELECT 1").fetchall() == [(1,)]
    first.close()
    with pytest.raises(dbapi.Error):
        dbapi.connect(tmp_path, "local[2]", **{"shark.block.rows": "many"}).execute("SELECT 1")


def test_a_connection_that_nobody_holds_ends(tmp_path: Path) -> None:
    dbapi.connect(tmp_path, "local[2]").execute("SELECT 1")
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "sharkpy-close":
            thread.join(10)
    assert (str(tmp_path), "local[2]") not in engines._engines


def test_a_connection_left_open_does_not_hold_up_the_interpreters_end(tmp_path: Path) -> None:
    program = (
        f"from sharkpy import dbapi; c = dbapi.connect({str(tmp_path)!r}, 'local[2]'); print(c.execute('SELECT 1'))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stderr == ""


def test_closing_ends_what_another_thread_waits_for(tmp_path: Path) -> None:
    connection = dbapi.connect(tmp_path, "local[2]")
    connection.execute("CREATE TABLE t AS SELECT explode(sequence(1, 1000)) AS k")
    threading.Timer(0.5, connection.close).start()
    with pytest.raises(dbapi.Error) as caught:
        connection.execute(SLOW).fetchall()
    assert caught.value.sqlstate in ("57014", "08003")


def test_threads_share_a_connection(connection: dbapi.Connection) -> None:
    connection.execute("CREATE TABLE t AS SELECT explode(sequence(1, 1000)) AS k")
    wrong: list[object] = []

    def work(bound: int) -> None:
        for _ in range(5):
            rows = connection.execute("SELECT count(*) FROM t WHERE k > ?", [bound]).fetchall()
            if rows != [(1000 - bound,)]:
                wrong.append(rows)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_many_connections_come_and_go(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(4):
                with dbapi.connect(tmp_path, "local[2]") as connection:
                    assert connection.execute("SELECT 1").fetchall() == [(1,)]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert (str(tmp_path), "local[2]") not in engines._engines
