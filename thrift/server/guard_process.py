"""Guard of a server: a small process that notices when the server can no longer help itself, and ends it.

All threads of the server stop while one of them holds the interpreter's lock. The server does not handle signals then.
This program imports nothing of the engine, so that it starts in milliseconds and stays small. It reads a pipe:

- a line is a beat of the server; the line "end" is the last one,
- a byte with the number of a signal means that the server has received it. The C handler writes it without the lock.

`python guard_process.py <log seconds> <end seconds> <stop seconds> <board> <slot bytes>`:

- log seconds: time without a beat after which the guard logs that,
- end seconds: time without a beat after which the guard kills the server (0: never),
- stop seconds: time after a signal after which the guard kills a server that still runs,
- board: file descriptor of the board on which the server's threads note their statements,
- slot bytes: size of a slot of the board.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import sys
import time
from pathlib import Path

LOOK_SECONDS = 0.25
HURRY_SECONDS = 5.0
"""Seconds that the server has left after a second signal."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SAMPLE_SECONDS = 0.3


class Guard:
    """Watch of the parent process.

    Only time in which the parent and this process could run counts: a stopped machine or process does not hang.
    """

    def __init__(self, log_seconds: float, end_seconds: float, stop_seconds: float, board: int, slot: int) -> None:
        self._server = os.getppid()
        self._log_seconds = log_seconds
        self._end_seconds = end_seconds
        self._stop_seconds = stop_seconds
        self._board = mmap.mmap(board, 0, access=mmap.ACCESS_READ)
        self._slot_bytes = slot
        self._is_beating = False
        self._silent = 0.0
        self._is_logged = False
        self._left: float | None = None
        """Seconds until the server must have ended."""
        self._rest = b""

    def run(self) -> None:
        """Guard the server until it ends."""
        while os.getppid() == self._server:
            began = time.monotonic()
            ready, _, _ = select.select([0], [], [], LOOK_SECONDS)
            if ready:
                received = os.read(0, 1 << 16)
                if not received:
                    return
                self._hear(received)
            self._spend(min(time.monotonic() - began, 2 * LOOK_SECONDS))

    def _hear(self, received: bytes) -> None:
        for number in received:
            if number in _SIGNALS:
                hurry = self._stop_seconds if self._left is None else min(self._left, HURRY_SECONDS)
                self._left = hurry
        *lines, self._rest = (self._rest + bytes(byte for byte in received if byte not in _SIGNALS)).split(b"\n")
        if lines:
            self._silent, self._is_logged = 0.0, False
            self._is_beating = lines[-1] != b"end"

    def _spend(self, seconds: float) -> None:
        if _state(self._server) in "Tt":
            return
        self._silent += seconds if self._is_beating else 0.0
        if self._left is not None:
            self._left -= seconds
            if self._left <= 0:
                self._kill("has not ended after its signal")
        if self._silent >= self._log_seconds and not self._is_logged:
            self._is_logged = True
            _log(f"no thread of the server but one has run for {self._silent:.0f} s; {self._holder()}")
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGUSR2)
        if 0 < self._end_seconds <= self._silent:
            self._kill(f"has done nothing for {self._silent:.0f} s: {self._holder()}")

    def _holder(self) -> str:
        """Describe the thread that computes, and the statement for which it works."""
        before = _ticks(self._server)
        time.sleep(_SAMPLE_SECONDS)
        spent = {thread: now - before.get(thread, now) for thread, now in _ticks(self._server).items()}
        thread = max(spent, key=lambda one: spent[one], default="")
        if not spent.get(thread):
            return "none of its threads computes"
        return f"thread {thread} computes for {self._statement(int(thread))}"

    def _statement(self, thread: int) -> str:
        """Return the title in the thread's slot of the board."""
        for start in range(0, len(self._board), self._slot_bytes):
            slot = self._board[start : start + self._slot_bytes]
            if int.from_bytes(slot[:8], "little") == thread:
                return slot[8:].rstrip(b"\0").decode("utf-8", "ignore")
        return "no statement"

    def _kill(self, fact: str) -> None:
        _log(f"the server {fact}; it is killed")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._server, signal.SIGKILL)
        sys.exit(0)


def _log(text: str) -> None:
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    sys.stderr.write(f"{stamp},{int(now % 1 * 1000):03d} WARNING sharkpy.guard: {text}\n")
    sys.stderr.flush()


def _state(process: int) -> str:
    """Return the letter of the process's state, or "X" if the process is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "X"


def _ticks(process: int) -> dict[str, int]:
    """Return the time that each thread of a process has computed, in the kernel's ticks."""
    found = {}
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                fields = Path(thread, "stat").read_bytes().rpartition(b")")[2].split()
                found[thread.name] = int(fields[11]) + int(fields[12])
    return found


if __name__ == "__main__":
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    log_seconds, end_seconds, stop_seconds = map(float, sys.argv[1:4])
    Guard(log_seconds, end_seconds, stop_seconds, *map(int, sys.argv[4:6])).run()
