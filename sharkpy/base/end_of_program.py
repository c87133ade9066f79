"""What ends with the program, before the interpreter waits for the threads that work for it."""

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
"""Processes, and what each of them calls."""
_registered: list[bool] = []


def at_end_of_program(stop: Callable[[], Any]) -> None:
    """Call the bound method `stop` when the main thread ends, if its object is still there; not in processes that were
    forked since.

    Functions of `atexit` come later: the interpreter first joins the threads of all pools, and those that find work as
    long as nobody stops them never end.
    """
    with _lock:
        _calls[:] = [(process, call) for process, call in _calls if call() is not None]
        _calls.append((os.getpid(), weakref.WeakMethod(stop)))
        if not _registered:
            _registered.append(True)
            # The hook of the pools themselves: what was registered last is called first. At the end it is too late.
            with contextlib.suppress(RuntimeError):
                getattr(threading, "_register_atexit", atexit.register)(_end)


def _end() -> None:
    for process, call in reversed(_calls):
        stop = call()
        if stop is not None and process == os.getpid():
            with contextlib.suppress(Exception):
                stop()
