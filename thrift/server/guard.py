"""Start of the guard process, which gets the pulse and signals of this process and asks for its threads' stacks."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sharkpy.thrift.config import Limits
from sharkpy.thrift.work_board import SLOT_BYTES, WorkBoard

_LOG_SECONDS = 5.0
"""Seconds without a beat after which the guard logs which thread holds the lock."""
STOP_SECONDS = 6.0
"""Seconds that the server has to end by itself after the drain."""


@contextlib.contextmanager
def guarded(limits: Limits, board: WorkBoard) -> Iterator[int]:
    """Guard this process in the context, and yield the pipe for its pulse. Only the main thread may call this."""
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
