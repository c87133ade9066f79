"""Failure and cancellation of tasks in a worker process.

An error that cannot be reported is raised as text through Spark. The driver creates a file when it cancels a job
group. A task that sees its job's file kills its process: Spark would do so only after seconds, while DuckDB continues.
Workers on other hosts do not see the file and are left to Spark.
"""

from __future__ import annotations

import base64
import os
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import ExecutionError, SharkError

REPORTED_RUN = "sharkpy.run"
"""Local property of a job: the run of a stage whose reports it receives. Tasks of other runs raise their errors."""
EXTERNAL = "38000"
"""SQLSTATE of errors in code outside the engine."""
_MARK = "sharkpy-error:"
_CARRIED = re.compile(_MARK + r"([A-Za-z0-9+/=]+)")
_TRACE = re.compile(r"Traceback \(most recent call last\):\n(?: .*\n|\n)*(?P<said>\S[^\n]*)")


class TaskError(Exception):
    """Exception with readable text and the pickled error."""

    def __init__(self, error: SharkError) -> None:
        from pyspark.serializers import CPickleSerializer

        pickled = CPickleSerializer().dumps(error)  # type: ignore[no-untyped-call]
        super().__init__(f"{error}\n{_MARK}{base64.b64encode(pickled).decode()}")


def pickled_error(said: Iterable[str]) -> SharkError | None:
    """Return the error in Spark's messages, or None."""
    from pyspark.serializers import CPickleSerializer

    for text in said:
        if found := _CARRIED.search(text):
            error = CPickleSerializer().loads(base64.b64decode(found[1]))  # type: ignore[no-untyped-call]
            if isinstance(error, SharkError):
                return error
    return None


def traceback_error(said: Iterable[str]) -> SharkError | None:
    """Return the error of Python code whose traceback Spark's messages quote, or None."""
    for text in said:
        if found := _TRACE.search(text):
            return ExecutionError(f"a task failed: {found['said']}", sqlstate=EXTERNAL)
    return None


def receives_reports(run_id: int) -> bool:
    """True if this task's job receives the reports of the run.

    Otherwise the run's output was lost, and is made again for a later stage or an RDD's action.
    """
    return job_property(REPORTED_RUN) == str(run_id)


def job_property(name: str) -> str | None:
    """Return a local property of this task's job, or None."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)


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
    with _WATCH.watching(stop_file(Path(folder), group), statement):
        yield statement


class _Watch:
    """Thread that looks for the files of this process's tasks, made at the first task: a start takes a millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[Cancellation, Path] = {}
        self._begun = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, path: Path, statement: Cancellation) -> Iterator[None]:
        with self._lock:
            self._watched[statement] = path
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sharkpy-stop", daemon=True)
                self._thread.start()
        self._begun.set()
        try:
            yield
        finally:
            with self._lock:
                del self._watched[statement]

    def _run(self) -> None:
        while True:
            self._begun.wait()
            time.sleep(_LOOK_SECONDS)
            with self._lock:
                watched = list(self._watched.items())
                if not watched:
                    self._begun.clear()
            for statement, path in watched:
                if path.exists() and statement in self._watched:
                    try:
                        statement.cancel()
                    finally:
                        os.kill(os.getpid(), signal.SIGKILL)


_WATCH = _Watch()
