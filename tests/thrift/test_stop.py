"""`sharkpy server` as a process: how it starts, what it says of a wrong start, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from tests.paths_below import paths_below
from tests.ports import free_ports
from tests.thrift.caller import SUCCESS, Caller, State, over_http
from tests.thrift.conftest import LONG_QUERY, MAKE_NUMBERS, NUMBERS
from tests.thrift.server_process import COMMAND, Process
from tests.waiting import PATIENCE, allowed, until

SLOW_INSERT = (
    "INSERT INTO made SELECT a.n FROM numbers a JOIN (SELECT n FROM numbers LIMIT 1) b ON a.n >= b.n "
    "WHERE (SELECT count(*) FROM numbers c CROSS JOIN (SELECT n FROM numbers WHERE n < 800) d "
    "WHERE c.n * d.n % 7 = 3) > 0"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("process")
    with sharkpy.connect("local[2]", folder / "w") as session:
        session.sql(MAKE_NUMBERS).close()
        session.sql("CREATE TABLE made (n BIGINT)").close()
    return folder


@pytest.fixture
def server(made: Path) -> Iterator[Process]:
    # The port is bound once more after the stop: one that the system had given, another process might get meanwhile.
    (port,) = free_ports(1)
    one = Process(made, "--port", str(port), "--limit", "drain_seconds=20")
    yield one
    if one.process.poll() is None:
        one.process.kill()
    one.process.communicate()


def runs(caller: Caller, text: str) -> bool:
    shown = caller.rows("SHOW QUERIES LIMIT 5")
    return ("running", text[:20]) in [(state, query[:20]) for state, query in zip(shown[1], shown[-1], strict=True)]


def test_a_running_insert_ends_whole_and_nothing_new_begins(server: Process, made: Path) -> None:
    answers: list[Any] = []
    with Caller(server.port) as one, Caller(server.port) as other:
        before = one.rows("SELECT count(*) FROM made")[0][0]
        kept = other.begin("SELECT 1")
        inserting = threading.Thread(target=lambda: answers.append(one.execute(SLOW_INSERT)))
        inserting.start()
        until(lambda: runs(other, SLOW_INSERT))
        assert not answers, "the statement is too short for this test"
        server.stop()
        until(lambda: other.execute("SELECT 1").status.sqlState == "57P01")
        assert "stopping" in other.execute("SELECT 1").status.errorMessage
        assert other.status(kept).operationState == State.FINISHED_STATE
        with Caller(server.port) as late:
            assert late.opened.status.sqlState == "57P01"
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz")
        inserting.join(30)
        assert answers, "the client has its answer"
        assert answers[0].status.statusCode == SUCCESS, answers[0].status.errorMessage
    server.wait(PATIENCE)
    assert not server.left()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", server.port))
    with sharkpy.connect("local[2]", made / "w") as session:
        assert session.sql("SELECT count(*) FROM made").fetchone()[0] - before == NUMBERS  # type: ignore[index]


def test_a_second_signal_makes_haste_and_clients_are_told(server: Process) -> None:
    answers: list[Any] = []
    with Caller(server.port) as caller:
        thread = threading.Thread(target=lambda: answers.append(caller.execute(LONG_QUERY)))
        thread.start()
        with Caller(server.port) as other:
            until(lambda: runs(other, LONG_QUERY))
        begin = time.monotonic()
        server.stop(2)
        errors = server.wait(10)
        assert time.monotonic() - begin < allowed(6)
        thread.join(PATIENCE)
        assert answers[0].status.sqlState == "57P01"
    assert "Traceback" not in errors
    assert not server.left()


def test_clients_that_do_nothing_do_not_keep_it(server: Process) -> None:
    with Caller(server.port) as one, Caller(server.port, transport=over_http(server.port)) as other:
        one.begin("SELECT n FROM numbers")
        other.rows("SELECT 1")
        begin = time.monotonic()
        server.stop()
        server.wait(PATIENCE)
        assert time.monotonic() - begin < allowed(8)
    assert not server.left()


@pytest.mark.slow
def test_after_a_kill_the_next_start_sweeps(server: Process, made: Path) -> None:
    with Caller(server.port) as caller:
        caller.rows("CREATE TABLE IF NOT EXISTS held TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT n FROM numbers")
        assert server.left()
        caller.begin(LONG_QUERY)
        server.process.kill()
        server.process.wait(PATIENCE)
    next_one = Process(made)
    with Caller(next_one.port) as caller:
        assert caller.rows("SELECT count(*) FROM held") == [[NUMBERS]]
        caller.rows("DROP TABLE held")
    next_one.stop()
    next_one.wait(PATIENCE)
    assert not paths_below(next_one.shm)


STUBBORN = """
import re, time

def sleep(x: int) -> int:
    time.sleep(1000)
    return x

def hold(x: int) -> int:
    re.match("(a+)+$", "a" * 60 + "b")
    return x
"""


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose warehouse has functions that nothing interrupts."""
    folder = tmp_path_factory.mktemp("stubborn")
    (folder / "stubborn.py").write_text(STUBBORN)
    with sharkpy.connect("local[2]", folder / "w") as session:
        session.sql(MAKE_NUMBERS).close()
        for name in ("sleep", "hold"):
            session.sql(f"CREATE FUNCTION {name} AS 'stubborn.{name}' USING FILE '{folder}/stubborn.py'").close()
    return folder


@pytest.mark.variants
@pytest.mark.parametrize(
    ("text", "exit_code", "logged"),
    [
        (LONG_QUERY, 0, ""),
        ("SELECT sleep(1)", 0, "works on, though"),
        ("SELECT sleep(cast(n AS INT)) FROM numbers", 0, "works on, though"),
        ("SELECT hold(1)", -signal.SIGKILL, "computes for sharkpy_"),
    ],
)
def test_a_stop_takes_ten_seconds_at_most_whatever_runs(stubborn: Path, text: str, exit_code: int, logged: str) -> None:
    server = Process(stubborn)
    with Caller(server.port) as caller:
        caller.begin(text)
        time.sleep(6 if exit_code else 1)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        _, errors = server.process.communicate(timeout=PATIENCE)
        assert time.monotonic() - began < allowed(10.5)
    assert server.process.returncode == exit_code, errors
    assert logged in errors
    if not exit_code:
        assert not server.left()


# Wrong starts


def start_wrong(folder: Path, *options: str) -> str:
    """The line that it says, without its hint."""
    arguments = [*COMMAND, "--warehouse", str(folder / "w"), "server", *options]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout == ""
    line, *hints = ended.stderr.strip().splitlines()
    assert len(hints) <= 1, ended.stderr
    return line


@pytest.mark.slow
def test_wrong_starts_are_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    certificate = ("--tls-cert", str(tmp_path / "no.pem"), "--tls-key", str(tmp_path / "no.pem"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, text in (
            (("--port", port), f"port {port}"),
            (("--port", "0", *certificate), "certificate"),
            (("--host", "0.0.0.0"), "only on loopback"),
            (("--auth", "password"), "--password-file"),
            (("--limit", "sessions=many"), "sessions"),
            (("--limit", "nothing=1"), "nothing=1"),
            (("--limit", "sessions=-1"), "sessions"),
        ):
            assert text in start_wrong(tmp_path, *options)


def test_set_password(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    arguments = [*COMMAND, "server", "--password-file", str(path), "--set-password", "ada"]
    subprocess.run(arguments, input="secret\n", text=True, check=True, timeout=60)
    assert "secret" not in path.read_text()
    assert path.read_text().startswith("ada:")
    assert path.stat().st_mode & 0o077 == 0
