"""Cleanup at the end of an object's use, in a thread that cannot deadlock with the garbage collector.

The collector may run in any thread at any statement, even while that thread holds a lock. Cleanup takes locks itself.
So a thread of its own does the cleanup of collected objects.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import threading
import weakref
from collections.abc import Callable

_calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
_lock = threading.Lock()
_threads: list[threading.Thread] = []
_collecting: list[int] = []
"""The thread that is collecting garbage."""


def at_end_of_use(owner: object, free: Callable[[], object]) -> Callable[[], object]:
    """Call `free` in another thread once `owner` is gone. `free` must not refer to `owner`. The returned function
    cancels the call.
    """
    return _finalizer(owner, _calls.put, free)


def when_unused(owner: object, free: Callable[[], object]) -> Callable[[], object]:
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
    with _lock:
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
        _calls.put(free)
    else:
        free()


def _run() -> None:
    while True:
        free = _calls.get()
        # The session may have ended, and closed what the call frees.
        with contextlib.suppress(Exception):
            free()
        del free
