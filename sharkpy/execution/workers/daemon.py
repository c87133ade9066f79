"""Worker daemon of PySpark, which imports everything before the first fork.

`pyspark.daemon` collects garbage after each task, which takes tens of milliseconds over the objects of all modules. So
these objects are frozen, and later objects are left to Python's own collections. Workers fork from the daemon, so no
task pays for imports. On another host than the driver's, the daemon first checks that the libraries match the driver's.
Spark includes its last output line in the task's failure.
"""

from __future__ import annotations

import gc
import os
import sys

from sharkpy.base.errors import ConfigurationError
from sharkpy.execution.workers.worker_environment import EXPECTED, check_worker, problem_line


class YoungCollector:
    """Replacement for the module `gc` in pyspark's daemon."""

    @staticmethod
    def collect() -> int:
        return gc.collect(0)


def main() -> None:
    if expected := os.environ.get(EXPECTED):
        _check(expected)
    import pyspark.daemon
    import pyspark.worker

    import sharkpy.execution.tasks.task
    import sharkpy.execution.workers.stage_task

    sharkpy.execution.tasks.task.import_all()
    gc.collect()
    gc.freeze()
    pyspark.daemon.__dict__["gc"] = YoungCollector
    pyspark.daemon.manager()


def _check(expected: str) -> None:
    try:
        check_worker(expected)
    except ConfigurationError as error:
        sys.exit(problem_line(error))


if __name__ == "__main__":
    main()
