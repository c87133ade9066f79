"""CPU time of an engine: its process, and the processes that it started, such as Spark's JVM and Python workers."""

from __future__ import annotations

import contextlib
import time

import psutil


def cpu_seconds() -> float:
    """CPU seconds so far of this process and of its descendants, also of the ended ones. Only time in this process is
    exact: the system counts descendants in ticks, usually of 10 ms.
    """
    own = psutil.Process()
    total = time.process_time() + _of_ended_children(own)
    for process in own.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + _of_ended_children(process)
    return total


def _of_ended_children(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.children_user + times.children_system)
