"""Threads that sync files to disk while statements do other work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_THREADS = 8


class FileSyncs:
    """Thread pool that syncs files of a warehouse. The threads are reused, so that no statement waits for a thread to
    start.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "sharkpy-sync")

    def begin(self, sync: Callable[[], None]) -> Future[None]:
        """Start to sync a file, in parallel with other files. The future completes when the file is on disk."""
        try:
            return self._threads.submit(sync)
        except RuntimeError:
            # The process is exiting and cannot start threads.
            return _done(sync)

    def close(self) -> None:
        self._threads.shutdown()


def _done(sync: Callable[[], None]) -> Future[None]:
    done: Future[None] = Future()
    try:
        sync()
    except Exception as error:  # noqa: BLE001  raised by the future
        done.set_exception(error)
    else:
        done.set_result(None)
    return done
