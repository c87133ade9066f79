"""Use of the machine by this process and the processes that it started."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """CPU time of this process and its living descendants, including the JVM and the Python workers."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
            used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += children.get(process, ())
    return total


def cpu_share(seconds: float = 0.5) -> float:
    """Cores in use over the next moment; a process that ends meanwhile does not count."""
    before, start = cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    return max(0.0, cpu_seconds() - before) / (time.monotonic() - start)
