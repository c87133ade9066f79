"""Time from a file's arrival until another connection sees its rows in a continuous table: at 1,000 and 200,000 rows a
second, without queries and while four sessions query the table ten times a second each; and what these wait with and
without it.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from bench.figure import Figure
from bench.server.servers import Server, sharkpy_server
from bench.streaming import arrivals
from bench.suites import CACHE

SECONDS = 20.0
SESSIONS, PAUSE = 4, 0.1
MOST_SLOWER = 1.5
_WARM_UP = 2.0
"""Seconds of arrivals that are not counted."""
_QUERY = "SELECT user_id % 10, count(*), sum(price) FROM arrived GROUP BY user_id % 10"
_RATES = (
    (1_000, None, 50),
    (200_000, 30, 100),
)
"""Rows a second, and aims in ms: of the median and of the 99th percentile."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  one run has a thousand files
    context = multiprocessing.get_context("spawn")
    figures = []
    with ProcessPoolExecutor(SESSIONS + 2, context) as pool:
        for rate, p50, p99 in _RATES:
            figures += _measured(pool, rate, max(1.0, SECONDS * scale), p50, p99)
    return figures


def _measured(
    pool: ProcessPoolExecutor, rate: int, seconds: float, most_p50: int | None, most_p99: int
) -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder, sharkpy_server() as server:
        target = Path(folder, "in")
        target.mkdir()
        server.run(f"{arrivals.STREAM} FROM FOLDER '{target}'", arrivals.TABLE)
        parts: list[arrivals.Prepared] = []
        for length in (_WARM_UP, seconds, seconds):
            first = parts[-1].ends[-1] + 1 if parts else 0
            parts.append(arrivals.prepare(Path(folder, "waiting"), first, rate, length))
        _latencies(pool, server, parts[0], target)
        alone = _latencies(pool, server, parts[1], target)
        asking = [pool.submit(arrivals.ask, server, _QUERY, seconds, PAUSE) for _ in range(SESSIONS)]
        beside = _latencies(pool, server, parts[2], target)
        with_stream = _answers(asking)
        asking = [pool.submit(arrivals.ask, server, _QUERY, seconds, PAUSE) for _ in range(SESSIONS)]
        without = _answers(asking)
        arrivals.check_all(server, parts[-1].ends[-1] + 1)
    ratio = statistics.median(with_stream) / statistics.median(without)
    value = f"{ratio:.2f} times: {_percentiles(with_stream)}, without {_percentiles(without)}"
    return [
        _figure(f"{rate:,} rows/s, visible after", alone, most_p50, most_p99, is_key=True),
        _figure(f"{rate:,} rows/s, {SESSIONS} sessions, visible after", beside, most_p50, most_p99),
        Figure(
            f"{rate:,} rows/s, answers to {SESSIONS} sessions",
            value,
            f"p50 at most {MOST_SLOWER:g} times",
            ratio <= MOST_SLOWER,
        ),
    ]


def _latencies(pool: ProcessPoolExecutor, server: Server, prepared: arrivals.Prepared, target: Path) -> list[float]:
    moving = pool.submit(arrivals.arrive, prepared, str(target))
    seen = arrivals.watch(server, prepared.ends[-1])
    return arrivals.latencies(prepared, moving.result(), seen)


def _answers(asking: list[Future[list[float]]]) -> list[float]:
    return [seconds for one in asking for seconds in one.result()]


def _figure(what: str, seconds: list[float], most_p50: int | None, most_p99: int, *, is_key: bool = False) -> Figure:
    half, p99 = statistics.median(seconds) * 1000, _p99(seconds) * 1000
    wanted = f"p99 at most {most_p99} ms" if most_p50 is None else f"p50 at most {most_p50}, p99 {most_p99} ms"
    is_met = p99 <= most_p99 and half <= (most_p50 or most_p99)
    return Figure(what, _percentiles(seconds), wanted, is_met, is_key=is_key)


def _percentiles(seconds: list[float]) -> str:
    return f"p50 {statistics.median(seconds) * 1000:.1f} ms, p99 {_p99(seconds) * 1000:.1f} ms"


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100, method="inclusive")[98]
