"""Spark's Python worker daemon with everything imported before the first fork.

`pyspark.daemon` collects garbage after each task. Over the objects of all imported modules that takes
tens of milliseconds: they are frozen, and what a worker adds to them is left to Python's own collections.
Workers fork from here, so no task pays for imports.
"""

from __future__ import annotations

import gc


class YoungCollector:
    """Stands for the module `gc` in pyspark's daemon."""

    @staticmethod
    def collect() -> int:
        return gc.collect(0)


def main() -> None:
    import pyspark.daemon
    import pyspark.worker

    import sharkpy.execution.task
    import sharkpy.execution.worker

    sharkpy.execution.task.import_all()
    gc.collect()
    gc.freeze()
    pyspark.daemon.__dict__["gc"] = YoungCollector
    pyspark.daemon.manager()


if __name__ == "__main__":
    main()
