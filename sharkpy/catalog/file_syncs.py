"""Threads that wait for the disk while statements do other work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_THREADS = 8


class FileSyncs:
    """Threads in which files of a warehouse reach the disk. They stay, so that no statement waits for one to begin."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "sharkpy-sync")

    def begin(self, sync: Callable[[], None]) -> Future[None]:
        """Begin to let something reach the disk, beside others; the result tells that it is there."""
        try:
            return self._threads.submit(sync)
        except RuntimeError:
            # The process ends, and begins no more threads.
            return _done(sync)

    def close(self) -> None:
        self._threads.shutdown()


def _done(sync: Callable[[], None]) -> Future[None]:
    done: Future[None] = Future()
    try:
        sync()
    except Exception as error:  # noqa: BLE001  it is raised by the result
        done.set_exception(error)
    else:
        done.set_result(None)
    return done
