"""Lock of the interpreter that a thread does not release: reported, named, and ended with its process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sharkpy.execution.statement import Statement
from sharkpy.thrift.guard import Heartbeat
from tests.waiting import PATIENCE, allowed, until

SERVER = """
import re, signal, sys, threading, time
from sharkpy.thrift import guard
from sharkpy.thrift.config import Limits
from sharkpy.thrift.guard import Heartbeat
from sharkpy.thrift.guard import StatementBoard

guard._LOG_SECONDS = 1.0
guard.STOP_SECONDS = 1.0
board = StatementBoard()
signal.signal(signal.SIGTERM, lambda *_: None)

def hold():
    # The backtracking engine keeps the lock for hours.
    with board.working("sharkpy_evil: SELECT evil"):
        re.match("(a+)+$", "a" * 60 + "b")

with guard.guarded(Limits(drain_seconds=0.5, pause_seconds=float(sys.argv[1])), board) as pipe:
    heartbeat = Heartbeat(list)
    heartbeat.guard = pipe
    heartbeat.start()
    print("ready", flush=True)
    if sys.argv[2] == "hold":
        threading.Thread(target=hold).start()
        time.sleep(1)
    elif sys.argv[2] == "hang":
        time.sleep(1000)
    heartbeat.close()
"""


@contextmanager
def server(pause_seconds: float, does: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SERVER, str(pause_seconds), does]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_held_lock_is_told_with_its_statement_and_ends_the_process() -> None:
    with server(3, "hold") as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    told, *rest = [line for line in errors.splitlines() if "sharkpy.guard" in line]
    assert re.search(r"but one has run for 1 s; thread \d+ computes for sharkpy_evil: SELECT evil$", told)
    assert re.search(r"has done nothing for 3 s: thread \d+ computes for sharkpy_evil.*it is killed$", rest[-1])
    assert "in hold" in errors, "the stacks of the threads are in the log"


def test_a_signal_that_is_not_followed(capfd: pytest.CaptureFixture[str]) -> None:
    """Python's own handler waits for the lock: the signal reaches the guard without it."""
    with server(0, "hold") as process:
        time.sleep(1)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert 1.0 < time.monotonic() - began < allowed(4)
    assert "has not ended after its signal" in errors


def test_who_is_stopped_does_not_hang() -> None:
    with server(1, "hang") as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        process.send_signal(signal.SIGCONT)
        time.sleep(1)
        assert process.poll() is None


def test_a_guard_goes_with_its_server() -> None:
    with server(0, "hang") as process:
        children = [
            int(pid)
            for pid in subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
            ).stdout.split()
        ]
        assert children
        process.kill()
        process.wait(PATIENCE)
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children))


def test_an_ordinary_end_is_quiet() -> None:
    with server(1, "end") as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")


def test_pauses_are_measured_and_named(caplog: pytest.LogCaptureFixture) -> None:
    statement = Statement()
    statement.query_id, statement.text = "sharkpy_slow", "SELECT slow"
    heartbeat = Heartbeat(lambda: [statement])
    heartbeat.start()
    with statement.active():
        time.sleep(0.7)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(100)
        try:
            end = time.thread_time() + 2.5
            while time.thread_time() < end:
                pass
        finally:
            sys.setswitchinterval(interval)
    until(lambda: heartbeat.longest_pause > 1)
    heartbeat.close()
    assert re.search(
        r"no other thread has run for [\d.]+ s; [\d.]+ s of them statement sharkpy_slow: SELECT", caplog.text
    )
