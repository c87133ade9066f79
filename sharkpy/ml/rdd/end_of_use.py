"""Freeing at the end of an object's use: by a thread of its own, never inside somebody's lock."""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable

_calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
_lock = threading.Lock()
_threads: list[threading.Thread] = []


def at_end_of_use(owner: object, free: Callable[[], object]) -> Callable[[], object]:
    """Call `free`, which must not refer to `owner`, once `owner` is gone. The returned function cancels that."""
    with _lock:
        if not _threads:
            thread = threading.Thread(target=_run, name="sharkpy-end-of-use", daemon=True)
            _threads.append(thread)
            thread.start()
    # The put of a SimpleQueue may come from a garbage collection at any place.
    finalizer = weakref.finalize(owner, _calls.put, free)
    finalizer.atexit = False
    return finalizer.detach


def _run() -> None:
    while True:
        free = _calls.get()
        # The session may have ended meanwhile, and all that it held with it.
        with contextlib.suppress(Exception):
            free()
        del free
