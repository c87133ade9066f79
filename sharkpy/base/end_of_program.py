"""Cleanup when the program ends, before the interpreter joins its threads."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_lock = threading.Lock()
_calls: list[tuple[int, weakref.WeakMethod[Callable[[], Any]]]] = []
"""Process ids, and the cleanup calls that each process registered."""
_registered: list[bool] = []


def at_end_of_program(stop: Callable[[], Any]) -> None:
    """Call the bound method `stop` when the main thread ends, if its object is still alive.

    Processes that are forked later do not call it. `atexit` is too late: the interpreter first joins the threads of all
    pools, and threads that wait for work never end unless they are stopped.
    """
    with _lock:
        _calls[:] = [(process, call) for process, call in _calls if call() is not None]
        _calls.append((os.getpid(), weakref.WeakMethod(stop)))
        if not _registered:
            _registered.append(True)
            # The hook that the pools use: functions are called in reverse order of registration. At exit it is too
            # late.
            with contextlib.suppress(RuntimeError):
                getattr(threading, "_register_atexit", atexit.register)(_end)


def _end() -> None:
    for process, call in reversed(_calls):
        stop = call()
        if stop is not None and process == os.getpid():
            with contextlib.suppress(Exception):
                stop()
