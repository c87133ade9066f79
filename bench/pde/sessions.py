"""16 sessions on one engine, each running short and long queries in turn: the time that short queries wait.

TPC-H at scale 1 in memory. A session draws a short query (a point, a pruned range, a small aggregate) four times out of
five, else a long one, with no pause between two. Each short query is compared with its own median without other load,
on the same engine before the other sessions come. Sessions come in one after the other; only queries that start once
all are there count. The first second in which all 16 come at once, each with a first statement, is a figure of its own.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.engines import EngineOptions, SharkpyBench
from bench.figure import Figure
from bench.suites import CACHE, SUITES

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

SESSIONS = 16
SECONDS = 20.0
RAMP_SECONDS = 2.0
"""Time over which sessions come in evenly; it is not measured."""
SHORT_SHARE = 0.8
SHORT = (
    "SELECT * FROM orders WHERE o_orderkey = {key}",
    "SELECT count(*), sum(l_quantity) FROM lineitem WHERE l_orderkey BETWEEN {key} AND {key} + 1000",
    "SELECT o_orderpriority, count(*) FROM orders WHERE o_orderkey BETWEEN {key} AND {key} + 20000"
    " GROUP BY o_orderpriority",
    "SELECT n_name, count(*) FROM supplier JOIN nation ON s_nationkey = n_nationkey WHERE s_suppkey > {few}"
    " GROUP BY n_name",
    "SELECT c_mktsegment, avg(c_acctbal) FROM customer WHERE c_custkey < {few} GROUP BY c_mktsegment",
)
LONG = ("1", "9", "18", "21")
_ALONE_RUNS = 20


@dataclass(slots=True)
class Seen:
    """Seconds of each run, by the number of the short query, and of the long ones."""

    short: list[tuple[int, float]] = field(default_factory=list)
    long: list[float] = field(default_factory=list)


def measure(runs: int) -> list[Figure]:  # noqa: ARG001 - the time is what repeats it
    data = SUITES["tpch"].data(1)
    with tempfile.TemporaryDirectory(prefix="sessions-", dir=CACHE) as folder:
        engine = SharkpyBench(EngineOptions(folder))
        engine.start()
        try:
            for table in SUITES["tpch"].tables:
                engine.load(table, Path(data) / table)
            return _measure(engine)
        finally:
            engine.stop()


def _measure(engine: SharkpyBench) -> list[Figure]:
    context = engine.context
    long = [SUITES["tpch"].queries()[name] for name in LONG]
    for sql in long:
        context.sql(sql).fetchall()
    times = [_times(context, number) for number in range(len(SHORT))]
    alone = [statistics.median(own) for own in times]
    all_alone = [seconds for own in times for seconds in own]
    figures = [
        Figure(
            "short queries alone, p50 and p99",
            f"{_percentile(all_alone, 50) * 1000:.0f} ms, {_percentile(all_alone, 99) * 1000:.0f} ms",
        )
    ]
    figures += _figures(run_sessions(context, long, SECONDS, RAMP_SECONDS), alone, "")
    figures += _figures(run_sessions(context, long, 1.0, 0.0), alone, ", all come at once, first second", is_aim=False)
    # The owner's settings: every query long, and all at once, as if there were no turns.
    context.conf.set("shark.query.short.max.rows", "0")
    context.conf.set("shark.query.max.concurrent", str(SESSIONS))
    at_once = run_sessions(context, long, SECONDS, RAMP_SECONDS)
    return figures + _figures(at_once, alone, ", without turns", is_aim=False)


def _times(context: SharkContext, number: int) -> list[float]:
    generator = random.Random(number)
    return [_time(context, short_query(number, generator)) for _ in range(_ALONE_RUNS)]


def short_query(number: int, generator: random.Random) -> str:
    return SHORT[number].format(key=generator.randrange(1, 6_000_000), few=generator.randrange(100, 5_000))


def _time(session: SharkContext, sql: str) -> float:
    start = time.perf_counter()
    session.sql(sql).fetchall()
    return time.perf_counter() - start


def run_sessions(context: SharkContext, long: list[str], seconds: float, ramp: float) -> list[Seen]:
    """Run the sessions side by side for `seconds`, after all have come in over `ramp` seconds; returns the times that
    each saw.
    """
    seen = [Seen() for _ in range(SESSIONS)]
    start = time.monotonic() + ramp
    end = start + seconds

    def run(place: int) -> None:
        generator = random.Random(place)
        time.sleep(ramp * place / SESSIONS)
        session = context.new_session()
        while (now := time.monotonic()) < end:
            # Runs of the ramp are not counted.
            into = seen[place] if now >= start else Seen()
            if generator.random() < SHORT_SHARE:
                number = generator.randrange(len(SHORT))
                into.short.append((number, _time(session, short_query(number, generator))))
            else:
                into.long.append(_time(session, generator.choice(long)))
        session.stop()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def _figures(seen: list[Seen], alone: list[float], how: str, *, is_aim: bool = True) -> list[Figure]:
    runs = [run for one in seen for run in one.short]
    longs = [seconds for one in seen for seconds in one.long]
    times = [seconds for _, seconds in runs]
    ratios = [seconds / alone[number] for number, seconds in runs]
    half, most = statistics.median(ratios), _percentile(ratios, 99)
    mean_alone = statistics.mean(alone[number] for number, _ in runs)
    aims = ("at most 5", most <= 5) if is_aim else ("", None)
    return [
        Figure(
            f"short queries, p99{how}",
            f"{_percentile(times, 99) * 1000:.0f} ms, {most:.1f} times alone ({mean_alone * 1000:.1f} ms)",
            *aims,
            is_key=is_aim,
        ),
        Figure(f"short queries, p50{how}", f"{statistics.median(times) * 1000:.0f} ms, {half:.1f} times alone"),
        Figure(f"queries{how}", f"{len(runs)} short, {len(longs)} long"),
        Figure(f"long queries, p50{how}", f"{statistics.median(longs):.2f} s" if longs else "none"),
    ]


def _percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1]
