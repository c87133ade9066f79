"""Ending of a cancelled task's worker: Spark asks a worker to end only after seconds, and DuckDB would compute on.

The driver makes a file when it cancels a job group; a task whose job's file appears kills its process, as Spark would
do later. Workers on other hosts do not see the file and are left to Spark.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sharkpy.base.cancellation import Cancellation
from sharkpy.execution.workers.task_error import job_property

_LOOK_SECONDS = 0.1


def stop_file(folder: Path, group: str) -> Path:
    return folder / f"cancelled-{group}"


@contextmanager
def ending_with_job(folder: str) -> Iterator[Cancellation]:
    """Kill this process if the file of its task's job appears in `folder` before the end of the block; in "" none does.

    The job is the one that runs the task: where output was lost, Spark runs tasks of an earlier job again in a later
    one, and the earlier one's group may have been cancelled since. Work that the task has started registers with the
    Cancellation, and ends first.
    """
    statement = Cancellation()
    group = job_property("spark.jobGroup.id") if folder else None
    if not group:
        yield statement
        return
    done, path = threading.Event(), stop_file(Path(folder), group)
    threading.Thread(target=_watch, args=(path, done, statement), name="sharkpy-stop", daemon=True).start()
    try:
        yield statement
    finally:
        done.set()


def _watch(path: Path, done: threading.Event, statement: Cancellation) -> None:
    while not done.is_set():
        if path.exists() and not done.is_set():
            try:
                statement.cancel()
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        done.wait(_LOOK_SECONDS)
