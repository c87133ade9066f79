"""Termination of a cancelled task's worker: Spark ends it only after seconds, and DuckDB would continue.

The driver creates a file when it cancels a job group. A task that sees its job's file kills its process, as Spark would
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
from sharkpy.execution.workers.task_error import job_property

_LOOK_SECONDS = 0.1


def stop_file(folder: Path, group: str) -> Path:
    return folder / f"cancelled-{group}"


@contextmanager
def ending_with_job(folder: str) -> Iterator[Cancellation]:
    """Kill this process if its job's file appears in `folder` during the body; "" means no folder.

    The job is the one that runs the task. After lost output, Spark reruns tasks of an earlier job, whose group may have
    been cancelled since. Work started by the task registers with the Cancellation and is ended first.
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
