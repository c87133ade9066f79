"""100 connections that ask short queries of TPC-H at scale 1 in memory, at once; and one connection during one long
query.

The clients are four processes with compiled codecs. Every text is new: its numbers are drawn, the same for both
servers. The time of a short query during a long one is compared with the median of its kind without other load.
"""

from __future__ import annotations

import random
import statistics
import threading

from bench.figure import Figure, comparison
from bench.pde.sessions import LONG, SHORT, short_query
from bench.server.raw_client import Answers, Query, run_clients
from bench.server.servers import SERVERS, SPARK_SERVER, Server
from bench.suites import SUITES

PROCESSES, CONNECTIONS = 4, 100
QUERIES = {"sharkpy": 5_000, "spark": 500}
"""Number of queries, fewer on the slower server: the figure is the number answered in a second."""
WARM_UP = 100
TIMES_FASTER, TIMES_SLOWER = 5, 5
ALONE_RUNS = 100
BESIDE_SECONDS = 15.0
RAMP_SECONDS = 3.0
"""Time from the start of the long query during which short queries are not counted."""


def measure(runs: int) -> list[Figure]:  # noqa: ARG001 - their number is fixed
    figures: list[Figure] = []
    rates: dict[str, float] = {}
    for name, start in SERVERS.items():
        with start("NOSASL") as server:
            data = SUITES["tpch"].data(1)
            server.cache([data / table for table in SUITES["tpch"].tables])
            figures += _many(server, rates)
            if name == "sharkpy":
                figures += _beside(server)
    ours, theirs = rates["sharkpy"], rates["spark"]
    aims = (f"at least {TIMES_FASTER} times as many", ours >= TIMES_FASTER * theirs)
    what = f"short queries of {CONNECTIONS} connections"
    return [*figures, comparison(what, "queries/s", ours, {SPARK_SERVER: theirs}, *aims, is_key=True)]


def _many(server: Server, rates: dict[str, float]) -> list[Figure]:
    generator = random.Random(5)
    queries = QUERIES[server.name]
    run_clients(server.port, _dealt(generator, WARM_UP))
    answers = run_clients(server.port, _dealt(generator, queries))
    begin = min(start for _, start, _ in answers.runs)
    seconds = max(start + took for _, start, took in answers.runs) - begin
    rates[server.name] = len(answers.runs) / seconds
    took = [seconds * 1000 for _, _, seconds in answers.runs]
    value = f"{rates[server.name]:.0f} a second; p50 {statistics.median(took):.0f} ms, p99 {_p99(took):.0f} ms"
    what = f"{CONNECTIONS} connections, {queries:,} short queries, {server.name}"
    aims = ("no error", not answers.errors) if server.name == "sharkpy" else ("", None)
    return [Figure(what, value), Figure(f"{what}: errors", str(len(answers.errors)), *aims)]


def _dealt(generator: random.Random, queries: int) -> list[list[list[Query]]]:
    """Deal the queries to all connections of all processes."""
    of_one, of_process = range(queries // CONNECTIONS), range(CONNECTIONS // PROCESSES)
    return [[[_drawn(generator) for _ in of_one] for _ in of_process] for _ in range(PROCESSES)]


def _drawn(generator: random.Random) -> Query:
    kind = generator.randrange(len(SHORT))
    return kind, short_query(kind, generator)


def _beside(server: Server) -> list[Figure]:
    generator = random.Random(6)
    short = [_drawn(generator) for _ in range(2_000)]
    long = [[[(0, SUITES["tpch"].queries()[name]) for name in LONG]]]
    run_clients(server.port, long)
    kinds = [(kind, short_query(kind, generator)) for _ in range(ALONE_RUNS) for kind in range(len(SHORT))]
    alone = run_clients(server.port, [[kinds[:50] + kinds]]).runs[50:]
    medians = [statistics.median(took for kind, _, took in alone if kind == one) for one in range(len(SHORT))]
    seen: list[Answers] = []
    longer = threading.Thread(target=lambda: seen.append(run_clients(server.port, long, BESIDE_SECONDS + 1)))
    longer.start()
    beside = run_clients(server.port, [[short]], BESIDE_SECONDS).runs
    longer.join()
    begin = beside[0][1] + RAMP_SECONDS
    runs = [(kind, took) for kind, start, took in beside if start >= begin]
    ratio = _p99([took / medians[kind] for kind, took in runs])
    took = [seconds * 1000 for _, seconds in runs]
    mean = statistics.mean(medians) * 1000
    aims = (f"at most {TIMES_SLOWER}", ratio <= TIMES_SLOWER)
    what = f"a short query beside a long one, {server.name}"
    value = f"p99 {_p99(took):.0f} ms, {ratio:.1f} times alone ({mean:.1f} ms)"
    counts = f"{len(runs)} short, {len(seen[0].runs)} long"
    return [
        Figure(f"{what}, p99", value, *aims),
        Figure(f"{what}, p50", f"{statistics.median(took):.0f} ms ({counts})"),
    ]


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]
