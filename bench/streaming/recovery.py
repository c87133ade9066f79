"""A server killed while rows arrive at full rate: time until they go on, and time for a backlog of a minute."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.figure import Figure
from bench.server.servers import serve
from bench.streaming import arrivals
from bench.suites import CACHE

RATE = 200_000
BACKLOG_SECONDS = 60.0
MOST_GROWTH, MOST_BACKLOG = 3.0, 15.0
_BEFORE, _AFTER = 4.0, 4.0
"""Seconds of arrivals that begin before the kill, and that follow them."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    backlog_seconds = BACKLOG_SECONDS * scale
    growths, backlogs = zip(*(_killed(backlog_seconds) for _ in range(runs)), strict=True)
    growth, backlog = max(growths), max(backlogs)
    return [
        Figure(
            f"killed at {RATE:,} rows/s: rows go on after the restart began",
            f"{growth:.2f} s, the slowest of {runs}",
            f"at most {MOST_GROWTH:g} s",
            growth <= MOST_GROWTH,
            is_key=True,
        ),
        Figure(
            f"a backlog of {backlog_seconds:g} s is worked off, the server's start included",
            f"{backlog:.2f} s, the slowest of {runs}",
            f"at most {MOST_BACKLOG:g} s for {BACKLOG_SECONDS:g} s",
            backlog <= MOST_BACKLOG if scale >= 1 else None,
            is_key=True,
        ),
    ]


def _killed(backlog_seconds: float) -> tuple[float, float]:
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as folder,
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
    ):
        target, waiting = Path(folder, "in"), Path(folder, "waiting")
        target.mkdir()
        before = arrivals.prepare(waiting, 0, RATE, _BEFORE)
        after = arrivals.prepare(waiting, before.ends[-1] + 1, RATE, _AFTER)
        backlog = arrivals.prepare(waiting, after.ends[-1] + 1, RATE, backlog_seconds)
        with serve(folder) as server:
            server.run(f"{arrivals.STREAM} FROM FOLDER '{target}'", arrivals.TABLE)
            pool.submit(arrivals.arrive, before, str(target))
            _, last = arrivals.watch(server, before.ends[-1] // 2)[-1]
            os.kill(server.process_id, signal.SIGKILL)
        # The one process lets them follow the others: there are rows to come, however late the kill was.
        moving = pool.submit(arrivals.arrive, after, str(target))
        started = time.monotonic()
        with serve(folder) as server:
            seen, _ = arrivals.watch(server, last + 1)[-1]
            growth = seen - started
            moving.result()
            arrivals.watch(server, after.ends[-1])
            os.kill(server.process_id, signal.SIGKILL)
        arrivals.arrive_at_once(backlog, str(target))
        started = time.monotonic()
        with serve(folder) as server:
            seen, _ = arrivals.watch(server, backlog.ends[-1])[-1]
            arrivals.check_all(server, backlog.ends[-1] + 1)
        return growth, seen - started
