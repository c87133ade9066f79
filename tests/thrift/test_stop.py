"""`sharkpy server` as a process: how it starts, what it says of a wrong start, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from tests.thrift.caller import SUCCESS, Caller, State, over_http
from tests.thrift.conftest import LONG_QUERY, MAKE_NUMBERS, NUMBERS
from tests.waiting import PATIENCE, allowed, until

COMMAND = [sys.executable, "-m", "sharkpy.cli.main", "--master", "local[2]"]
SLOW_INSERT = (
    "INSERT INTO made SELECT a.n FROM numbers a JOIN (SELECT n FROM numbers LIMIT 1) b ON a.n >= b.n "
    "WHERE (SELECT count(*) FROM numbers c CROSS JOIN (SELECT n FROM numbers WHERE n < 800) d "
    "WHERE c.n * d.n % 7 = 3) > 0"
)


class Process:
    """A server over `folder`."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.temp, self.shm = folder / "tmp", folder / "shm"
        for place in (self.temp, self.shm):
            place.mkdir(exist_ok=True)
        settings = ["--set", f"shark.store.shm.dir={self.shm}", "--set", "shark.store.memory.limit=64m"]
        arguments = [*COMMAND, "--warehouse", str(folder / "w"), *settings, "server", "--port", "0", *options]
        environment = {**os.environ, "TMPDIR": str(self.temp)}
        self.process = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"listens on 127\.0\.0\.1:(\d+)", line)
        if found is None:
            self.process.kill()
        assert found, line + self.process.communicate()[1]
        self.port = int(found[1])

    def stop(self, signals: int = 1) -> None:
        for _ in range(signals):
            self.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)

    def wait(self, seconds: float) -> str:
        """What it wrote to standard error; its exit code is 0."""
        _, errors = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, errors
        return errors

    def left(self) -> list[Path]:
        return [path for place in (self.temp, self.shm) for path in place.rglob("*")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("process")
    with sharkpy.connect("local[2]", folder / "w") as session:
        session.sql(MAKE_NUMBERS).close()
        session.sql("CREATE TABLE made (n BIGINT)").close()
    return folder


@pytest.fixture
def server(made: Path) -> Iterator[Process]:
    one = Process(made, "--limit", "drain_seconds=20")
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
        status = other.execute("SELECT 1").status
        assert status.sqlState == "57P01"
        assert "stopping" in status.errorMessage
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
    assert not list(next_one.shm.rglob("*"))


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


def test_wrong_starts_are_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    certificate = ("--tls-cert", str(tmp_path / "no.pem"), "--tls-key", str(tmp_path / "no.pem"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, text in (
            (("--port", port), f"port {port}"),
            (("--port", "0", *certificate), "certificate"),
            (("--host", "0.0.0.0"), "loopback alone"),
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
