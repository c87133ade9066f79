"""Error of a task that cannot be reported. It is raised as text through Spark."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from sharkpy.base.errors import ExecutionError, SharkError

HEARD_RUN = "sharkpy.run"
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


def carried_error(said: Iterable[str]) -> SharkError | None:
    """Return the error in Spark's messages, or None."""
    from pyspark.serializers import CPickleSerializer

    for text in said:
        if found := _CARRIED.search(text):
            error = CPickleSerializer().loads(base64.b64decode(found[1]))  # type: ignore[no-untyped-call]
            if isinstance(error, SharkError):
                return error
    return None


def quoted_error(said: Iterable[str]) -> SharkError | None:
    """Return the error of Python code whose traceback Spark's messages quote, or None."""
    for text in said:
        if found := _TRACE.search(text):
            return ExecutionError(f"a task failed: {found['said']}", sqlstate=EXTERNAL)
    return None


def is_heard(run_id: int) -> bool:
    """True if this task's job receives the reports of the run.

    Otherwise the run's output was lost, and is made again for a later stage or an RDD's action.
    """
    return job_property(HEARD_RUN) == str(run_id)


def job_property(name: str) -> str | None:
    """Return a local property of this task's job, or None."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)
