"""Pulse of the server's process: how long one thread holds the interpreter's lock, and for which statement."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sharkpy.columnar.host import thread_ticks

if TYPE_CHECKING:
    from sharkpy.execution.statement import Statement

_log = logging.getLogger(__name__)
BEAT_SECONDS = 0.5
_TOLD_SECONDS = 1.0
"""Shortest pause that is logged."""
_TEXT_CHARACTERS = 100
BEAT, LAST_BEAT = b"\n", b"end\n"
"""Messages to the guard."""
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


class Pulse:
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
        self._thread = threading.Thread(target=self._run, name="sharkpy-pulse", daemon=True)

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
            if pause >= _TOLD_SECONDS:
                _log.warning("no other thread has run for %.1f s%s", pause, _holder(before, now, pause))
            before = now

    def _ticks(self) -> dict[int, tuple[Statement, int]]:
        """Return the running statements by thread, each with the ticks that its thread has computed."""
        return {thread: (one, thread_ticks(thread)) for one in self._statements() if (thread := one.thread)}

    def _send(self, message: bytes) -> None:
        if self.guard >= 0:
            # A guard that does not read, or is gone, must not stop the server.
            with contextlib.suppress(OSError):
                os.write(self.guard, message)


def _holder(before: Mapping[int, tuple[Statement, int]], now: Mapping[int, tuple[Statement, int]], pause: float) -> str:
    """Describe the statement whose thread has computed most in the pause, even if it began or ended meanwhile."""
    at_least = {thread: (one, thread_ticks(thread)) for thread, (one, _) in before.items()} | dict(now)
    spent = {
        thread: ticks - before[thread][1] if thread in before else min(ticks, round(pause / _TICK_SECONDS))
        for thread, (_, ticks) in at_least.items()
    }
    thread = max(spent, key=lambda one: spent[one], default=0)
    if not spent.get(thread):
        return ""
    return f"; {spent[thread] * _TICK_SECONDS:.1f} s of them statement {title_of(at_least[thread][0])}"


def title_of(statement: Statement) -> str:
    return f"{statement.query_id}: {statement.text[:_TEXT_CHARACTERS]}"
