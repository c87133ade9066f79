"""Waiting for conditions, and limits of time, on a machine that other programs keep busy."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 60.0
"""Seconds until what should have happened counts as never happening."""


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return as soon as the condition holds; AssertionError if it does not within `seconds` of a quiet machine."""
    seconds = allowed(seconds)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.01)


def when(condition: Callable[[], object], action: Callable[[], object]) -> threading.Thread:
    """A thread that acts as soon as the condition holds."""

    def act() -> None:
        until(condition)
        action()

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def allowed(seconds: float) -> float:
    """Return the seconds that this machine, with its current load, may take for `seconds` of a quiet machine."""
    return seconds * (1 + 3 * _load())


def is_busy() -> bool:
    """True if programs want more than this machine's cores: work of one second may meet a limit of five."""
    return _load() > 2


def _load() -> float:
    """Threads that run or wait for a core, by core: of the last minute or now, whichever is more."""
    running = 0.0
    with contextlib.suppress(OSError):
        running = float(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
    return max(os.getloadavg()[0], running) / (os.cpu_count() or 1)
