"""Connection of the server to its guard process: heartbeats, signals, and a board of running statements.

The guard (`guard_process.py`) ends a server in which one thread holds the interpreter's lock for too long. It reads the
heartbeats and signals from a pipe, and the board from shared memory, so it needs no help from the server's threads.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.columnar.host import thread_ticks
from sharkpy.thrift.config import Limits

if TYPE_CHECKING:
    from sharkpy.execution.statement import Statement

_LOG_SECONDS = 5.0
"""Seconds without a beat after which the guard logs which thread holds the lock."""
STOP_SECONDS = 6.0
"""Seconds that the server has to end by itself after the drain."""


@contextlib.contextmanager
def guarded(limits: Limits, board: StatementBoard) -> Iterator[int]:
    """Guard this process in the context, and yield the pipe for its heartbeat. Only the main thread may call this."""
    program = str(Path(__file__).with_name("guard_process.py"))
    times = (_LOG_SECONDS, limits.pause_seconds, limits.drain_seconds + STOP_SECONDS)
    # The guard ignores the user's Python path and a terminal's Ctrl-C.
    command = [sys.executable, "-I", "-S", program, *map(str, times), str(board.file), str(SLOT_BYTES)]
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    with subprocess.Popen(command, stdin=receiving, start_new_session=True, pass_fds=[board.file]) as guard:
        os.close(receiving)
        before = signal.set_wakeup_fd(sending, warn_on_full_buffer=False)
        faulthandler.register(signal.SIGUSR2, all_threads=True)
        try:
            yield sending
        finally:
            signal.set_wakeup_fd(before)
            faulthandler.unregister(signal.SIGUSR2)
            guard.kill()
            os.close(sending)


_log = logging.getLogger(__name__)
BEAT_SECONDS = 0.5
_LOGGED_PAUSE_SECONDS = 1.0
"""Shortest pause that is logged."""
_TEXT_CHARACTERS = 100
BEAT, LAST_BEAT = b"\n", b"end\n"
"""Messages to the guard."""
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


class Heartbeat:
    """Beat in a thread of its own, from `start` to `close`. It comes late if another thread holds the lock.

    The guard, if there is one, gets each beat. While none comes, this process cannot report anything itself.
    """

    def __init__(self, statements: Callable[[], list[Statement]]) -> None:
        self.longest_pause = 0.0
        """Longest delay of a beat so far."""
        self.guard = -1
        """Pipe to the guard process, or -1 if there is none."""
        self._statements = statements
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sharkpy-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        self._send(LAST_BEAT)

    def _run(self) -> None:
        before = self._ticks()
        while True:
            self._send(BEAT)
            began = time.monotonic()
            if self._closed.wait(BEAT_SECONDS):
                return
            pause = time.monotonic() - began - BEAT_SECONDS
            self.longest_pause = max(self.longest_pause, pause)
            now = self._ticks()
            if pause >= _LOGGED_PAUSE_SECONDS:
                _log.warning("no other thread has run for %.1f s%s", pause, _lock_holder(before, now, pause))
            before = now

    def _ticks(self) -> dict[int, tuple[Statement, int]]:
        """Return the running statements by thread, each with the ticks that its thread has computed."""
        return {thread: (one, thread_ticks(thread)) for one in self._statements() if (thread := one.thread)}

    def _send(self, message: bytes) -> None:
        if self.guard >= 0:
            # A guard that does not read, or is gone, must not stop the server.
            with contextlib.suppress(OSError):
                os.write(self.guard, message)


def _lock_holder(
    before: Mapping[int, tuple[Statement, int]], now: Mapping[int, tuple[Statement, int]], pause: float
) -> str:
    """Describe the statement whose thread has computed most in the pause, even if it began or ended meanwhile."""
    at_least = {thread: (one, thread_ticks(thread)) for thread, (one, _) in before.items()} | dict(now)
    spent = {
        thread: ticks - before[thread][1] if thread in before else min(ticks, round(pause / _TICK_SECONDS))
        for thread, (_, ticks) in at_least.items()
    }
    thread = max(spent, key=lambda one: spent[one], default=0)
    if not spent.get(thread):
        return ""
    return f"; {spent[thread] * _TICK_SECONDS:.1f} s of them statement {statement_title(at_least[thread][0])}"


def statement_title(statement: Statement) -> str:
    return f"{statement.query_id}: {statement.text[:_TEXT_CHARACTERS]}"


SLOTS = 1024
SLOT_BYTES = 128
_THREAD_BYTES = 8


class StatementBoard:
    """A slot for each working thread: its number in the system, eight bytes little-endian, and the statement's title.

    A slot of thread 0 is free. If no slot is free, a thread is not on the board.
    """

    def __init__(self) -> None:
        self.file = os.memfd_create("sharkpy-work")
        os.ftruncate(self.file, SLOTS * SLOT_BYTES)
        self._memory = mmap.mmap(self.file, SLOTS * SLOT_BYTES)
        self._free = deque(range(SLOTS))

    @contextlib.contextmanager
    def working(self, title: str) -> Iterator[None]:
        """Note that this thread works for a statement in the context."""
        try:
            start = self._free.pop() * SLOT_BYTES
        except IndexError:
            yield
            return
        text = title.encode("utf-8", "replace")[: SLOT_BYTES - _THREAD_BYTES]
        thread = threading.get_native_id().to_bytes(_THREAD_BYTES, "little")
        self._memory[start : start + SLOT_BYTES] = (thread + text).ljust(SLOT_BYTES, b"\0")
        try:
            yield
        finally:
            self._memory[start : start + _THREAD_BYTES] = bytes(_THREAD_BYTES)
            self._free.append(start // SLOT_BYTES)

    def close(self) -> None:
        self._memory.close()
        os.close(self.file)
