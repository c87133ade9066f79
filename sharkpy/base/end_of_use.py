"""Freeing at the end of an object's use, never where the collector of garbage may have come upon somebody's lock.

The collector runs within any statement of any thread, also one that holds a lock. What frees takes locks of its own: a
thread of its own does it then.
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
"""The thread that collects garbage."""


def at_end_of_use(owner: object, free: Callable[[], object]) -> Callable[[], object]:
    """Call `free`, which must not refer to `owner`, in another thread once `owner` is gone. The returned function
    cancels that.
    """
    return _finalizer(owner, _calls.put, free)


def when_unused(owner: object, free: Callable[[], object]) -> Callable[[], object]:
    """Call `free`, which must not refer to `owner`, when the last reference to `owner` goes, in the thread that lets it
    go; in another one if the collector has found it. The returned function cancels that.
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
        # The put of a SimpleQueue may come at any place.
        _calls.put(free)
    else:
        free()


def _run() -> None:
    while True:
        free = _calls.get()
        # The session may have ended meanwhile, and all that it held with it.
        with contextlib.suppress(Exception):
            free()
        del free
