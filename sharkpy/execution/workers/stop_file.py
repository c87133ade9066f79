"""Ending of a cancelled task's worker: Spark asks a worker to end only after seconds, and DuckDB would compute on.

The driver makes a file when it cancels a job group; a task whose file appears kills its process, as Spark would do
later. Workers on other hosts do not see the file and are left to Spark.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sharkpy.base.cancellation import Cancellation

_LOOK_SECONDS = 0.1


def stop_file(folder: Path, group: str) -> Path:
    return folder / f"cancelled-{group}"


@contextmanager
def ending_with(path: str) -> Iterator[Cancellation]:
    """Kill this process if the file `path` appears before the end of the block; an empty path never does.

    Work that the task has started registers with the Cancellation, and ends first.
    """
    statement = Cancellation()
    if not path:
        yield statement
        return
    done = threading.Event()
    threading.Thread(target=_watch, args=(path, done, statement), name="sharkpy-stop", daemon=True).start()
    try:
        yield statement
    finally:
        done.set()


def _watch(path: str, done: threading.Event, statement: Cancellation) -> None:
    while not done.wait(_LOOK_SECONDS):
        if Path(path).exists() and not done.is_set():
            try:
                statement.cancel()
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
