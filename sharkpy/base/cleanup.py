"""Cleanup at the end of the program, and when an object is garbage.

The garbage collector may run in any thread at any statement, even while that thread holds a lock. Cleanup takes
locks itself. So a thread of its own cleans up after collected objects.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import queue
import threading
import weakref
from collections.abc import Callable
from functools import cache
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


_garbage_calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
_start_lock = threading.Lock()
_threads: list[threading.Thread] = []
_collecting: list[int] = []
"""The thread that is collecting garbage."""


def finalize_in_thread(owner: object, free: Callable[[], object]) -> Callable[[], object]:
    """Call `free` in another thread once `owner` is gone. `free` must not refer to `owner`. The returned function
    cancels the call.
    """
    return _finalizer(owner, _garbage_calls.put, free)


def finalize_at_once(owner: object, free: Callable[[], object]) -> Callable[[], object]:
    """Call `free` when the last reference to `owner` is dropped, in the thread that drops it. If the garbage collector
    drops it, call `free` in another thread. `free` must not refer to `owner`. The returned function cancels the call.
    """
    return _finalizer(owner, _free, free)


def _finalizer(
    owner: object, call: Callable[[Callable[[], object]], None], free: Callable[[], object]
) -> Callable[[], object]:
    if not _threads:
        _start()
    finalizer = weakref.finalize(owner, call, free)
    finalizer.atexit = False
    return finalizer.detach


def _start() -> None:
    with _start_lock:
        if not _threads:
            gc.callbacks.append(_note)
            thread = threading.Thread(target=_run, name="sharkpy-end-of-use", daemon=True)
            thread.start()
            _threads.append(thread)


def _note(phase: str, _: dict[str, int]) -> None:
    if phase == "start":
        _collecting.append(threading.get_ident())
    else:
        _collecting.clear()


def _free(free: Callable[[], object]) -> None:
    if threading.get_ident() in _collecting:
        # SimpleQueue.put is reentrant: it is safe within the garbage collector.
        _garbage_calls.put(free)
    else:
        free()


def _run() -> None:
    while True:
        free = _garbage_calls.get()
        # The session may have ended, and closed what the call frees.
        with contextlib.suppress(Exception):
            free()
        del free


_COLLECTED = (10_000, 10, 50)
"""Objects, and collections of younger ones, between two collections of garbage: of all objects after five million new
ones. By default, the tree of a long statement is scanned many times while it grows, and all other threads wait.
"""


@cache
def collect_garbage_seldom() -> None:
    """Let the process make more objects between two collections: of modules while it starts, of trees of statements.

    Only the first call has an effect, so that a program can choose otherwise later. If it has switched collections off,
    or made them less frequent, they stay so.
    """
    first, *others = gc.get_threshold()
    if first:
        gc.set_threshold(*map(max, (first, *others), _COLLECTED))
